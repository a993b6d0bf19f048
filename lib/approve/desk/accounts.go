package desk

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Accounts are the accounts and groups of this machine, as its files have them. They are
// read at once, because a confined command can't look them up later.
type Accounts struct {
	uid     map[string]int // by name
	primary map[string]int // gid, by name
	members map[int][]string
}

// LocalAccounts reads /etc/passwd and /etc/group; a missing file counts as empty.
func LocalAccounts() (*Accounts, error) {
	a := &Accounts{map[string]int{}, map[string]int{}, map[int][]string{}}
	err := eachAccount("/etc/passwd", func(f []string) {
		uid, err1 := strconv.Atoi(f[2])
		gid, err2 := strconv.Atoi(f[3])
		if err1 == nil && err2 == nil {
			a.uid[f[0]], a.primary[f[0]] = uid, gid
			a.members[gid] = append(a.members[gid], f[0])
		}
	})
	if err != nil {
		return nil, err
	}
	return a, eachAccount("/etc/group", func(f []string) {
		gid, err := strconv.Atoi(f[2])
		for name := range strings.SplitSeq(f[3], ",") {
			if err == nil && name != "" && !slices.Contains(a.members[gid], name) {
				a.members[gid] = append(a.members[gid], name)
			}
		}
	})
}

// eachAccount calls fn for the lines of a file of passwd(5) or group(5).
func eachAccount(path string, fn func(fields []string)) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= 4 {
			fn(f)
		}
	}
	return err
}

// In reports whether an account has the rights of a group when it logs in.
func (a *Accounts) In(uid, gid int) bool {
	return slices.ContainsFunc(a.members[gid], func(name string) bool {
		u, known := a.uid[name]
		return known && u == uid
	})
}

// Both returns the names of the accounts that are in both groups, except one account.
func (a *Accounts) Both(one, other, except int) (names []string) {
	for _, name := range a.members[one] {
		if u, known := a.uid[name]; known && u != except && a.In(u, other) {
			names = append(names, name)
		}
	}
	return names
}

// Rights returns the rights that a worker has under an account.
func (a *Accounts) Rights(uid int) *Rights {
	r := &Rights{UID: uid}
	for gid := range a.members {
		if a.In(uid, gid) {
			r.Groups = append(r.Groups, gid)
		}
	}
	return r
}
