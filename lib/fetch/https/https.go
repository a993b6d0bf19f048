// Package https asks a server over HTTPS (RFC 9110, RFC 9112) on behalf of someone who has a
// token for it.
//
// Invariant: only the hosts that were named are reached, over TLS 1.2 or later; no redirect
// leads to another one. Only what Posts allows is sent besides GET. What an answer may cost is
// bounded: its header, its bytes, the time between two of them and the time in all. No error
// repeats the token, nor any words of the server. Caveat: it speaks HTTP/1.1, one request after
// the other.
package https

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pulse/lib/fetch/secure"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

const (
	maxHeader    = 64 << 10
	maxRedirects = 3
	maxJSON      = 2 << 20  // bytes of an answer that is decoded
	maxWords     = 16 << 10 // bytes that are read of an answer that is an error
)

// Limits bound how long a server may take.
type Limits struct {
	Dial  time.Duration // connecting and the TLS handshake, together
	Idle  time.Duration // without a byte
	Whole time.Duration // for one request, besides a second for each 16 KiB that it may answer
}

var defaultLimits = Limits{Dial: 30 * time.Second, Idle: 30 * time.Second, Whole: time.Minute}

const pace = 16 << 10 // bytes a second

// Client sends requests to a few hosts. Its fields are set before the first one.
type Client struct {
	Hosts         []string      // host:port that may be reached
	Authorization string        // the header field's value, never shown
	RootCAs       *secure.Roots // nil for those of the system

	// Posts says whether a body may be sent. If it is nil, nothing but GET is sent.
	Posts func(body []byte) error

	// Connected is called once there is a connection, before anything is read from it.
	// Its error ends the run. It may be nil.
	Connected func() error

	// Redial connects to a host again in the same run. If it is nil, Client connects as it did
	// the first time.
	Redial func(ctx context.Context, address string) (net.Conn, error)

	Limits *Limits // nil for the usual ones

	once    sync.Once
	client  *http.Client
	mu      sync.Mutex // guards reached
	reached bool
}

func (c *Client) limits() Limits {
	if c.Limits != nil {
		return *c.Limits
	}
	return defaultLimits
}

