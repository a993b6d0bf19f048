package layout

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// approvers is the group that may say yes where it exists.
const approvers = "pulse-approvers"

// maxKey bounds the file of a public key.
const maxKey = 16 << 10

// plain are the characters of a path or a URL that mean nothing to a shell, to cron and to
// systemd, in quotes or without.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:=,~"

// IsPlain reports whether a text has no other characters than these, and those in more.
func IsPlain(s, more string) bool { return strings.Trim(s, plain+more) == "" }

// File is one that init writes.
type File struct{ Name, Text string }

// At returns the place that --dir names.
func At(dir string) (Place, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	if !IsPlain(abs, "") {
		return Place{}, fault.Usagef("name a directory of letters, digits and ._-+@:=,~", "--dir: %s: a crontab can't name it without quotes", abs)
	}
	return Place{abs, dataOf(abs), prefix()}, nil
}

// dataOf returns the directory for what a gate makes of the files in dir, an absolute path.
func dataOf(dir string) string {
	if data := base("XDG_DATA_HOME", ".local/share"); dir == base("XDG_CONFIG_HOME", ".config") && IsPlain(data, "") {
		return data
	}
	return dir
}

// base returns the directory of pulse in a base directory of a person (XDG Base Directory
// Specification), empty if that person has no home.
func base(name, below string) string {
	if dir := os.Getenv(name); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pulse")
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, below, "pulse")
}

// prefix returns where the commands are installed: PREFIX of PREFIX/bin.
func prefix() string {
	exe, err := os.Executable()
	if dir := filepath.Dir(exe); err == nil && filepath.Base(dir) == "bin" && IsPlain(dir, "") {
		return strings.TrimSuffix(filepath.Dir(dir), "/")
	}
	return "/usr/local"
}

// Approval returns the lines of the policy about who says yes, and the file of keys if there is one:
// signer is a file with the key of the owner, or empty.
func (p Place) Approval(owner, signer string) (lines string, keys []File, err error) {
	signers := filepath.Join(p.Dir, "allowed_signers")
	switch {
	case signer != "":
		if !IsPlain(owner, "") {
			return "", nil, fault.Usagef("leave --signer out, and write allowed_signers yourself", "--owner: ssh-keygen takes %q for a pattern", owner)
		}
		key, err := publicKey(signer)
		if err != nil {
			return "", nil, err
		}
		keys = []File{{"allowed_signers", owner + ` namespaces="pulse-approve" ` + key + "\n"}}
		lines = fmt.Sprintf("allowed_signers = %q\n", signers)
		if p.Dir == System {
			lines = "require = \"signature\"\n" + lines
		}
	case p.Dir == System && haveGroup(approvers):
		lines = fmt.Sprintf("require = \"user\"\napprover_group = %q\n", approvers)
	default:
		return "", nil, nil
	}
	return "\n# How hard a person's yes is to forge: see pulse-levels(7).\n[approval]\n" + lines, keys, nil
}

func haveGroup(name string) bool {
	_, err := user.LookupGroup(name)
	return err == nil
}

// publicKey returns the type and the key in a file that ssh-keygen made.
func publicKey(name string) (string, error) {
	b, err := safefile.Read(name, maxKey)
	if err != nil {
		return "", fault.Usagef("ssh-keygen -t ed25519 -f "+escape.Shell(strings.TrimSuffix(name, ".pub")), "--signer: %w", err)
	}
	line, more, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) < 2 || len(more) > 0 || !strings.Contains(words[0], "-") || !strings.HasPrefix(words[1], "AAAA") ||
		!IsPlain(words[0], "") || !IsPlain(words[1], "") {
		return "", fault.Usagef("ssh-keygen -y -f KEY >KEY.pub", "--signer: %s is not a public key of ssh-keygen", name)
	}
	return words[0] + " " + words[1], nil
}

// Write makes the files: all of them or, if one is there already, none.
func (p Place) Write(files []File) (err error) {
	made, err := p.mkdir()
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(p.Dir, f.Name)); !errors.Is(err, fs.ErrNotExist) {
			return p.there(f.Name, err)
		}
	}
	for i, f := range files {
		if err := p.writeOne(f); err != nil {
			for _, f := range files[:i] {
				os.Remove(filepath.Join(p.Dir, f.Name))
			}
			return err
		}
	}
	if made {
		err = safefile.SyncDir(filepath.Dir(p.Dir))
	}
	return errors.Join(err, safefile.SyncDir(p.Dir))
}

// mkdir makes the directory, unless it is there, whatever the umask.
func (p Place) mkdir() (made bool, err error) {
	mode := fs.FileMode(0o700)
	if p.Dir == System {
		mode = 0o755
	}
	if p.Data != p.Dir { // the base directories may be missing
		if err := errors.Join(os.MkdirAll(p.Data, mode), os.MkdirAll(filepath.Dir(p.Dir), mode)); err != nil {
			return false, fault.Usagef("", "--dir: %w", err)
		}
	}
	switch err := os.Mkdir(p.Dir, mode); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fault.Usagef("ls -ld "+escape.Shell(filepath.Dir(p.Dir)), "--dir: %w", err)
	}
	return true, os.Chmod(p.Dir, mode)
}

// mode is that of the files: all accounts of the gate read those of a machine.
func (p Place) mode() fs.FileMode {
	if p.Dir == System {
		return 0o644
	}
	return 0o600
}

func (p Place) there(name string, err error) error {
	path := filepath.Join(p.Dir, name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fault.Usagef("", "%w", err)
	}
	return fault.Usagef("mv "+escape.Shell(path)+" "+escape.Shell(path+".old")+", or edit it", "%s is there, and nothing is overwritten", path)
}

// writeOne gives a file its name once all of it is on disk, unless there is one of that name.
func (p Place) writeOne(f File) error {
	tmp, err := os.CreateTemp(p.Dir, ".init-")
	if err != nil {
		return fault.Usagef("is it yours to write? ls -ld "+escape.Shell(p.Dir), "--dir: %w", err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	_, err = tmp.WriteString(f.Text)
	if err := errors.Join(err, tmp.Chmod(p.mode()), tmp.Sync()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), filepath.Join(p.Dir, f.Name)); err != nil {
		return p.there(f.Name, err)
	}
	return nil
}

// Next says what a person types after that.
func (p Place) Next() string {
	if p.Dir != System {
		return fmt.Sprintf("1. the password of the mailbox:  (umask 077; cat >%[1]s/password)\n"+
			"2. the queue:                    pulse-queue init --queue %[2]s/queue\n"+
			"3. start, or start anew:         (crontab -l | sed '/^# BEGIN pulse/,/^# END pulse/d'; cat %[1]s/crontab) | crontab -\n"+
			"4. for your shell, ~/.profile:   export PULSE_POLICY=%[1]s/policy.toml PULSE_QUEUE=%[2]s/queue\n",
			p.Dir, p.Data)
	}
	join, group := "", ""
	if haveGroup(approvers) {
		join, group = "usermod -aG "+approvers+" YOU; ", " --approver-group "+approvers
	}
	return "1. the password of the mailbox:  install -m 600 -o pulse /dev/stdin /etc/pulse/password\n" +
		"2. the queue:                    " + join + "runuser -u pulse -- pulse-queue init --queue /var/lib/pulse/queue" + group + "\n" +
		"3. start:                        systemctl enable --now pulse.target  (or: cp /etc/pulse/crontab /etc/cron.d/pulse)\n"
}
