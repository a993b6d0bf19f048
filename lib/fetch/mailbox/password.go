package mailbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// maxPassword is how long a password or token may be, in bytes: tokens of large
// organisations fill many kilobytes.
const maxPassword = 16 << 10

// Secret says where a password or token comes from. Exactly one of the first three fields is set.
type Secret struct {
	Command, Env, File string

	Live bool // what a command writes to its standard error is shown while it runs
}

// Read returns the password or token: the first line of what the command prints, the
// variable holds, or the file contains. The end of ctx is a temporary error, and a command may
// say that it failed for now, or that the provider refuses, which is source.Refused. Any other
// error is a usage error. No error shows the password. What the command writes to its standard
// error goes to stderr, escaped unless it is Live, or is in the error if the command said so.
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

// origin says where the password comes from. It does not name the command, which may hold
// secrets, too.
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
		return "", fault.Usagef("--password-command 'pass show mail', --password-file FILE or --password-env NAME",
			"no password")
	case set > 1:
		return "", fault.Usagef("", "give one of --password-command, --password-env and --password-file")
	case s.Command != "":
		return s.run(ctx, stderr)
	case s.Env != "":
		v, ok := os.LookupEnv(s.Env)
		if !ok {
			return "", unset(s.Env)
		}
		return v, nil
	}
	b, err := safefile.ReadSecret(s.File, maxPassword)
	if err == nil { // others must not be able to replace a directory further up either
		err = safefile.Guarded(s.File, uint32(os.Geteuid()))
	}
	if err != nil {
		return "", source.SecretError("--password-file", s.File, err)
	}
	return string(b), nil
}

// unset returns the error for a variable that is not set. It repeats the name only if that
// does not look like a password, which may have been typed in its place.
func unset(name string) error {
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		return fault.Usagef(
			"--password-env wants the NAME of a variable; to set it: read -rs PASSWORD && export PASSWORD",
			"--password-env: there is no variable of that name")
	}
	return fault.Usagef("export "+name, "--password-env %s: the variable is not set", name)
}

// run starts the command without a shell, and returns the beginning of what it prints.
func (s Secret) run(ctx context.Context, stderr io.Writer) (string, error) {
	argv, err := splitWords(s.Command)
	if err != nil {
		return "", fault.Usagef("", "--password-command: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said := &saying{}
	cmd.Stdout, cmd.Stderr = w, said
	if s.Live {
		cmd.Stderr = io.MultiWriter(stderr, said)
	}
	cmd.WaitDelay = linger
	out := make(chan string, 1)
	go func() {
		out <- printed(r)
		r.Close()
	}()
	err = runFamily(cmd, func() { w.Close() })
	r.SetReadDeadline(time.Now().Add(linger))
	text := <-out
	told := ended(argv[0], err, string(said.kept))
	if !s.Live && (told == nil || ctx.Err() != nil) {
		said.tell(stderr)
	}
	switch {
	case ctx.Err() != nil:
		return "", fault.Temporaryf("", "--password-command: %w", ctx.Err())
	case len(text) > maxPassword:
		return "", fault.Usagef("run it by hand", "--password-command: prints more than %d bytes", maxPassword)
	case cmd.Process == nil:
		return "", fault.Usagef("it wants a COMMAND that prints the password, such as 'pass show mail'",
			"--password-command: its first word is not a program that can be started: %w", bare(err))
	case told != nil:
		return "", told
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fault.Usagef("run it by hand", "--password-command %s: %w", argv[0], err)
	}
	return text, nil
}

// printed returns the beginning of what a pipe has until its end or its deadline, and then what is in it: who
// wrote that may be dead for long while this process was stopped.
func printed(r *os.File) string {
	b, err := io.ReadAll(io.LimitReader(r, maxPassword+1)) // after an error, what came before it counts
	if conn, bad := r.SyscallConn(); bad == nil && errors.Is(err, os.ErrDeadlineExceeded) {
		rest := make([]byte, maxPassword+1-len(b))
		_ = conn.Control(func(fd uintptr) {
			if n, err := syscall.Read(int(fd), rest); err == nil {
				b = append(b, rest[:n]...)
			}
		})
	}
	return string(b)
}

// linger is how long a process that the command has left in another session may keep its
// output open.
const linger = time.Second

// bare returns an error without the name of a file, which may be the password.
func bare(err error) error {
	var path *fs.PathError
	var program *exec.Error
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &program):
		return program.Err
	}
	return err
}

// noCore keeps this process, and those that it starts, from leaving the secret in a core
// file.
func noCore() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }

// splitWords splits a command as a shell would, without expanding anything: blanks
// separate words, quotes and backslashes keep them together.
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
