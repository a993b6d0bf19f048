package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pulse/lib/authorize/layout"
	out "pulse/lib/queue/way"
	"pulse/lib/shared/escape"
)

// Bounds of one way: until its host has proven its name, and until a host without TLS has said
// something or closed the connection.
const (
	maxHandshake = 20 * time.Second
	maxGreeting  = 5 * time.Second
)

var (
	errClosed = errors.New("the connection is closed at once")
	errSilent = errors.New("no server of mail says anything there")
)

// ways goes through the sockets that accounts have to the hosts behind them.
func (l *live) ways() {
	files, _ := filepath.Glob(filepath.Join(l.at.Dir, "out-*")) // the pattern is good
	if len(files) == 0 {
		l.none("way", "there is no %s", filepath.Join(l.at.Dir, "out-ACCOUNT"))
	}
	dir := filepath.Join(l.place.Data, "out")
	if l.place.Dir == layout.System {
		dir = "/run/pulse-out"
	}
	for _, file := range files {
		_, account, _ := strings.Cut(filepath.Base(file), "-")
		values, err := layout.Variables(file)
		if err != nil {
			l.bad("way", "ls -l "+escape.Shell(file), "%v", err)
			continue
		}
		socket, to := filepath.Join(dir, account), values["TO"]
		said, err := reach(l.c.Context, socket, to, strings.Contains(values["WAY_FLAGS"], "--plain"))
		if err != nil {
			l.bad("way", wayHint(err, file, account, to), "%s does not lead to %s: %v", socket, to, err)
			continue
		}
		l.ok("way", "%s leads to %s%s", socket, to, said)
	}
}

// reach goes through a socket to the host behind it, which has to prove its name; a server of mail
// has to say something, and what else speaks no TLS must not close the connection.
func reach(ctx context.Context, socket, to string, plain bool) (said string, err error) {
	w, err := out.To(to, plain)
	if err != nil {
		return "", fmt.Errorf("TO: %w", err)
	}
	host, _, _ := net.SplitHostPort(to)
	ctx, cancel := context.WithTimeout(ctx, maxHandshake)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if w.Plain() {
		return greeting(conn, plain)
	}
	err = tls.Client(conn, &tls.Config{ServerName: host}).HandshakeContext(ctx)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET):
		err = errors.New("the connection is closed in the middle of TLS")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer to TLS within %s", maxHandshake)
	}
	return "", err
}

// greeting waits for the first byte of a server that begins without TLS.
func greeting(conn net.Conn, quiet bool) (said string, err error) {
	_ = conn.SetReadDeadline(time.Now().Add(maxGreeting))
	n, err := conn.Read(make([]byte, 1))
	switch {
	case n > 0:
		return "", nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return "", errClosed
	case !quiet:
		return "", errSilent
	}
	return ", which speaks no TLS, and was asked nothing", nil
}

// wayHint is what to type about a way that does not lead to its host.
func wayHint(err error, file, account, to string) string {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	see := "see what answers: openssl s_client -connect " + escape.Shell(to)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "sudo pulse-authorize check --live"
	case errors.As(err, &cert):
		return see + "\nTO in " + escape.Shell(file) + " has to be a name of its certificate"
	case errors.As(err, &record):
		return see + "\nWAY_FLAGS=\"--plain\" in " + escape.Shell(file) + ", if it is to speak no TLS"
	}
	return "systemctl status 'pulse-out@" + account + "*'; or a minute of cron\n" + see
}
