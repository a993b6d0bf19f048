package compare

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/peer"
)

// list returns a key with n entries.
func list(key, entry string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, entry+",\n", i)
	}
	return key + " = [\n" + b.String() + "]\n"
}

func repeated(table string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(table, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// TestLargePolicies: however long a policy is, and however much two differ, the comparison
// ends soon, and says what is wider or that it does not know.
func TestLargePolicies(t *testing.T) {
	for name, text := range map[string]string{
		"addresses":  list("allowed_external", `"a%d@b.example"`, 20_000),
		"domains":    list("allowed_external", `"@d%d.example"`, 10_000) + list("accept_automatic", `"@d%d.example"`, 5000),
		"recipients": list("recipients", `"a%d@b.example"`, 10_000),
		"targets":    "[outbound]\n" + list("allow", `"a%d@b.example"`, 10_000),
		"rows":       repeated("[matrix.\"a%d@b.example\"]\nallow = [\"read_private\"]\n", 2000),
		"tools":      "[tools]\nprofile = \"full\"\n" + list("deny", `"a%d.*"`, 500),
		"globs":      "[tools]\n" + list("allow", `"*a%d*"`, 30),
		"pins":       list("authserv_id", `"mx%d.example.net"`, 500),
		"receivers":  repeated("[[receiver]]\nsource = \"imaps:%d*\"\nauthserv_id = \"mx%d.example.net\"\n", 500),
		"actions":    repeated("[[action]]\nto = \"a%d@b.example\"\naction = \"destructive\"\n", 3000) + "[[action]]\nto = \"agent@example.net\"\naction = \"destructive\"\n",
		"programs":   coding + repeated(git+"[\"log\", \"a%d*\"]\n", 60),
		"stars":      coding + repeated(git+"[\"log\", \"*%d*\", \"*%d*\"]\n", 12),
		"chats":      "[[platform]]\nsource = \"telegram\"\n" + repeated("[[platform.chat]]\nid = -9%d\nallowed_senders = [5%d]\nopen_group = true\n", 300),
		"platforms":  repeated("[[platform]]\nsource = \"p%d\"\nowner_ids = [1]\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			old, new := parse(t, "old", base), parse(t, "new", under(text))
			start := cmdlinetest.Computed(t)
			there, back := diff(old, new), diff(new, old)
			took := cmdlinetest.Computed(t) - start
			t.Logf("%v, %d lines", took, len(there))
			if took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if len(there) == 0 || len(back) == 0 {
				t.Error("there is no difference")
			}
		})
	}
}

// TestHugePolicies: two policies of up to 1 MiB, made to take long, take neither long nor
// much memory, and what was not compared is said.
func TestHugePolicies(t *testing.T) {
	numbers := list("owner_ids", "1%d", 100_000)
	for name, c := range map[string]struct{ old, new, unknown string }{
		"receivers": {repeated("[[receiver]]\nsource = \"*%d*a*\"\nauthserv_id = \"mx.example.net\"\n", 8000),
			repeated("[[receiver]]\nsource = \"*1%d*a*\"\nauthserv_id = \"mx.example.net\"\n", 8000), "receiver"},
		"programs": {coding + repeated(git+"[\"log\", \"a*%d*b*c\"]\n", 3500), coding + repeated(git+"[\"log\", \"a*1%d*b*c\"]\n", 3500), "tools"},
		"chats": {"[[platform]]\nsource = \"t\"\n" + repeated("[[platform.chat]]\nid = -5%d\nallowed_senders = [5%d]\n", 9000),
			"[[platform]]\nsource = \"t\"\n" + repeated("[[platform.chat]]\nid = -6%d\nallowed_senders = [6%d]\n", 9000), "platform"},
		"ids": {"[[platform]]\nsource = \"t\"\n" + numbers, "[[platform]]\nsource = \"t\"\nallowed_ids = [7]\n" + numbers, ""},
		"levels": {"[tools]\nprofile = \"full\"\n[tools.level]\n" + repeated("\"t%d*\" = \"owner_only\"\n", 40_000),
			"[tools]\nprofile = \"full\"\n[tools.level]\n" + repeated("\"t1%d*\" = \"owner_only\"\n", 40_000), "tools"},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := parse(t, "old", under(c.old)), parse(t, "new", under(c.new))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := cmdlinetest.Computed(t)
			all := diff(old, new)
			took := cmdlinetest.Computed(t) - start
			runtime.ReadMemStats(&after)
			bytes := after.TotalAlloc - before.TotalAlloc
			t.Logf("%v, %d MB", took, bytes>>20)
			if took > 20*time.Second || bytes > 600<<20 {
				t.Errorf("it took %v and %d MB", took, bytes>>20)
			}
			if len(all) == 0 || c.unknown != "" && !strings.Contains(show(all), "other "+c.unknown+": ") || c.unknown != "" && !strings.Contains(show(all), "was not compared: ") {
				t.Errorf("it says\n%s", show(all))
			}
		})
	}
}

// TestSameFile: a file is not compared with itself, however long it is.
func TestSameFile(t *testing.T) {
	text := under("[[platform]]\nsource = \"t\"\n" + repeated("[[platform.chat]]\nid = -5%d\nallowed_senders = [5%d]\n", 2000))
	if list := diff(parse(t, "old", text), parse(t, "new", text)); len(list) > 0 {
		t.Errorf("it says\n%s", show(list))
	}
}

// TestUnknownChat: the chat that stands for all that a policy does not have is none that it
// has.
func TestUnknownChat(t *testing.T) {
	if n := unknown(unknownChat, -1, []peer.ID{"-4", "-2", "-1"}); n != "-3" {
		t.Errorf("unknown chat %s", n)
	}
}
