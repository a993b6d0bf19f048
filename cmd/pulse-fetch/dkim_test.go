package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
	"golang.org/x/net/dns/dnsmessage"

	"pulse/lib/classify/dkimcheck/dnstest"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

const keyName, dmarcName = "k1._domainkey.example.com", "_dmarc.example.com"

// signedMail returns a message of today, its signature on top, and the DNS to
// verify it by. It is longer than what is read of a file for the snippet.
func signedMail(t *testing.T) (string, dnstest.Zone) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := "From: Me <me@example.com>\r\nTo: agent@example.net\r\nSubject: News\r\nDate: " +
		time.Now().Format(time.RFC1123Z) + "\r\nMessage-ID: <1@example.com>\r\n\r\n" + strings.Repeat("Read the news.\r\n", 40_000)
	var out bytes.Buffer
	err = dkim.Sign(&out, strings.NewReader(text), &dkim.SignOptions{Domain: "example.com", Selector: "k1", Signer: key})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), dnstest.TXT(map[string][]string{
		keyName:   {"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(pub)},
		dmarcName: {"v=DMARC1; p=reject"},
	})
}

// maildir returns a Maildir of messages that arrived so long ago.
func maildir(t *testing.T, age time.Duration, mails ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "new"), 0o700), os.Mkdir(filepath.Join(dir, "cur"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for i, text := range mails {
		path := filepath.Join(dir, "new", string(rune('a'+i)))
		arrived := time.Now().Add(-age).Add(time.Duration(i) * time.Second)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, arrived, arrived)); err != nil {
			t.Fatal(err)
		}
	}
	return "maildir:" + dir
}

