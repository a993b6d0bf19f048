package https

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/secure"
	"pulse/lib/shared/fault"
)

// client returns a client of a server that answers so, and the server's URL.
func client(t *testing.T, change func(*httptest.Server), answer http.HandlerFunc) (*Client, *url.URL) {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	if change != nil {
		change(s)
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &Client{
		Hosts: []string{u.Host}, Authorization: "Bearer secret-of-the-test", RootCAs: secure.Pool(roots),
		Limits: &Limits{Dial: time.Minute, Idle: time.Minute, Whole: time.Minute},
	}, u
}

func ok(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"path":"`+r.URL.Path+`","proto":"`+r.Proto+`"}`)
}

type said struct{ Path, Proto string }

// TestOneHost: no host is reached but those that were named, and none without TLS 1.2 and its
// name proven.
func TestOneHost(t *testing.T) {
	c, u := client(t, func(s *httptest.Server) { s.EnableHTTP2 = true }, ok)
	var got said
	if _, err := c.GetJSON(t.Context(), u.JoinPath("x"), &got); err != nil || got != (said{"/x", "HTTP/1.1"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, other := range []string{"https://localhost:" + u.Port(), "http://" + u.Host, "https://127.0.0.1:1", "https://127.0.0.1", "file:///etc/passwd", "//" + u.Host} {
		v, err := url.Parse(other)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetJSON(t.Context(), v, &got); err == nil {
			t.Errorf("%s was reached", other)
		}
	}
	old, at := client(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	}, ok)
	if _, err := old.GetJSON(t.Context(), at, &got); err == nil || fault.KindOf(err) != fault.Temporary {
		t.Errorf("TLS 1.1: %v", err)
	}
	name, at := client(t, nil, ok)
	at.Host = "localhost:" + at.Port()
	name.Hosts = []string{at.Host}
	if _, err := name.GetJSON(t.Context(), at, &got); err == nil || fault.KindOf(err) != fault.Failed {
		t.Errorf("another name: %v", err)
	}
	name, at = client(t, nil, ok)
	name.RootCAs = &secure.Roots{}
	if _, err := name.GetJSON(t.Context(), at, &got); err == nil || !strings.Contains(fault.HintOf(err), "--tls-ca") {
		t.Errorf("no authority: %v", err)
	}
}

// TestConnected: it is called once, before anything is read; after it only Redial connects.
func TestConnected(t *testing.T) {
	c, u := client(t, func(s *httptest.Server) { s.Config.SetKeepAlivesEnabled(false) }, ok)
	connected, again := 0, 0
	c.Connected = func() error { connected++; return nil }
	c.Redial = func(ctx context.Context, address string) (net.Conn, error) {
		again++
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	var got said
	for range 3 {
		if _, err := c.GetJSON(t.Context(), u, &got); err != nil {
			t.Fatal(err)
		}
	}
	if connected != 1 || again != 2 {
		t.Errorf("connected %d times, again %d times", connected, again)
	}
	stop := errors.New("stop")
	c, u = client(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	c.Connected = func() error { return fault.Temporaryf("", "%w", stop) }
	if _, err := c.GetJSON(t.Context(), u, &got); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// TestDrip: a server that sends a byte now and then is bounded by the time for the whole, and one
// that stops by the time between two bytes.
func TestDrip(t *testing.T) {
	for _, name := range []string{"whole", "idle"} {
		c, u := client(t, nil, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				if name == "idle" {
					<-r.Context().Done()
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
		var err error
		for limit := 300 * time.Millisecond; limit < time.Minute && !errors.Is(err, secure.ErrStalled); limit *= 2 { // as long as a busy machine takes to connect
			if c.Limits = (&Limits{Dial: 10 * time.Minute, Idle: limit, Whole: 10 * time.Minute}); name == "whole" {
				c.Limits.Idle, c.Limits.Whole = c.Limits.Whole, limit
			}
			err = c.Get(t.Context(), u, 1<<10, func(r io.Reader) error {
				_, err := io.Copy(io.Discard, r)
				return err
			})
		}
		if !errors.Is(err, secure.ErrStalled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSlowReader: whoever reads an answer may take its time.
func TestSlowReader(t *testing.T) {
	var err error
	for idle := 500 * time.Millisecond; idle < 20*time.Second; idle *= 2 { // on a machine that is busy the server is slow, too
		c, u := client(t, nil, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) })
		c.Limits = &Limits{Dial: 10 * time.Minute, Idle: idle, Whole: 10 * time.Minute}
		err = c.Get(t.Context(), u, 1<<20, func(r io.Reader) error {
			if _, err := io.CopyN(io.Discard, r, 1); err != nil {
				return err
			}
			time.Sleep(idle * 4 / 3) // this is what is tested
			n, err := io.Copy(io.Discard, r)
			if err == nil && n != 1<<20-1 {
				t.Errorf("%d bytes", n)
			}
			return err
		})
		if err == nil {
			return
		}
	}
	t.Error(err)
}

// TestAddress: a host that a server chose has no words in it, and is dialled as it was checked.
func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"https://A-b.Example":         "a-b.example:443",
		"https://a.example:0443/x":    "a.example:443",
		"https://[2001:DB8::1]:8":     "[2001:db8::1]:8",
		"https://127.0.0.1":           "127.0.0.1:443",
		"https://a.example:":          "a.example:443",
		"https://a.example:99999":     "",
		"https://run%20this;a":        "",
		"https://a,b.example":         "",
		"https://a_b.example":         "",
		"https://$(id).example":       "",
		"https://b\u00fccher.example": "",
		"https://%1b[2J.example":      "",
		"https://[fe80::1%25e%20x]":   "",
		"https://-a.example":          "",
		"https://":                    "",
		"http://a.example":            "",
	} {
		u, err := url.Parse(in)
		got := ""
		if err == nil {
			got, err = Address(u)
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	}
	c, u := client(t, nil, func(w http.ResponseWriter, r *http.Request) { ok(w, r) })
	c.Hosts = []string{"example.com:" + u.Port()} // a name that the server's certificate has
	c.Redial = func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	}
	c.reached = true
	var got said
	if _, err := c.GetJSON(t.Context(), &url.URL{Scheme: "https", Host: "EXAMPLE.com:" + u.Port(), Path: "/x"}, &got); err != nil {
		t.Error(err)
	}
}

func TestAfter(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "999999999": 24 * time.Hour, "99999999999999999999": 0, "x": 0,
		"Fri, 01 Jan 1999 00:00:00 GMT": 0, "Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour,
	} {
		if got := after(in); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}
