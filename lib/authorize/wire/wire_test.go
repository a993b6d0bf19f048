package wire

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pulse/lib/authorize/judge"
	"pulse/lib/shared/policy"
)

func anybody(int) bool { return true }

// listen serves a judge for the length of a test.
func listen(t *testing.T, mine func(int) bool) *Server {
	t.Helper()
	s, err := Listen(&judge.Judge{Policy: policy.Default()}, mine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

const question = `{"propose":{"action":"read_public"}}`

func TestAsk(t *testing.T) {
	s := listen(t, anybody)
	var all sync.WaitGroup
	for range 3 * maxOpen {
		all.Go(func() {
			if a, err := Ask(t.Context(), s.Path(), []byte(question)); err != nil && err.Error() != "judge: too much of this run waits for a person" {
				t.Error(err)
			} else if err == nil {
				if v, err := a.Raw("done"); err != nil || v != "true" {
					t.Errorf("%s, %v", v, err)
				}
			}
		})
	}
	all.Wait()
	if _, err := Ask(t.Context(), s.Path(), []byte(`{}`)); err == nil || err.Error() != "judge: it is no question" {
		t.Errorf("%v", err)
	}
}

// TestOthers: a process that does not belong to the run gets no answer, and no other account
// can find out which sockets there are.
func TestOthers(t *testing.T) {
	asked := make(chan int, 1)
	s := listen(t, func(pid int) bool { asked <- pid; return false })
	if _, err := Ask(t.Context(), s.Path(), []byte(question)); err == nil {
		t.Error("it was answered")
	}
	if pid := <-asked; pid != os.Getpid() {
		t.Errorf("%d connected", pid)
	}
	info, err := os.Stat(filepath.Dir(s.Path()))
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestClose: nothing is left, also of a question that waits.
func TestClose(t *testing.T) {
	s, err := Listen(&judge.Judge{Policy: policy.Default()}, anybody)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("{\"await\":true}\n{\"half")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := os.Stat(filepath.Dir(s.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Ask(t.Context(), s.Path(), []byte(question)); err == nil || !strings.HasPrefix(err.Error(), "wire: the run does not answer: ") {
		t.Errorf("%v", err)
	}
}

// TestKilled: what a run leaves that was killed is removed by the next one, but not that of a run that
// lives, or that has no socket yet.
func TestKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	killed, lives, begins := listen(t, anybody), listen(t, anybody), filepath.Join(os.TempDir(), "pulse-judge-1")
	killed.l.Close()
	if err := os.Mkdir(begins, 0o700); err != nil {
		t.Fatal(err)
	}
	last := listen(t, anybody)
	left, err := filepath.Glob(os.TempDir() + "/*")
	want := []string{begins, lives.dir, last.dir}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("%v, %v", left, err)
	}
}

// TestGiveUp: who asks waits no longer than its context, whatever the other side does.
func TestGiveUp(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			cancel()
			_, _ = c.Read(make([]byte, 1<<10))
		}
	}()
	if _, err := Ask(ctx, dir+"/s", []byte(question)); err == nil {
		t.Error("it was answered")
	}
}

// TestLongPath: a name that no socket can have is not needed.
func TestLongPath(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	if s := listen(t, anybody); len(s.Path()) > maxPath {
		t.Errorf("%s", s.Path())
	}
}

func TestReadLine(t *testing.T) {
	for in, want := range map[string]error{"ab\n": nil, "abc\n": nil, "abcd\n": errLong, "abcde": errLong} {
		if got, err := readLine(strings.NewReader(in), 3); !errors.Is(err, want) || want == nil && string(got)+"\n" != in {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if _, err := readLine(strings.NewReader("ab"), 3); err == nil {
		t.Error("half a line was taken")
	}
}
