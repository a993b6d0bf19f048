// Package cyrustest runs a private Cyrus IMAP for tests: IMAP and JMAP on loopback, over TLS,
// one user with a password.
//
// Invariant: a server ends with its test, and needs no network and no configuration of the
// machine. Caveat: scripts/get-cyrus must have unpacked Debian's cyrus-imapd (3.6), or the test
// is skipped, which scripts/test reports. It takes passwords only, no tokens.
package cyrustest

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// The account of every server.
const (
	User     = "me"
	Password = "secret-of-the-test"
)

// Server is a running Cyrus.
type Server struct {
	IMAP string // address of IMAP over TLS
	JMAP string // address of JMAP over TLS
	CA   string // file with the certificate to trust
	dir  string
}

// Start starts a server and stops it when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	programs := unpacked(t)
	// A short path: sockets lie in this directory, and theirs must stay under 108 bytes.
	dir, err := os.MkdirTemp("/tmp", "pulse-cy")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{IMAP: cmdlinetest.FreePort(t), JMAP: cmdlinetest.FreePort(t), CA: filepath.Join(t.TempDir(), "ca.pem"), dir: dir}
	for _, sub := range []string{"mail", "conf/proc", "conf/lock", "conf/socket", "conf/db"} {
		check(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	cert, caPEM := imaptest.Certificate(t)
	for _, path := range []string{s.CA, filepath.Join(dir, "cert.pem")} { // a client wants one of its own
		check(t, os.WriteFile(path, caPEM, 0o644))
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	check(t, err)
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	check(t, os.WriteFile(filepath.Join(dir, "key.pem"), keyPEM, 0o600))
	s.passwords(t)
	// It does not run as root, and root's directories may be closed to it.
	check(t, os.CopyFS(filepath.Join(dir, "lib"), programs))
	s.configure(t)
	s.own(t)
	s.run(t)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unpacked returns what scripts/get-cyrus has unpacked to usr/lib, as seen from a command's directory.
func unpacked(t testing.TB) fs.FS {
	const root = "../../build/cyrus/usr/lib"
	if _, err := os.Stat(filepath.Join(root, "cyrus/bin/httpd")); err != nil {
		t.Skip("there is no Cyrus IMAP, which scripts/test unpacks (scripts/get-cyrus): a real server of JMAP was not read")
	}
	return os.DirFS(root)
}

// owner returns the account as which Cyrus runs, which is not root.
func owner(t testing.TB) *user.User {
	if os.Getuid() == 0 {
		u, err := user.Lookup("nobody")
		check(t, err)
		return u
	}
	u, err := user.Current()
	check(t, err)
	return u
}

// own gives the server's files to that account.
func (s *Server) own(t testing.TB) {
	check(t, os.Chmod(s.dir, 0o755))
	if os.Getuid() != 0 {
		return
	}
	var uid, gid int
	_, err := fmt.Sscan(owner(t).Uid+" "+owner(t).Gid, &uid, &gid)
	check(t, err)
	check(t, filepath.Walk(s.dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	}))
}

// passwords answers Cyrus's questions about them, in place of saslauthd(8): four strings, each
// after its length, and OK or NO.
func (s *Server) passwords(t testing.TB) {
	path := filepath.Join(s.dir, "mux")
	ln, err := net.Listen("unix", path)
	check(t, err)
	check(t, os.Chmod(path, 0o777))
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			answer := "NO"
			if word(conn) == User && word(conn) == Password {
				answer = "OK"
			}
			conn.Write(append([]byte{0, byte(len(answer))}, answer...))
			conn.Close()
		}
	}()
}

func word(r io.Reader) string {
	var n uint16
	if binary.Read(r, binary.BigEndian, &n) != nil {
		return ""
	}
	b := make([]byte, n)
	_, _ = io.ReadFull(r, b)
	return string(b)
}

func (s *Server) configure(t testing.TB) {
	names := strings.NewReplacer("@DIR@", s.dir, "@IMAP@", s.IMAP, "@JMAP@", s.JMAP,
		"@BIN@", filepath.Join(s.dir, "lib/cyrus/bin"), "@USER@", owner(t).Username)
	check(t, os.WriteFile(filepath.Join(s.dir, "imapd.conf"), []byte(names.Replace(imapdConf)), 0o644))
	check(t, os.WriteFile(filepath.Join(s.dir, "cyrus.conf"), []byte(names.Replace(cyrusConf)), 0o644))
}

const imapdConf = `
configdirectory: @DIR@/conf
partition-default: @DIR@/mail
defaultpartition: default
proc_path: @DIR@/conf/proc
mboxname_lockpath: @DIR@/conf/lock
idlesocket: @DIR@/conf/socket/idle
lmtpsocket: @DIR@/conf/socket/lmtp
cyrus_user: @USER@
servername: localhost
sasl_mech_list: PLAIN LOGIN
sasl_pwcheck_method: saslauthd
sasl_saslauthd_path: @DIR@/mux
failedloginpause: 0
tls_server_cert: @DIR@/cert.pem
tls_server_key: @DIR@/key.pem
httpmodules: jmap
conversations: yes
conversations_db: twoskip
unixhierarchysep: yes
altnamespace: yes
autocreate_quota: 0
search_engine: none
`

const cyrusConf = `
START {
  recover cmd="@BIN@/ctl_cyrusdb -C @DIR@/imapd.conf -r"
}
SERVICES {
  imaps cmd="@BIN@/imapd -C @DIR@/imapd.conf -s" listen="@IMAP@" prefork=0
  https cmd="@BIN@/httpd -C @DIR@/imapd.conf -s" listen="@JMAP@" prefork=0
}
EVENTS {
}
`

// patience is how long Cyrus may take to start, and to end, before it is killed.
const patience = 10 * time.Minute

// run starts Cyrus and returns once it listens. Its master ends its whole process group with
// itself, so it gets one of its own.
func (s *Server) run(t testing.TB) {
	at := func(name string) string { return filepath.Join(s.dir, name) }
	cmd := exec.Command(at("lib/cyrus/bin/master"),
		"-C", at("imapd.conf"), "-M", at("cyrus.conf"), "-p", at("pid"), "-D")
	libs, err := filepath.Glob(at("lib/*-linux-gnu*"))
	check(t, err)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libs, ":"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	check(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(patience, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		cmd.Wait()
		late.Stop()
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.JMAP)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("cyrus did not start: %v", err)
		}
	}
}
