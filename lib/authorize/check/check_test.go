package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// TestApprovers: which rows nobody can satisfy, by names of keys.
func TestApprovers(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(keys, []byte("ann,bob,carol,ann+phone@example.com ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const owner = "ann@example.com"
	for _, c := range []struct {
		approvers string
		count     int
		notAuthor bool
		want      string // in the risk; empty: none
	}{
		{"ann bob", 2, false, ""},
		{"ann bob", 2, true, "not_author leaves 1 approvers"},
		{"ann+phone@example.com bob", 2, true, "not_author leaves 1 approvers"},
		{"ann bob carol", 2, true, ""},
		{"bob carol", 2, true, ""},
		{owner + " bob carol", 2, true, "nobody is called " + owner},
		{"ann dave", 2, true, "1 of its approvers are known"},
		{"ann", 1, true, "not_author leaves 0 approvers"},
	} {
		p := policy.Default()
		p.Owners = []string{owner}
		p.Approval.Require, p.Approval.AllowedSigners = "signature", keys
		p.Approval.Rows = []policy.ApprovalRow{{Approvers: strings.Fields(c.approvers), Count: c.count, NotAuthor: c.notAuthor}}
		var risks []string
		approverRisks(p, func(when bool, format string, args ...any) {
			if when {
				risks = append(risks, fmt.Sprintf(format, args...))
			}
		})
		if got := strings.Join(risks, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) ||
			strings.Contains(c.want, "nobody") && strings.Contains(got, "satisfied") {
			t.Errorf("%s, %d, %t: %q, want %q", c.approvers, c.count, c.notAuthor, got, c.want)
		}
	}
}

// TestMet: a row for one sender lets a stranger begin as well as one for a level, if a list has the
// sender; what an owner's lets begin has no label.
func TestMet(t *testing.T) {
	p := policy.Default()
	p.Matrix, p.Owners = map[terms.Trust]policy.Row{}, []string{"ann@example.com"}
	if met(p, label.Untrusted) {
		t.Error("nobody may ask for anything")
	}
	asks := policy.Row{terms.WriteLocal: terms.Review}
	p.Senders = []policy.SenderRow{{Sender: "ann@example.com", Row: asks}, {Sender: "bob@partner.example", Row: asks}}
	if met(p, label.Untrusted) {
		t.Error("only the owner may, because no list has the other")
	}
	p.AllowedExternal = []string{"@partner.example"}
	if !met(p, label.Untrusted) {
		t.Error("one sender may")
	}
}
