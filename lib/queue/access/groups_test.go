package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGroupsRoundTrip(t *testing.T) {
	a, b := Group{"approvers", 1002}, Group{"workers", 1003}
	for _, g := range []Groups{{}, {Approvers: a}, {Workers: b}, {a, b}, {Approvers: Group{"root", 0}}} {
		if got, err := decodeGroups(g.append(nil)); err != nil || got != g {
			t.Errorf("%+v, %v, want %+v", got, err, g)
		}
	}
	for _, bad := range []string{
		``, `[]`, `{"approvers":"a"}`, `{"approvers_gid":7}`, `{"approvers":"a","approvers_gid":-1}`, `{"approvers":"a","approvers_gid":"7"}`,
		`{"approvers":"","approvers_gid":7}`, `{"approvers":"a","approvers_gid":7,"approvers_gid":8}`, `{"approvers":7,"approvers_gid":7}`,
	} {
		if g, err := decodeGroups([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, g)
		}
	}
}

// TestGroupMayWriteOnlyWhereItIsNamed: a marker makes a group one of the queue's, and
// nothing else does.
func TestGroupMayWriteOnlyWhereItIsNamed(t *testing.T) {
	me := Group{"mine", os.Getegid()}
	d := made(t, Groups{Approvers: me})
	dir := d.path
	modes, err := d.Modes()
	if err != nil || len(modes) > 0 || !d.Shared() {
		t.Errorf("as it was made: %v, %v", modes, err)
	}
	marker := filepath.Join(dir, groupsFile)
	good, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	other := Groups{Approvers: Group{"other", me.ID + 1}}
	for what, spoil := range map[string]func() error{
		"it is gone":             func() error { return os.Remove(marker) },
		"it names another group": func() error { return os.WriteFile(marker, other.append(nil), 0o640) },
		"its group may write it": func() error { return os.Chmod(marker, 0o660) },
		"it is a link":           func() error { return errors.Join(os.Remove(marker), os.Symlink("format", marker)) },
		"the queue is for all":   func() error { return os.Chmod(dir, 0o777) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := Trust(dir); err == nil {
			t.Errorf("%s: the queue is trusted", what)
		}
		os.Remove(marker)
		if err := errors.Join(os.WriteFile(marker, good, 0o640), os.Chmod(marker, 0o640), os.Chmod(dir, 0o770|os.ModeSetgid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(Trust(dir), d.Trust()); err != nil {
		t.Errorf("put right: %v", err)
	}
	if _, err := Claim(dir, &layout, true, &other); err == nil || !strings.Contains(err.Error(), "made already") {
		t.Errorf("made for another group: %v", err)
	}
	asked := Groups{}
	if made, err := Claim(dir, &layout, true, &asked); !made || err != nil || asked.Approvers != me {
		t.Errorf("made for those that it has: %v, %v, %v", made, err, asked)
	}
}

// TestModes: what was changed by hand is said.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		groups Groups
		change func(dir string) error
		want   string
	}{
		{Groups{}, func(dir string) error { return os.Chmod(dir, 0o755) }, ""},
		{Groups{}, func(dir string) error { return os.Chmod(dir+"/approvals", 0o700|os.ModeSetgid) }, ""},
		{Groups{}, func(dir string) error { return os.Chmod(dir+"/approvals", 0o750) }, "approvals has mode 0750, and was made with 0700"},
		{Groups{}, func(dir string) error { return os.Chmod(dir+"/lock", 0o666) }, "lock has mode 0666, and was made with 0600"},
		{mine(), func(dir string) error { return os.Chmod(dir, 0o770) }, "the queue has mode 0770, and was made with 2770"},
		{mine(), func(dir string) error { return os.Chmod(dir+"/format", 0o600) }, "format has mode 0600, and was made with 0660"},
		{mine(), func(dir string) error { return os.Remove(dir + "/format") }, ""},
	} {
		d := made(t, c.groups)
		if err := c.change(d.path); err != nil {
			t.Fatal(err)
		}
		if list, err := d.Modes(); err != nil || strings.Join(list, ", ") != c.want {
			t.Errorf("%q, %v, want %q", list, err, c.want)
		}
	}
}

// TestModesOfOthers: what was given away is said.
func TestModesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away: that health tells of them was not tried")
	}
	const other = 54321
	for _, c := range []struct {
		groups   Groups
		uid, gid int
		want     string
	}{
		{Groups{}, other, -1, "grants belongs to uid 54321"},
		{mine(), other, -1, "grants belongs to uid 54321"},
		{mine(), -1, other, fmt.Sprintf("grants is of group 54321, and was made for mine (gid %d)", os.Getegid())},
	} {
		d := made(t, c.groups)
		if err := os.Chown(d.path+"/grants", c.uid, c.gid); err != nil {
			t.Fatal(err)
		}
		if list, err := d.Modes(); err != nil || strings.Join(list, ", ") != c.want {
			t.Errorf("%q, %v, want %q", list, err, c.want)
		}
	}
}
