package cmdline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/safefile"
)

// The bounds of --max-record, in bytes: the lower leaves room for any identity and decision,
// and a line of the upper still fits into the memory of a small machine.
const (
	leastMaxRecord = 1 << 10
	mostMaxRecord  = 64 << 20
)

// InitPolicy is a command line that prints a policy to begin with, for hints.
const InitPolicy = "pulse-authorize init --owner you@example.com --agent agent@example.com"

// PolicyFlag returns the flag --policy, which Policy reads.
func PolicyFlag() cli.Flag {
	return &cli.StringFlag{
		Name:    "policy",
		EnvVars: []string{"PULSE_POLICY"},
		Usage:   "`FILE` the policy, pulse-policy(5); default: $PULSE_POLICY",
	}
}

// Policy loads the policy that --policy or PULSE_POLICY names. Every error is a usage error,
// because no command decides without a policy.
func Policy(c *cli.Context) (*policy.Policy, error) {
	path := c.String("policy")
	if path == "" {
		hint := "--policy FILE, or export PULSE_POLICY=FILE; " + InitPolicy + " prints one to begin with"
		if lies := lyingPolicy(); lies != "" {
			hint = "export PULSE_POLICY=" + escape.Shell(lies)
		}
		return nil, fault.Usagef(hint, "no policy: neither --policy nor PULSE_POLICY is set")
	}
	return PolicyFile(path)
}

// lyingPolicy returns a policy that lies where one would, for a hint. It is empty if none does.
func lyingPolicy() string {
	dirs := []string{"/etc/pulse"}
	if home, err := os.UserConfigDir(); err == nil {
		dirs = append([]string{filepath.Join(home, "pulse")}, dirs...)
	}
	if here, err := os.Getwd(); err == nil {
		dirs = append([]string{here}, dirs...)
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, "policy.toml")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// PolicyFile loads the policy of a file. Every error is a usage error.
func PolicyFile(path string) (*policy.Policy, error) {
	b, err := safefile.Read(path, policy.MaxSize)
	if err != nil {
		return nil, fault.Usagef(fileHint(path, err, InitPolicy), "policy: %w", err)
	}
	p, err := policy.Parse(path, b)
	if err != nil {
		return nil, fault.Usagef(policy.Hint(err), "policy: %w", err)
	}
	return p, nil
}

// fileHint returns what to type about a file that can't be read or trusted. begin prints one
// to begin with.
func fileHint(path string, err error, begin string) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return begin + " prints one to begin with"
	case errors.Is(err, safefile.ErrWritable):
		return "chmod go-w " + path + " " + filepath.Dir(path)
	}
	return "ls -l " + path
}

// MaxRecordFlag returns the flag --max-record, the longest line that is read, in bytes. A
// value out of bounds is a usage error before the command's action runs.
func MaxRecordFlag() cli.Flag {
	return &cli.IntFlag{
		Name:  "max-record",
		Value: record.DefaultMax,
		Usage: "`BYTES` the longest line accepted; default 4194304 (4 MiB)",
		Action: func(c *cli.Context, n int) error {
			if n < leastMaxRecord || n > mostMaxRecord {
				return fault.Usagef(c.App.Name+" --help",
					"--max-record %d: want %d to %d bytes", n, leastMaxRecord, mostMaxRecord)
			}
			return nil
		},
	}
}

// MaxRecord returns the value of --max-record.
func MaxRecord(c *cli.Context) int { return c.Int("max-record") }
