package runner

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// Who is the account that a worker runs under, with its environment.
type Who struct {
	Credential *syscall.Credential // nil: this process's own
	Env        []string
}

// passed lists the variables of this process that a worker is given. It gets no others,
// because one may hold a password for pulse-fetch.
var passed = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}

// Account returns the account of a name, or this process's own for "".
func Account(name string) (Who, error) {
	var who Who
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if name != "" {
		u, err = user.Lookup(name)
		if err != nil {
			return who, err
		}
		if who.Credential, err = credential(u); err != nil {
			return who, err
		}
	}
	if err == nil {
		who.Env = append(who.Env, "HOME="+u.HomeDir, "USER="+u.Username, "LOGNAME="+u.Username)
	}
	for _, v := range passed {
		if value, ok := os.LookupEnv(v); ok {
			who.Env = append(who.Env, v+"="+value)
		}
	}
	return who, nil
}

func credential(u *user.User) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("only root can start workers as %s", u.Username)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	c := &syscall.Credential{}
	for i, s := range append([]string{u.Uid, u.Gid}, groups...) {
		n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32)
		if err != nil {
			return nil, err
		}
		switch i {
		case 0:
			c.Uid = uint32(n)
		case 1:
			c.Gid = uint32(n)
		default:
			c.Groups = append(c.Groups, uint32(n))
		}
	}
	return c, nil
}
