package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// A provider takes what it is given as a file of its own, before it answers.
type provider struct {
	dir string
	n   atomic.Int64
}

// keep keeps text under a name that begins with kind.
func (p *provider) keep(kind, text string) error {
	f, err := os.CreateTemp(p.dir, fmt.Sprintf("%s-%03d-*", kind, p.n.Add(1)))
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// provide is the submission service of the mail provider, on port 587, and the model, on port
// 443, inside the machine, until the machine ends.
func provide(dir string) error {
	cert, err := tls.LoadX509KeyPair("/etc/test/cert.pem", "/etc/test/key.pem")
	if err != nil {
		return err
	}
	conf := &tls.Config{Certificates: []tls.Certificate{cert}}
	p := &provider{dir: dir}
	mail := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &submission{provider: p}, nil }))
	mail.Domain, mail.TLSConfig = "smtp.example.com", conf
	submit, err := net.Listen("tcp", "127.0.0.1:587")
	if err != nil {
		return err
	}
	model, err := tls.Listen("tcp", "127.0.0.1:443", conf)
	if err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	ended := make(chan error)
	go func() { ended <- mail.Serve(submit) }()
	go func() { ended <- http.Serve(model, http.HandlerFunc(p.web)) }()
	return <-ended
}

// ready tells systemd that the ports are open.
func ready() error {
	c, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.WriteString(c, "READY=1")
	return err
}

// question is what inside/llm asks.
type question struct {
	UID            int
	System, Prompt string
	Reached        []string
	Key            string // as the header had it
}

// web answers whatever is asked at port 443.
func (p *provider) web(w http.ResponseWriter, r *http.Request) {
	if r.Host != "ntfy.sh" {
		p.model(w, r)
		return
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err := errors.Join(err, p.keep("notice", string(text))); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	_ = p.tell("noticed")
}

// tell writes to a fifo that somebody waits at. It is an error if there is none.
func (p *provider) tell(name string) error {
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n")
	return errors.Join(err, f.Close())
}

// model answers as a model would: to a reader, with an extract; to a worker, with a mail that
// it proposes or, if it has only an extract, with words.
func (p *provider) model(w http.ResponseWriter, r *http.Request) {
	var q question
	err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&q)
	q.Key = r.Header.Get("Authorization")
	text, err2 := json.Marshal(q)
	if err := errors.Join(err, err2, p.keep("model", string(text))); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	switch {
	case strings.Contains(q.System, "JSON Schema"):
		_, _ = fmt.Fprint(w, `{"request":"appointment","question":"May we meet on Friday?"}`)
	case strings.Contains(q.Prompt+q.System, `"extract":{`):
		_, _ = fmt.Fprint(w, "A friend asks for an appointment.")
	default:
		_, _ = fmt.Fprint(w, `{"action":"external_send","target":["friend@example.org"],"args":{"subject":"Hello","text":"From the agent."}}`)
	}
}

// submission is a session of somebody who has the password.
type submission struct {
	*provider
	known    bool
	envelope []string
}

func (s *submission) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *submission) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		s.known = user == owner && pass == sendingPassword
		if !s.known {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (s *submission) Mail(from string, _ *smtp.MailOptions) error {
	if !s.known {
		return smtp.ErrAuthRequired
	}
	s.envelope = []string{"from " + from}
	return nil
}

func (s *submission) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.envelope = append(s.envelope, "to "+to)
	return nil
}

// Data says yes after the mail was kept, and never if there is a file "silent".
func (s *submission) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.keep("mail", strings.Join(s.envelope, "\n")+"\n\n"+string(b)); err != nil {
		return err
	}
	if s.tell("silent") == nil { // the test knows that the mail was taken, and the sender waits
		select {}
	}
	return nil
}

func (s *submission) Reset()        {}
func (s *submission) Logout() error { return nil }
