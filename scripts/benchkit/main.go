// Benchkit measures whole processes for scripts/bench.
//
//	benchkit records N          prints N records of about 3 kB
//	benchkit fill QUEUE COMPLETED SCHEDULED [DAYS]
//	                            puts tasks into a queue that was just made, one a second, or
//	                            over so many days
//	benchkit signed N DIR       writes a Maildir of N mails with signatures, and DIR.dnsmasq,
//	                            the configuration of a name server that has the keys
//	benchkit worst RUNS QUEUE RECORD
//	                            median and worst time of hold, release and add while readers run
//	benchkit compare [-n RUNS] INPUT NAME=COMMAND...
//
// compare runs the commands in turn, with INPUT on standard input. For each it prints
// the median of its processor time, the rate, the peak memory, and the ratio of its
// rate to that of the first. A command is split at blanks; no shell is used.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("benchkit: ")
	if len(os.Args) == 3 && os.Args[1] == "records" {
		n, err := strconv.Atoi(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		if err := records(n); err != nil {
			log.Fatal(err)
		}
		return
	}
	if n := len(os.Args); (n == 5 || n == 6) && os.Args[1] == "fill" {
		completed, err1 := strconv.Atoi(os.Args[3])
		scheduled, err2 := strconv.Atoi(os.Args[4])
		days, err3 := strconv.Atoi(slices.Concat(os.Args[5:], []string{"0"})[0])
		if err := errors.Join(err1, err2, err3, fill(os.Args[2], completed, scheduled, days)); err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "signed" {
		n, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = signed(n, os.Args[3])
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(os.Args) == 5 && os.Args[1] == "worst" {
		runs, err := strconv.Atoi(os.Args[2])
		if err := errors.Join(err, worst(runs, os.Args[3], os.Args[4])); err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(os.Args) < 4 || os.Args[1] != "compare" {
		log.Fatal("usage: benchkit records N | benchkit fill QUEUE COMPLETED SCHEDULED [DAYS] | benchkit signed N DIR | benchkit worst RUNS QUEUE RECORD | benchkit compare [-n RUNS] INPUT NAME=COMMAND...")
	}
	args, runs := os.Args[2:], 5
	if args[0] == "-n" {
		runs, _ = strconv.Atoi(args[1])
		args = args[2:]
	}
	if err := compare(runs, args[0], args[1:]); err != nil {
		log.Fatal(err)
	}
}

// contender is one command and the cost of its runs.
type contender struct {
	name string
	argv []string
	cpu  []time.Duration
	rss  int64 // KiB
}

func compare(runs int, input string, specs []string) error {
	info, err := os.Stat(input)
	if err != nil {
		return err
	}
	var list []*contender
	for _, s := range specs {
		name, command, _ := strings.Cut(s, "=")
		list = append(list, &contender{name: name, argv: strings.Fields(command)})
	}
	for range runs {
		for _, c := range list { // interleaved, so that a slow moment affects all alike
			if err := c.run(input); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	tab := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tab, "\tcpu ms\tMB/s\tpeak MB\tratio\t\n")
	for _, c := range list {
		cpu, first := median(c.cpu), median(list[0].cpu)
		rate := float64(info.Size()) / 1e6 / cpu.Seconds()
		fmt.Fprintf(tab, "%s\t%.1f\t%.0f\t%d\t%.2f\t\n", c.name, float64(cpu.Microseconds())/1e3, rate, c.rss>>10, first.Seconds()/cpu.Seconds())
	}
	return tab.Flush()
}

func (c *contender) run(input string) error {
	in, err := os.Open(input)
	if err != nil {
		return err
	}
	defer in.Close()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	c.rss = max(c.rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return nil
}

func median(d []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

// records prints the records that pulse-fetch and pulse-classify make of ordinary mail.
func records(n int) error {
	w := bufio.NewWriter(os.Stdout)
	var filler strings.Builder
	for i := range 14 {
		fmt.Fprintf(&filler, `,["X-Header-%d","%s"]`, i, strings.Repeat("bar baz quux ", 4))
	}
	text := strings.Repeat(`Dear agent, please read this.\nIt is \"quoted\" text. `, 20)
	for i := range n {
		fmt.Fprintf(w, `{"message":{"source":"imaps://me@imap.example.com/INBOX","uid":%d,"uidvalidity":1700000000,`+
			`"id":"<%d@example.com>","digest":"sha256:%064d","received":"2026-11-21T06:55:00Z","fetched":"2026-11-21T07:00:02Z","size":5321,`+
			`"headers":[["Authentication-Results","mx.receiver.example; dkim=pass header.d=example.com header.s=s1 header.b=abcd; spf=pass smtp.mailfrom=me@example.com; dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.com"],`+
			`["Received","from a.example by b.example with ESMTPS id abc for <me@example.com>; Sat, 21 Nov 2026 06:55:00 +0000"],`+
			`["DKIM-Signature","v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=s1; t=1795244280; h=from:to:cc:subject:date:message-id:mime-version:content-type; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=abcdEfGh1234`+strings.Repeat("Ab/+", 80)+`"],`+
			`["From","Me <me%d@example.com>"],["To","agent@example.com"],["Subject","=?utf-8?q?h=C3=A9llo?="],["Date","Sat, 21 Nov 2026 06:55:00 +0000"],["Message-ID","<%d@example.com>"]%s],`+
			`"from":"Me <me@example.com>","subject":"héllo","text":"%s","scope":"snippet","truncated":true,"attachments":[],"defects":[]},`+
			`"identity":{"sender":"me%d@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,"reason":"authenticated_owner","why":"","auth":{}}}`+"\n",
			i+1, i, i, i, i, filler.String(), text, i)
	}
	return w.Flush()
}
