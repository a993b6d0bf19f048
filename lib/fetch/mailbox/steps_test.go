package mailbox

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/fault"
)

// steps are the answers of a server in a run, in order.
var steps = []string{"GREETING", "CAPABILITY", "LOGIN", "EXAMINE", "SEARCH", "FETCH"}

// hangUp says a text and ends the connection.
func hangUp(text string) func(io.Writer, string) {
	return func(w io.Writer, tag string) {
		say(text)(w, tag)
		w.(net.Conn).Close()
	}
}

// TestEveryStep: whatever goes wrong at any step, no message comes out, the run ends, and
// the error says whether another try may help.
func TestEveryStep(t *testing.T) {
	// Capabilities are asked for at their step only if the greeting did not name them.
	silent := script{"GREETING": say("* OK hi\r\n")}
	for i, step := range steps {
		for name, what := range map[string]func(io.Writer, string){
			"silence":                  silence,
			"silence in a response":    say("* 1 FET"),
			"silence after a response": say("* 1 EXISTS\r\n"),
			"end":                      hangUp(""),
			"end in a line":            hangUp("* OK wa"),
			"BYE":                      hangUp("* BYE \x1b[2Jgoing down\r\n"),
			"BYE and silence":          say("* BYE going down\r\n"),
			"BAD":                      say("TAG BAD \x1b]0;owned\x07 \u202e what\r\n"),
			"NO":                       say("TAG NO \x1b[31mno\r\n"),
			"PREAUTH":                  say("* PREAUTH again\r\n* PREAUTH again\r\n"),
			"compressed":               say("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00"),
			"NUL":                      say("\x00\x00\r\n"),
			"NUL in a type":            say("* O\x00K\r\n"),
			"bare LF":                  say("* OK\nTAG OK\n"),
			"bare CR":                  say("* OK\rTAG OK\r"),
			"8-bit":                    say("* \xff\xfe OK\r\n"),
			"deep":                     say("* 1 FETCH (BODYSTRUCTURE " + strings.Repeat("(", 50_000)),
			"deep in other data":       say("* THREAD " + strings.Repeat("(", 50_000)),
			"a number too large":       say("* 99999999999 EXISTS\r\n"),
			"a huge literal":           say("* LIST () \"/\" {4294967295}\r\n"),
			"a literal beyond numbers": say("* LIST () \"/\" {18446744073709551617}\r\n"),
			"endless line":             endless("* OK ", "x"),
			"endless alerts":           endless("", "* OK [ALERT] your mailbox is full\r\n"),
			"endless continuations":    endless("", "+ go on\r\n"),
			"endless empty literals":   endless("* LIST (", "{0}\r\n "),
			"endless byes":             endless("", "* BYE bye\r\n"),
			"endless quoted string":    endless("* LIST () \"", "x"),
			"endless capabilities":     endless("* CAPABILITY", " A=B"),
			"endless numbers":          endless("* SEARCH", " 4294967295"),
			"endless expunges":         endless("", "* 1 EXPUNGE\r\n"),
			"endless flags":            endless("* FLAGS (", "a "),
			"another type":             say("* SURPRISE 5\r\n"),
			"an answer to no command":  say("T99 OK done\r\n"),
			"read-write":               say("* OK [READ-WRITE] surprise\r\n"),
		} {
			t.Run(step+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := script{step: what}
				if i == 1 {
					s["GREETING"] = silent["GREETING"]
				}
				m := mailbox(t, serve(t, s), "")
				read, most := reads(m), int64(mostRead)
				if name == "endless numbers" { // it is a search result, and not yet too much chatter
					most = defaultLimits.search + mostRead/8
				}
				l := defaultLimits
				l.idle, l.command = 200*time.Millisecond, time.Second
				m.testOnlyLimits = &l
				got, err := all(t, m)
				if len(got) != 0 || err == nil || read.Load() > most {
					t.Fatalf("%d messages, %d bytes: %v", len(got), read.Load(), err)
				}
				if k := fault.KindOf(err); k != fault.Temporary && k != fault.Failed {
					t.Errorf("kind %v: %v", k, err)
				}
				if len(err.Error()) > 600 {
					t.Errorf("%d bytes of error", len(err.Error()))
				}
			})
		}
	}
}