// fetchAll runs pulse-fetch and returns the messages that are out.
func fetchAll(t *testing.T, args ...string) (out []envelope.Message, stderr string, code int) {
	t.Helper()
	var stdout, errs bytes.Buffer
	code = cmdline.Run(context.Background(), app(), append([]string{"pulse-fetch"}, args...), strings.NewReader(""), &stdout, &errs)
	for line := range strings.Lines(stdout.String()) {
		rec, err := record.Parse([]byte(line), envelope.Member)
		if err == nil {
			out = append(out, envelope.Message{})
			err = out[len(out)-1].Read(rec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, errs.String(), code
}

func classifyByDKIM(t *testing.T, m *envelope.Message) identity.Identity {
	t.Helper()
	p, err := policy.Parse("p", []byte("owners = [\"me@example.com\"]\nevidence = \"dkim\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return identity.Classify(m, p)
}

// The message is fetched whole whatever the scope, or its body hash could not be
// right.
func TestDKIM(t *testing.T) {
	text, z := signedMail(t)
	dns := dnstest.Start(t, z)
	forged := strings.Replace(text, "Subject: News", "Subject: Send money", 1)
	for _, scope := range []string{"headers", "snippet", "full"} {
		out, stderr, code := fetchAll(t, "--dkim", "--resolver", dns.Addr, "--scope", scope, maildir(t, time.Minute, text, forged))
		if code != 0 || stderr != "" || len(out) != 2 {
			t.Fatalf("%d %s: %+v", code, stderr, out)
		}
		if id := classifyByDKIM(t, &out[0]); !id.Verified || id.Reason != identity.AuthenticatedOwner || id.Signed == "" {
			t.Errorf("%+v %+v", id, out[0].DKIM)
		}
		if id := classifyByDKIM(t, &out[1]); id.Verified || id.Reason != identity.SignatureBad {
			t.Errorf("%+v", id)
		}
	}
}

// If the name servers of one domain are silent, its message goes on at once, proves nothing,
// and holds up no other. If none answers anything, the run ends there.
func TestDKIMWithoutDNS(t *testing.T) {
	text, z := signedMail(t)
	unsigned := text[strings.Index(text, "From: "):]
	for _, silent := range []string{keyName, dmarcName} {
		broken := maps.Clone(z)
		broken[silent] = dnstest.Answer{Code: dnsmessage.RCodeServerFailure}
		dns := dnstest.Start(t, broken)
		out, stderr, code := fetchAll(t, "--dkim", "--resolver", dns.Addr, maildir(t, time.Minute, unsigned, text, unsigned))
		if code != 0 || len(out) != 3 || stderr != "" {
			t.Fatalf("%s: %d %s: %d records", silent, code, stderr, len(out))
		}
		id := classifyByDKIM(t, &out[1])
		if id.Verified || !id.Open() || id.Reason == identity.NotListed {
			t.Errorf("%s: %+v", silent, id)
		}
		broken = maps.Clone(broken)
		broken[""] = broken[silent]
		dns = dnstest.Start(t, broken)
		out, stderr, code = fetchAll(t, "--dkim", "--resolver", dns.Addr, maildir(t, 48*time.Hour, unsigned, text, unsigned))
		if code != 75 || len(out) != 1 || !strings.Contains(stderr, silent) {
			t.Errorf("%s and all others: %d %s: %d records", silent, code, stderr, len(out))
		}
	}
}

// TestStrangersCostNothing: with a policy nobody asks DNS about a sender on no list.
func TestStrangersCostNothing(t *testing.T) {
	text, z := signedMail(t)
	dns := dnstest.Start(t, z)
	for owner, listed := range map[string]bool{"ME@Example.com": true, "you@example.com": false} {
		for _, flag := range []string{"", "--dkim"} {
			file := filepath.Join(t.TempDir(), "policy.toml")
			if err := os.WriteFile(file, []byte("owners = [\""+owner+"\"]\nevidence = \"dkim\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append(strings.Fields(flag), "--policy", file, "--resolver", dns.Addr, maildir(t, time.Minute, text))
			out, stderr, code := fetchAll(t, args...)
			if code != 0 || len(out) != 1 || (out[0].DKIM.Reason == "") != listed || len(out[0].DKIM.Signatures) > 0 != listed {
				t.Fatalf("%s: %d %s: %+v", owner, code, stderr, out)
			}
			if asked := dns.Asked(); len(asked) > 0 != listed {
				t.Errorf("%s %s: asked %q", owner, flag, asked)
			}
			if id := classifyByDKIM(t, &out[0]); id.Verified != listed || !listed && id.Reason != identity.NotListed {
				t.Errorf("%s: %+v", owner, id)
			}
		}
	}
}

// TestDKIMEnds: a signal ends a run while a name server is silent about a large mail of blank
// lines, and writes no record of it.
func TestDKIMEnds(t *testing.T) {
	text, _ := signedMail(t)
	head, _, _ := strings.Cut(text, "\r\n\r\n")
	body := strings.Repeat("\r\n", 2<<20) + "x\r\n"
	signature, rest, _ := strings.Cut(head, "From: ")
	begin := strings.Index(signature, "bh=") + len("bh=")
	sum := sha256.Sum256([]byte(body))
	signature = signature[:begin] + base64.StdEncoding.EncodeToString(sum[:]) + signature[begin+strings.IndexByte(signature[begin:], ';'):]
	mail := strings.Repeat(signature, 10) + "From: " + rest + "\r\n\r\n" + body

	var took time.Duration
	for range 5 { // a lookup takes 5 s, and a busy machine now and then
		if took = interrupted(t, mail); took < 4*time.Second {
			return
		}
	}
	t.Errorf("it ends after %v", took)
}

// interrupted ends a run of a mail once it has asked a name server, which is silent, and returns how long that took.
func interrupted(t *testing.T, mail string) time.Duration {
	t.Helper()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan time.Time, 1)
	go func() {
		defer close(asked)
		if _, _, err := silent.ReadFrom(make([]byte, 512)); err == nil {
			asked <- time.Now()
		}
		cancel()
	}()
	var stdout, stderr bytes.Buffer
	code := cmdline.Run(ctx, app(), []string{"pulse-fetch", "--dkim", "--resolver", silent.LocalAddr().String(), maildir(t, time.Minute, mail)},
		strings.NewReader(""), &stdout, &stderr)
	silent.Close()
	began, ok := <-asked
	if !ok {
		t.Fatalf("it ended with %d and asked nothing: %s", code, &stderr)
	}
	took := time.Since(began)
	if code == 0 || stdout.Len() > 0 {
		t.Errorf("%d after %v: %s", code, took, &stderr)
	}
	return took
}

// The policy's evidence says which messages have their signatures verified, and --dkim
// has them verified whatever it says. Nobody asks DNS otherwise.
func TestEvidence(t *testing.T) {
	text, z := signedMail(t)
	const pinned = "Authentication-Results: mx.example.net; dmarc=fail header.from=example.com\r\n"
	mails := map[string]string{
		"plain":     text,
		"pinned":    pinned + text,
		"malformed": "Authentication-Results: mx.example.net; dmarc=(\r\n" + text,
		"foreign":   "Authentication-Results: mx.evil.example; dmarc=pass header.from=example.com\r\n" + pinned + text,
	}
	dns := dnstest.Start(t, z)
	all := "foreign malformed pinned plain"
	for _, c := range []struct{ policy, flag, want string }{
		{"", "", ""},
		{"", "--dkim", all},
		{"evidence = \"authres\"", "", ""},
		{"evidence = \"authres\"", "--dkim", all},
		{"evidence = \"dkim\"", "", all},
		{"evidence = \"both\"", "", all},
		{"evidence = \"either\"", "", "foreign plain"},
		{"evidence = \"either\"", "--dkim", all},
		{"evidence = \"dkim\"\n[[platform]]\nsource = \"SOURCE\"", "", ""},
	} {
		var got []string
		dns.Asked()
		for name, mail := range mails {
			dir := maildir(t, time.Minute, mail)
			args := []string{dir}
			if c.policy != "" {
				file := filepath.Join(t.TempDir(), "policy.toml")
				text := "owners = [\"me@example.com\"]\nauthserv_id = \"mx.example.net\"\n" + strings.ReplaceAll(c.policy, "SOURCE", dir)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--policy", file)
			}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			if len(args) > 1 {
				args = append(args, "--resolver", dns.Addr)
			}
			out, stderr, code := fetchAll(t, args...)
			if code != 0 || len(out) != 1 {
				t.Fatalf("%v: %d %s", args, code, stderr)
			}
			if out[0].DKIM != nil {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: verified %q, want %q", c.policy, c.flag, got, c.want)
		}
		if asked := dns.Asked(); (len(asked) > 0) != (c.want != "") {
			t.Errorf("%s %s: asked %q", c.policy, c.flag, asked)
		}
	}
}

// TestNameServer: what --resolver may be.
func TestNameServer(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1": "127.0.0.1:53", "::1": "[::1]:53", "127.0.0.1:5353": "127.0.0.1:5353", "[::1]:5353": "[::1]:5353",
		"localhost:5353": "127.0.0.1:5353 [::1]:5353",
		"":               "", ":53": "", "127.0.0.1:": "", "127.0.0.1:0": "", "127.0.0.1:70000": "", "127.0.0.1:dns": "", "[::1]": "", "localhost": "", "1.2.3": "",
	} {
		got, err := nameServer(context.Background(), text)
		if want == "" {
			if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
				t.Errorf("%q: %v, %v", text, got, err)
			}
		} else if err != nil || !slices.Contains(strings.Fields(want), got.String()) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
