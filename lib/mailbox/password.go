package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"pulse/lib/fault"
	"pulse/lib/safefile"
	"pulse/lib/source"
)

// maxPassword bounds what is read of a password or token, in bytes: tokens of large
// organisations fill many kilobytes.
const maxPassword = 16 << 10

// Secret names where a password comes from. Exactly one field is set.
type Secret struct {
	Command, Env, File string
}

// Read returns the password or token: the first line of what the command prints, the
// variable holds, or the file contains. Whatever is wrong is a usage error, but for
// the end of ctx, which is a temporary one; none shows the password. What the command
// says on its standard error goes to stderr.
func (s Secret) Read(ctx context.Context, stderr io.Writer) (string, error) {
	noCore()
	text, err := s.text(ctx, stderr)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	switch {
	case line == "":
		return "", fault.Usagef("", "the password from %s is empty", s.origin())
	case strings.ContainsAny(line, "\x00\r"):
		return "", fault.Usagef("", "the password from %s has a control character", s.origin())
	}
	return line, nil
}

// origin says where the password comes from. The command may hold secrets too.
func (s Secret) origin() string {
	switch {
	case s.Command != "":
		return "--password-command"
	case s.Env != "":
		return "--password-env " + s.Env
	}
	return "--password-file " + s.File
}

func (s Secret) text(ctx context.Context, stderr io.Writer) (string, error) {
	set := 0
	for _, v := range []string{s.Command, s.Env, s.File} {
		if v != "" {
			set++
		}
	}
	switch {
	case set == 0:
		return "", fault.Usagef("--password-command 'pass show mail', --password-file FILE or --password-env NAME", "no password")
	case set > 1:
		return "", fault.Usagef("", "give one of --password-command, --password-env and --password-file")
	case s.Command != "":
		return s.run(ctx, stderr)
	case s.Env != "":
		v, ok := os.LookupEnv(s.Env)
		if !ok {
			return "", fault.Usagef("export "+s.Env, "--password-env %s: the variable is not set", s.Env)
		}
		return v, nil
	}
	b, err := safefile.ReadSecret(s.File, maxPassword)
	if err == nil { // nor may others put another file in its place, further up
		err = safefile.Guarded(s.File, uint32(os.Geteuid()))
	}
	if err != nil {
		return "", fault.Usagef(source.SecretHint(s.File, err), "--password-file: %w", err)
	}
	return string(b), nil
}

// run starts the command without a shell and reads the beginning of what it
// prints.
func (s Secret) run(ctx context.Context, stderr io.Writer) (string, error) {
	argv, err := splitWords(s.Command)
	if err != nil {
		return "", fault.Usagef("", "--password-command: %w", err)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &bounded{&out, maxPassword}, stderr
	cmd.WaitDelay = time.Second // a child of it may keep the pipe open
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", fault.Temporaryf("", "--password-command %s: %w", argv[0], ctx.Err())
	}
	if err != nil {
		return "", fault.Usagef("run it by hand", "--password-command %s: %w", argv[0], err)
	}
	return out.String(), nil
}

// noCore keeps this process and what it starts from leaving the secret in a core
// file.
func noCore() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }

// bounded keeps the first left bytes and refuses more.
type bounded struct {
	*strings.Builder
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("prints more than %d bytes", maxPassword)
	}
	return b.Builder.Write(p)
}

// splitWords splits a command as a shell would, but for everything a shell expands:
// blanks separate, quotes and backslashes keep together.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, open := byte(0), false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			open = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
			open = true
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("a quote is not closed")
	case open:
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("no command")
	}
	return words, nil
}
