// Package dovecottest runs a private Dovecot for tests: IMAP on loopback, over TLS and
// with STARTTLS, one user with a password and OAuth tokens, one Maildir.
//
// Invariant: a server ends with its test, and needs no network and no configuration of the
// machine. Caveat: Debian's dovecot-imapd (2.3) must be installed, or the test fails.
package dovecottest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// The account of every server.
const (
	User     = "me"
	Password = "secret-of-the-test"
)

// Server is a running Dovecot.
type Server struct {
	Addr    string // of IMAP over TLS
	Clear   string // of IMAP that begins without TLS and demands STARTTLS
	CA      string // file with the certificate to trust
	Maildir string // of User
	dir     string
	uid     int
	pid     int
	idled   map[string]bool // processes that AwaitIdle has seen
}

// nobody is the uid that owns the mail when the tests run as root, because Dovecot refuses
// mail of uid 0.
const nobody = 65534

// Folder is a mailbox besides INBOX.
type Folder struct {
	Name string // in UTF-8
	Use  string // what the server says it is for (RFC 6154), such as \Drafts; empty: nothing
}

// Start starts a server and stops it when the test ends. Its user has these folders.
func Start(t testing.TB, folders ...Folder) *Server {
	t.Helper()
	path := binary(t)
	// A short path: sockets lie in this directory, and theirs must stay under 108 bytes.
	dir, err := os.MkdirTemp("/tmp", "pulse-dc")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{
		Addr: cmdlinetest.FreePort(t), Clear: cmdlinetest.FreePort(t), CA: filepath.Join(dir, "ca.pem"),
		Maildir: filepath.Join(dir, "mail", User), dir: dir, uid: os.Getuid(), idled: map[string]bool{},
	}
	if s.uid == 0 {
		s.uid = nobody
	}
	check(t, os.Chmod(dir, 0o755))
	for _, sub := range []string{"", "new", "cur", "tmp"} {
		check(t, os.MkdirAll(filepath.Join(s.Maildir, sub), 0o700))
	}
	s.own(t)
	s.issuer(t)
	certificate(t, s.CA, filepath.Join(dir, "key.pem"))
	conf := filepath.Join(dir, "dovecot.conf")
	check(t, os.WriteFile(conf, []byte(s.config(t)+namespace(folders)), 0o644))
	s.run(t, path, conf)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func binary(t testing.TB) string {
	for _, name := range []string{"dovecot", "/usr/sbin/dovecot"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("dovecot is missing: apt-get install dovecot-imapd")
	return ""
}

// Deliver puts a message into new/ of the Maildir, as a delivery agent would.
func (s *Server) Deliver(t testing.TB, name string, message []byte) {
	t.Helper()
	tmp := filepath.Join(s.Maildir, "tmp", name)
	check(t, os.WriteFile(tmp, message, 0o600))
	check(t, os.Rename(tmp, filepath.Join(s.Maildir, "new", name)))
	s.own(t)
}

// AwaitIdle returns once one more client waits for mail (RFC 2177). The test fails with what
// ended says if the client ends instead.
func (s *Server) AwaitIdle(t testing.TB, ended <-chan string) {
	t.Helper()
	var titles []string
	for late := time.Now().Add(patience); time.Now().Before(late); {
		select {
		case said := <-ended:
			t.Fatalf("the client ended, and did not wait: %s", said)
		case <-time.After(5 * time.Millisecond):
		}
		pids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.pid, s.pid))
		check(t, err)
		titles = titles[:0]
		for _, pid := range strings.Fields(string(pids)) {
			title, _ := os.ReadFile("/proc/" + pid + "/cmdline") // it may have ended
			if strings.Contains(string(title), " IDLE]") && !s.idled[pid] {
				s.idled[pid] = true
				return
			}
			titles = append(titles, string(bytes.TrimRight(title, "\x00")))
		}
	}
	t.Fatalf("no client idles: %q", titles)
}

// own gives the mail to the user as which Dovecot reads it.
func (s *Server) own(t testing.TB) {
	if os.Getuid() != 0 {
		return
	}
	check(t, filepath.Walk(filepath.Join(s.dir, "mail"), func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, s.uid, s.uid)
	}))
}

// Names returns the names of all message files, with their flags.
func (s *Server) Names(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, sub := range []string{"new", "cur"} {
		entries, err := os.ReadDir(filepath.Join(s.Maildir, sub))
		check(t, err)
		for _, e := range entries {
			list = append(list, sub+"/"+e.Name())
		}
	}
	return list
}

func (s *Server) config(t testing.TB) string {
	internal, login := "dovecot", "dovenull"
	if os.Getuid() != 0 {
		u, err := user.Current()
		check(t, err)
		internal, login = u.Username, u.Username
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	_, clear, _ := net.SplitHostPort(s.Clear)
	return strings.NewReplacer("@DIR@", s.dir, "@PORT@", port, "@CLEAR@", clear, "@UID@", fmt.Sprint(s.uid),
		"@INTERNAL@", internal, "@LOGIN@", login, "@PASSWORD@", Password).Replace(config)
}

// namespace returns the part of the configuration that makes the folders.
func namespace(folders []Folder) string {
	var b strings.Builder
	b.WriteString("namespace inbox {\n  inbox = yes\n")
	for _, f := range folders {
		fmt.Fprintf(&b, "  mailbox %q {\n    auto = create\n", f.Name)
		if f.Use != "" {
			fmt.Fprintf(&b, "    special_use = %s\n", f.Use)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

const config = `
base_dir = @DIR@/run
state_dir = @DIR@/state
log_path = /dev/stderr
info_log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = required
ssl_cert = <@DIR@/ca.pem
ssl_key = <@DIR@/key.pem
default_internal_user = @INTERNAL@
default_login_user = @LOGIN@
first_valid_uid = 1
auth_failure_delay = 0
verbose_proctitle = yes
mail_max_userip_connections = 100
auth_mechanisms = plain login xoauth2 oauthbearer
mail_location = maildir:@DIR@/mail/%u
passdb {
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = @DIR@/oauth2.conf
}
passdb {
  driver = static
  mechanisms = plain login
  args = password=@PASSWORD@
}
userdb {
  driver = static
  args = uid=@UID@ gid=@UID@ home=@DIR@/mail/%u
}
service imap-login {
  chroot =
  inet_listener imap {
    port = @CLEAR@
  }
  inet_listener imaps {
    port = @PORT@
    ssl = yes
  }
}
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
`

// patience is how long Dovecot may take to start, and to end, before it is killed.
const patience = 10 * time.Minute

// run starts Dovecot and returns once it says that it listens.
func (s *Server) run(t testing.TB, path, conf string) {
	cmd := exec.Command(path, "-F", "-c", conf)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	s.pid = cmd.Process.Pid
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "starting up") {
			late.Stop()
			read := make(chan struct{})
			go func() { // otherwise Dovecot would block once the pipe is full
				defer close(read)
				for lines.Scan() {
					said = append(said, lines.Text())
				}
			}()
			t.Cleanup(func() {
				cmd.Process.Signal(syscall.SIGTERM)
				late.Reset(patience)
				cmd.Wait()
				<-read
				late.Stop()
				if t.Failed() {
					t.Logf("dovecot said:\n%s", strings.Join(said, "\n"))
				}
			})
			return
		}
	}
	cmd.Wait()
	t.Fatalf("dovecot did not start:\n%s", strings.Join(said, "\n"))
}

// certificate writes a self-signed certificate for 127.0.0.1, and its key.
func certificate(t testing.TB, certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pulse test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	check(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	check(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	check(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
}
