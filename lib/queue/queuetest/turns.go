package queuetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// MailOf returns an authorized mail of another sender: with external, one of a partner's.
func MailOf(uid int, sender string, external bool, action terms.Action) string {
	line := strings.Replace(Mail(uid, terms.Allow), `"sender":"me@example.com"`, fmt.Sprintf(`"sender":%q`, sender), 1)
	if external {
		line = strings.Replace(line, "owner_verified_email", "external_verified", 1)
	}
	return strings.Replace(line, `"action":"read_public"`, fmt.Sprintf(`"action":%q`, action), 1)
}

// Partners is a policy by which MailOf starts: the senders are of example.com, or external ones of
// partner.example.
func Partners() *policy.Policy {
	p := policy.Default()
	p.AllowedExternal = []string{"@partner.example"}
	for i := range 9 {
		p.Owners = append(p.Owners, fmt.Sprintf("s%d@example.com", i))
	}
	p.Limits.PerSenderPerHour, p.Limits.MaxPerDay = 1<<20, 1<<20
	return p
}

// fair is a queue of many senders, and what each of them waits for.
type fair struct {
	store.Store
	rnd     *rand.Rand
	now     time.Time
	policy  *policy.Policy
	uid     int
	senders []*sender
	run     queue.Run
}

type sender struct {
	address  string
	external bool
	waiting  int
	started  []time.Time
	others   map[*sender]int // starts of others of its half since its first task waits, or its last start
	half     int             // starts of externals since then, if it is not one
}

// Turns lets random senders send batches to an empty queue, and runs of random sizes start them
// under random limits. Its error says which sender had two starts while another one of its half,
// which no limit held, waited for one. All tasks start in the end.
func Turns(s store.Store, seed uint64, now time.Time) error {
	f := &fair{Store: s, rnd: rand.New(rand.NewPCG(seed, seed)), now: now, policy: Partners()}
	for i := range 2 + f.rnd.IntN(7) {
		one := &sender{address: fmt.Sprintf("s%d@example.com", i), others: map[*sender]int{}}
		if one.external = f.rnd.IntN(3) > 0; one.external {
			one.address = fmt.Sprintf("s%d@partner.example", i)
		}
		f.senders = append(f.senders, one)
	}
	if f.rnd.IntN(2) == 0 {
		f.policy.Limits.PerSenderPerHour = 1 + f.rnd.IntN(6)
	}
	if f.rnd.IntN(2) == 0 {
		f.policy.Limits.MaxPerDay = 10 + f.rnd.IntN(50)
	}
	for range 6 {
		if err := f.tick(1 + f.rnd.IntN(12)); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	f.policy = Partners()
	for range 4 { // externals get half of a run, and more may come in
		if err := f.tick(1000); err != nil {
			return fmt.Errorf("seed %d, at the end: %w", seed, err)
		}
	}
	for _, one := range f.senders {
		if one.waiting > 0 {
			return fmt.Errorf("seed %d: %d tasks of %s never start", seed, one.waiting, one.address)
		}
	}
	return nil
}

// tick is a run, during which mail comes in.
func (f *fair) tick(most int) error {
	f.run = queue.Run{Policy: f.policy, Max: most, Now: func() time.Time { return f.now }}
	for left := most; ; left-- {
		if f.rnd.IntN(3) == 0 && f.uid < 60 || f.uid == 0 {
			if err := f.arrive(); err != nil {
				return err
			}
		}
		f.now = f.now.Add([]time.Duration{0, time.Second, time.Minute, 20 * time.Minute}[f.rnd.IntN(4)])
		one, err := f.start()
		if one == nil || err != nil {
			return err
		}
		if err := f.count(one); err != nil {
			return err
		}
	}
}

// arrive lets some senders send a batch.
func (f *fair) arrive() error {
	var lines []string
	for range 1 + f.rnd.IntN(3) {
		one := f.senders[f.rnd.IntN(len(f.senders))]
		if one.waiting == 0 {
			one.half = 0
			clear(one.others)
		}
		for range 1 + f.rnd.IntN(2)*f.rnd.IntN(12) {
			f.uid++
			one.waiting++
			lines = append(lines, MailOf(f.uid, one.address, one.external, terms.ReadPublic))
		}
	}
	return Add(lines...).Do(f, f.now)
}

// start starts a task, and ends it.
func (f *fair) start() (*sender, error) {
	var claim *queue.Claim
	err := queue.Update(f, func(tx *queue.Tx) (err error) {
		claim, _, err = f.run.Next(tx, func(string) error { return nil })
		return err
	})
	if claim == nil || err != nil {
		return nil, err
	}
	err = queue.Update(f, func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, claim, queue.End{}, &f.policy.Limits, f.now)
		return err
	})
	i := slices.IndexFunc(f.senders, func(one *sender) bool { return one.address == claim.Identity.Sender })
	return f.senders[i], err
}

// count notes a start, and checks that all others that wait can bear it.
func (f *fair) count(one *sender) error {
	one.waiting--
	one.started = append(one.started, f.now)
	one.half = 0
	clear(one.others)
	for _, o := range f.senders {
		switch {
		case o == one || o.waiting == 0:
		case f.limited(o):
			o.half = 0
			clear(o.others)
		case o.external == one.external:
			if o.others[one]++; o.others[one] > 1 {
				return fmt.Errorf("%s waits, and %s had %d starts since", o.address, one.address, o.others[one])
			}
		case one.external:
			if o.half++; o.half > 1+f.rest() {
				return fmt.Errorf("%s waits, and externals had %d starts since", o.address, o.half)
			}
		}
	}
	return nil
}

// rest is how many senders are not external.
func (f *fair) rest() (n int) {
	for _, o := range f.senders {
		if !o.external {
			n++
		}
	}
	return n
}

// limited reports whether a sender had all its starts of an hour.
func (f *fair) limited(one *sender) bool {
	n := 0
	for _, at := range one.started {
		if f.now.Sub(at) < time.Hour {
			n++
		}
	}
	return n >= f.policy.Limits.PerSenderPerHour
}

// Burst is the supplier that sent 130 mails at once: those who write after that start in the next
// run, before its next start.
func Burst(s store.Store, now time.Time) error {
	p := policy.Default()
	p.Owners, p.AllowedExternal = []string{"me@example.com"}, []string{"@partner.example"}
	p.Limits.PendingPerSender = 1000
	var lines []string
	for uid := range 130 {
		lines = append(lines, MailOf(uid+1, "supplier@partner.example", true, terms.ReadPublic))
	}
	f := &fair{Store: s, now: now, policy: p, senders: []*sender{{address: "supplier@partner.example"}}}
	err := Add(lines...).Do(s, now)
	started := ""
	for tick := 0; tick < 3 && err == nil; tick++ {
		f.run = queue.Run{Policy: p, Max: p.Limits.MaxPerRun, Now: func() time.Time { return now }}
		for one := f.senders[0]; one != nil && err == nil; {
			if one, err = f.start(); one != nil {
				started += one.address[:1]
			}
		}
		if tick == 0 && err == nil {
			lines = nil
			for i, who := range []string{"ann", "bob", "carol"} {
				f.senders = append(f.senders, &sender{address: who + "@partner.example"})
				for n := range 2 {
					lines = append(lines, MailOf(200+10*i+n, who+"@partner.example", true, terms.ReadPublic))
				}
			}
			err = Add(lines...).Do(s, now)
		}
		started += " "
	}
	if want := "sssss abcsa bcsss "; err == nil && started != want {
		err = fmt.Errorf("senders start in the order %q, want %q", started, want)
	}
	return err
}
