package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"strings"
	"time"
)

// route says how a probe is submitted from inside.
type route struct {
	login, passwordFile string // empty: without a login
	host, port          string
	tls                 bool // from the first byte
}

// submit submits a probe to the server itself, as one of its users or as a program on the
// same machine.
func submit(args []string, stdout io.Writer) error {
	p, r, server := probe{inside: true}, route{}, ""
	err := flags(args, func(set *flag.FlagSet) {
		p.define(set)
		set.StringVar(&server, "server", "", "")
		set.StringVar(&r.login, "login", "", "")
		set.StringVar(&r.passwordFile, "password-file", "", "")
	})
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, errUsage)
		return nil
	}
	if err == nil {
		err = p.begin()
	}
	if err == nil {
		err = r.parse(server)
	}
	if err != nil {
		return err
	}
	err = r.send(&p)
	if refused := (*textproto.Error)(nil); errors.As(err, &refused) && refused.Code >= 500 {
		_, err = fmt.Fprintf(stdout, "refused: %s\ntrusted: the server does not take such mail on this route\n", show(refused.Error()))
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(stdout, "taken; now: pulse-fetch --limit 20 SOURCE | scripts/probe-receiver check --nonce %s\n", p.nonce)
	}
	return err
}

// parse reads smtp://HOST[:PORT] or smtps://HOST[:PORT].
func (r *route) parse(server string) error {
	scheme, address, _ := strings.Cut(server, "://")
	port := map[string]string{"smtp": "587", "smtps": "465"}[scheme]
	if r.login == "" && scheme == "smtp" {
		port = "25"
	}
	host, given, err := net.SplitHostPort(address)
	if err != nil {
		host, given = strings.Trim(address, "[]"), port
	}
	r.host, r.port, r.tls = host, given, scheme == "smtps"
	switch {
	case port == "" || host == "" || strings.ContainsAny(host, "/@"):
		return fmt.Errorf("--server: %s: want smtp://HOST[:PORT] or smtps://HOST[:PORT]; %w", server, errUsage)
	case (r.login == "") != (r.passwordFile == ""):
		return fmt.Errorf("--login and --password-file go together; %w", errUsage)
	}
	return nil
}

// send submits the probe. net/smtp sends no password without TLS, except to this machine.
func (r *route) send(p *probe) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(r.host, r.port), time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	settings := &tls.Config{ServerName: r.host}
	if r.tls {
		conn = tls.Client(conn, settings)
	}
	c, err := smtp.NewClient(conn, r.host)
	if err != nil {
		return err
	}
	if ok, _ := c.Extension("STARTTLS"); ok && !r.tls && !loopback(r.host) {
		if err := c.StartTLS(settings); err != nil {
			return err
		}
	}
	if err := r.authenticate(c); err != nil {
		return err
	}
	if err := errors.Join(c.Mail(p.sender()), c.Rcpt(p.to)); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, strings.ReplaceAll(p.message(time.Now()), "\n", "\r\n")); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func (r *route) authenticate(c *smtp.Client) error {
	if r.login == "" {
		return nil
	}
	info, err := os.Stat(r.passwordFile)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: others may read it (mode %04o)", r.passwordFile, info.Mode().Perm())
	}
	password, err := os.ReadFile(r.passwordFile)
	if err != nil {
		return err
	}
	if err := c.Auth(smtp.PlainAuth("", r.login, strings.TrimRight(string(password), "\r\n"), r.host)); err != nil {
		return fmt.Errorf("login as %s: %s", r.login, err.Error()) // no textproto.Error: a wrong password shows nothing
	}
	return nil
}
