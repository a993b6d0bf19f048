package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
			start := time.Now()
			there, back := diff(t, old, new), diff(t, new, old)
			t.Logf("%v, %d lines", time.Since(start), len(there))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if len(there) == 0 || len(back) == 0 {
				t.Error("there is no difference")
			}
		})
	}
}