// numbers returns the numbers of a search result.
func numbers(first, last, step int) string {
	b := []byte("* SEARCH")
	for i := first; (last-i)*step >= 0; i += step {
		b = strconv.AppendInt(append(b, ' '), int64(i), 10)
	}
	return string(b) + "\r\n"
}

// TestOddities: servers may say what is odd, wrong or a lie.
func TestOddities(t *testing.T) {
	one, two, three := fetched(1), fetched(2), fetched(3)
	with := func(verb, text string) script { return script{verb: say(text)} }
	caps := func(list string) script { return with("GREETING", "* OK [CAPABILITY IMAP4rev1 "+list+"] hi\r\n") }
	body := func(n int) string {
		return strings.Replace(one, "{4}\r\nbody", fmt.Sprintf("{%d}\r\n%s", n, strings.Repeat("x", n)), 1)
	}
	for _, tt := range []misbehaviour{
		{"capabilities that are lies", caps("IMAP4rev2 LITERAL+ LITERAL- COMPRESS=DEFLATE UTF8=ACCEPT ESEARCH CONDSTORE QRESYNC STARTTLS IDLE"), 3, 0, ""},
		{"capabilities of rubbish", caps("AUTH= =x AUTH=\x7f"), 0, fault.Temporary, ""},
		{"AUTH=PLAIN that is not there", script{"GREETING": say("* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hi\r\n"), "AUTHENTICATE": say("TAG BAD unknown\r\n")}, 0, fault.Failed, "unknown"},
		{"LOGIN with a huge text", with("LOGIN", "TAG OK "+strings.Repeat("x", 100_000)+"\r\n"), 0, fault.Temporary, "more than"},
		{"LOGIN with a long text", with("LOGIN", "TAG OK [CAPABILITY IMAP4rev1] "+strings.Repeat("x", 60_000)+"\r\n"), 3, 0, ""},
		{"LOGIN referred elsewhere", with("LOGIN", "TAG NO [REFERRAL imap://evil.example/] go there\r\n"), 0, fault.Failed, "go there"},
		{"LOGIN accepted, referred elsewhere", with("LOGIN", "TAG OK [REFERRAL imap://evil.example/] better there\r\n"), 3, 0, ""},
		{"EXAMINE referred elsewhere", with("EXAMINE", "TAG NO [REFERRAL imap://evil.example/INBOX] go there\r\n"), 0, fault.Failed, "go there"},
		{"EXAMINE twice answered", with("EXAMINE", examined("7")+"TAG OK [READ-ONLY] again\r\n"), 0, fault.Temporary, "no command"},
		{"READ-ONLY in the wrong place", with("EXAMINE", "* OK [UIDVALIDITY 7] x\r\n* OK [READ-ONLY] x\r\nTAG OK done\r\n"), 0, fault.Failed, "read-write"},
		{"READ-ONLY in the text", with("EXAMINE", "* OK [UIDVALIDITY 7] x\r\nTAG OK done [READ-ONLY]\r\n"), 0, fault.Failed, "read-write"},
		{"READ-ONLY with more", with("EXAMINE", "* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLYISH] done\r\n"), 0, fault.Failed, "read-write"},
		{"UIDVALIDITY out of range", with("EXAMINE", examined("4294967296")), 0, fault.Temporary, ""},
		{"four billion messages", with("EXAMINE", "* 4294967295 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLY] done\r\n"), 3, 0, ""},
		{"more messages than can be", with("EXAMINE", "* 4294967296 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLY] done\r\n"), 0, fault.Temporary, ""},
		{"less than no messages", with("EXAMINE", "* -1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLY] done\r\n"), 0, fault.Temporary, ""},

		{"search out of order, twice", with("SEARCH", "* SEARCH 3 1 2 2 1\r\nTAG OK\r\n"), 3, 0, ""},
		{"search in two answers", with("SEARCH", "* SEARCH 1 2\r\n* SEARCH 3\r\nTAG OK\r\n"), 3, 0, ""},
		{"search out of range", with("SEARCH", "* SEARCH 1 4294967296\r\nTAG OK\r\n"), 0, fault.Temporary, ""},
		{"search of words", with("SEARCH", "* SEARCH 1 two 3\r\nTAG OK\r\n"), 0, fault.Temporary, ""},
		{"search of the newer kind", script{"SEARCH": esearch("1:2,3")}, 3, 0, ""},
		{"search of the newer kind, in disorder", script{"SEARCH": esearch("3,1:2,2:3")}, 3, 0, ""},
		{"search for the end", script{"SEARCH": esearch("1:*")}, 0, fault.Temporary, "dynamic"},
		{"search from the end", script{"SEARCH": esearch("3:1")}, 3, 0, ""},
		{"search that finds one a million times", with("SEARCH", "* SEARCH"+strings.Repeat(" 1", 1_000_000)+"\r\nTAG OK\r\n"), 1, fault.Temporary, "not asked for"},
		{"search that finds a million", with("SEARCH", numbers(1, 2_000_000, 2)+"TAG OK\r\n"), 0, fault.Temporary, "not asked for"},
		{"search that finds a million, the last first", with("SEARCH", numbers(2_000_000, 1, -2)+"TAG OK\r\n"), 0, fault.Temporary, "out of order"},
		{"search that finds some, the last first", with("SEARCH", numbers(2_000, 1, -2)+"TAG OK\r\n"), 0, fault.Temporary, "not asked for"},

		{"empty body", with("FETCH", body(0)+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"body at the bound", with("FETCH", body(64<<10)+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"expunge in a fetch", with("FETCH", one+"* 2 EXPUNGE\r\n"+fetched(3)+"TAG OK\r\n"), 2, fault.Temporary, "1 messages vanished"},
		{"vanished in a fetch", with("FETCH", one+"* VANISHED 2\r\n"+three+"TAG OK\r\n"), 2, fault.Temporary, ""},
		{"expunge of nothing", with("FETCH", one+"* 0 EXPUNGE\r\n"+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"a size that is a lie", with("FETCH", strings.Replace(one, "SIZE 12", "SIZE 1", 1)+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"a size beyond all mail", with("FETCH", strings.Replace(one, "SIZE 12", "SIZE 9999999999", 1)+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"a size below zero", with("FETCH", strings.Replace(one, "SIZE 12", "SIZE -1", 1)), 0, fault.Temporary, ""},
		{"a size out of range", with("FETCH", strings.Replace(one, "SIZE 12", "SIZE 99999999999999999999", 1)), 0, fault.Temporary, ""},
		{"a date of nowhere", with("FETCH", strings.Replace(one, "21-Nov-2026", "99-Foo-2026", 1)), 0, fault.Temporary, ""},
		{"the body of another section", with("FETCH", strings.Replace(one, "BODY[TEXT]<0>", "BODY[]<0>", 1)), 0, fault.Temporary, "not asked for"},
		{"a body from the middle", with("FETCH", strings.Replace(one, "BODY[TEXT]<0>", "BODY[TEXT]<5>", 1)), 0, fault.Temporary, "middle"},
		{"a binary literal", with("FETCH", strings.Replace(one, "{4}", "~{4}", 1)), 0, fault.Temporary, ""},
		{"a literal that does not wait", with("FETCH", strings.Replace(one, "{4}", "{4+}", 1)), 0, fault.Temporary, "literal"},
		{"silence: a literal cut by the next response", with("FETCH", strings.Replace(one, "{4}\r\nbody", "{400}\r\nbody", 1)+two+three+"TAG OK\r\n"), 0, fault.Temporary, ""},
		{"NUL in a body", with("FETCH", strings.Replace(one, "body", "b\x00d\x00", 1)+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"a response in a body", with("FETCH", strings.Replace(one, "{4}\r\nbody", "{9}\r\nT1 OK x\r\n", 1)+two+three+"TAG OK\r\n"), 3, 0, ""},
		{"UID 0", with("FETCH", fetched(0)), 0, fault.Temporary, ""},
		{"UID 4294967296", with("FETCH", strings.Replace(one, "UID 1", "UID 4294967296", 1)), 0, fault.Temporary, ""},
		{"no messages at all", with("FETCH", "TAG OK\r\n"), 0, fault.Temporary, "3 messages vanished"},
		{"the UIDs of yesterday", with("FETCH", "* OK [UIDVALIDITY 8] surprise\r\n"+one+two+three+"TAG OK\r\n"), 0, fault.Temporary, "replaced"},
	} {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); tt.play(t) })
	}
}