// hostname matches a name, and an IPv4 address. It begins with no hyphen, as no flag may.
var hostname = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$`)

// Address returns the host and port that a URL leads to, if that is a URL that Client takes. A
// server may have chosen it, and it is shown: it consists of a name or an IP address, and a number.
func Address(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		port = "443"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	ip, notIP := netip.ParseAddr(u.Hostname())
	named := hostname().MatchString(u.Hostname()) || notIP == nil && ip.Zone() == ""
	if u.Scheme != "https" || u.Opaque != "" || !named || err != nil {
		return "", errors.New("not an https URL")
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), strconv.FormatUint(n, 10)), nil
}

// Status reports an answer that is not 200.
type Status struct {
	Code  int
	After time.Duration // how long the server wants us to wait, 0 if it does not say
	Body  []byte        // the beginning; the server's words, not to be shown
}

func (s *Status) Error() string {
	return "the server answers " + http.StatusText(s.Code) + " (" + strconv.Itoa(s.Code) + ")"
}

// Broken reports an answer that can't be what was asked for.
type Broken string

func (b Broken) Error() string { return "the server breaks the protocol: " + string(b) }

// GetJSON decodes the answer to GET, and follows redirects that stay on the host.
func (c *Client) GetJSON(ctx context.Context, u *url.URL, into any) (*url.URL, error) {
	for range maxRedirects + 1 {
		body, next, err := c.send(ctx, http.MethodGet, u, nil, maxJSON)
		var status *Status
		if errors.As(err, &status) && status.Code/100 == 3 {
			return nil, fault.Failedf("use the URL that it redirects to, if you trust that",
				"the server redirects to another host")
		}
		if err != nil {
			return nil, err
		}
		if next == nil {
			return u, decode(body, into)
		}
		u = next
	}
	return nil, Broken("redirects without end")
}

// PostJSON sends a body, which Posts must allow, and decodes the answer.
func (c *Client) PostJSON(ctx context.Context, u *url.URL, body []byte, into any) error {
	if c.Posts == nil {
		return errors.New("a request that pulse-fetch must not send (this is a bug)")
	}
	if err := c.Posts(body); err != nil {
		return err
	}
	r, next, err := c.send(ctx, http.MethodPost, u, body, maxJSON)
	if err == nil && next != nil {
		err = Broken("a redirect in place of an answer")
	}
	if err != nil {
		return err
	}
	return decode(r, into)
}

// Get hands the answer to use. An answer of more than most bytes is an error, unless use has
// read enough before.
func (c *Client) Get(ctx context.Context, u *url.URL, most int64, use func(io.Reader) error) error {
	body, next, err := c.send(ctx, http.MethodGet, u, nil, most)
	if err != nil {
		return err
	}
	defer body.Close()
	if next != nil {
		return Broken("a redirect in place of an answer")
	}
	return use(body)
}

// decode reads one JSON value, and nothing after it.
func decode(body *answer, into any) error {
	defer body.Close()
	if body.kind != "application/json" {
		return Broken("an answer that is not JSON")
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return Broken("JSON that can't be read") // the error repeats the server's words
	}
	return nil
}

// send sends a request. It returns where a redirect leads if that is on the same host.
func (c *Client) send(
	ctx context.Context, method string, u *url.URL, body []byte, most int64,
) (a *answer, next *url.URL, err error) {
	address, err := Address(u)
	if err != nil || !slices.Contains(c.Hosts, address) {
		return nil, nil, Broken("a URL that leads to another host")
	}
	to := *u
	to.Host = strings.TrimSuffix(address, ":443") // as dial will be asked for it
	l := c.limits()
	within, cancel := context.WithTimeout(ctx, l.Whole+time.Duration(most/pace)*time.Second)
	req, err := http.NewRequestWithContext(within, method, to.String(), bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, nil, Broken("a URL that can't be read")
	}
	c.header(req, body)
	c.once.Do(c.start)
	resp, err := c.client.Do(req)
	if err != nil {
		cancel()
		return nil, nil, plain(ctx, err)
	}
	a = newAnswer(ctx, resp, cancel, most, l.Idle)
	if resp.StatusCode == http.StatusOK {
		return a, nil, nil
	}
	defer a.Close()
	if next := redirect(u, resp); next != nil && method == http.MethodGet {
		return a, next, nil
	}
	words, _ := io.ReadAll(io.LimitReader(a, maxWords))
	return nil, nil, &Status{resp.StatusCode, after(resp.Header.Get("Retry-After")), words}
}

// redirect returns where an answer redirects, nil if it does not or if that is another host.
func redirect(from *url.URL, resp *http.Response) *url.URL {
	field := resp.Header.Get("Location")
	if resp.StatusCode/100 != 3 || field == "" {
		return nil
	}
	to, err := from.Parse(field)
	if err != nil {
		return nil
	}
	to.User, to.Fragment = nil, ""
	here, _ := Address(from) // send has checked it
	if there, err := Address(to); err != nil || there != here {
		return nil
	}
	return to
}

func (c *Client) header(req *http.Request, body []byte) {
	req.Header.Set("Authorization", c.Authorization)
	req.Header.Set("Accept", "application/json, message/rfc822;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "pulse-fetch")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header["Idempotency-Key"] = nil // not sent: it lets a request go over a new connection
	}
}

func (c *Client) start() {
	c.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialTLSContext:         c.dial,
			DialContext:            noTLS,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeader,
			ResponseHeaderTimeout:  c.limits().Idle,
			MaxConnsPerHost:        2,
		},
	}
}

// noTLS stands for connections without TLS, of which there are none.
func noTLS(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("a connection without TLS (this is a bug)")
}

// Close ends all connections.
func (c *Client) Close() {
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
}

// mediaType returns the type of an answer without its parameters, empty if it has none.
func mediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}
