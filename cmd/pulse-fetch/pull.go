package main

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/fetch/gmail"
	"pulse/lib/fetch/https"
	"pulse/lib/fetch/jmap"
	"pulse/lib/fetch/mailbox"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

// testOnlyGmail is where the Gmail API is in tests.
var testOnlyGmail *url.URL

// openJMAP prepares a mailbox that is read over JMAP; it does not connect.
func openJMAP(ctx context.Context, c *cli.Context, rest string, window int64, n *notes) (source.Source, error) {
	a, err := jmap.ParseAddress(rest)
	if err != nil {
		return nil, err
	}
	s, err := openPull(ctx, c, a.String(), a.User, n)
	if err != nil {
		return nil, err
	}
	s.Client.Posts = jmap.Posts
	if s.Client.Hosts, err = hosts(a.Host, c.String("hosts")); err != nil {
		return nil, err
	}
	s.Box = &jmap.Box{Address: a, Client: s.Client, Reader: source.NewReader(window)}
	return s, nil
}

// openGmail prepares a mailbox that is read over the Gmail API; it does not connect.
func openGmail(ctx context.Context, c *cli.Context, rest string, window int64, n *notes) (source.Source, error) {
	a, err := gmail.ParseAddress(rest)
	if err != nil {
		return nil, err
	}
	if mailbox.Auth(c.String("auth")) == "plain" {
		return nil, fault.Usagef("leave it out, and give a token", "--auth plain: Google takes no password here")
	}
	s, err := openPull(ctx, c, a.String(), a.User, n)
	if err != nil {
		return nil, err
	}
	box := &gmail.Box{
		Address: a, Client: s.Client, Reader: source.NewReader(window), API: a.API(),
		Headers: window == 0,
	}
	s.Client.Hosts, s.Box = []string{gmail.Host}, box
	if testOnlyGmail != nil {
		box.API = testOnlyGmail.JoinPath(a.API().Path)
		s.Client.Hosts = []string{testOnlyGmail.Host}
	}
	return s, nil
}

// openPull prepares what the two have in common.
func openPull(ctx context.Context, c *cli.Context, name, user string, n *notes) (*pull.Mailbox, error) {
	if err := notIMAP(c); err != nil {
		return nil, err
	}
	s := &pull.Mailbox{Name: name, Client: &https.Client{}}
	var err error
	if s.Client.RootCAs, err = authorities(c.String("tls-ca")); err != nil {
		return nil, err
	}
	if s.From, err = start(c, name, n); err != nil {
		return nil, err
	}
	s.Client.Authorization, err = authorization(ctx, c, user)
	return s, err
}

// authorization returns the header field that proves who asks: by a token (RFC 6750), or by user
// and password (RFC 7617).
func authorization(ctx context.Context, c *cli.Context, user string) (string, error) {
	auth := mailbox.Auth(c.String("auth"))
	if !slices.Contains([]mailbox.Auth{"", "plain", "oauthbearer"}, auth) {
		return "", fault.Usagef("leave it out for a token; --auth plain is for a password",
			"--auth %s: that is for imaps://", auth)
	}
	secret, err := password(ctx, c)
	if err != nil {
		return "", err
	}
	if auth == "plain" {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret)), nil
	}
	if err := mailbox.Auth("oauthbearer").Check(secret); err != nil {
		return "", fault.Usagef(fault.HintOf(err)+"; --auth plain is for a password", "that is not a token")
	}
	return "Bearer " + secret, nil
}

// hosts returns the hosts that may be reached, the first one first.
func hosts(first, others string) ([]string, error) {
	list := []string{first}
	if others == "" {
		return list, nil
	}
	for _, name := range strings.Split(others, ",") {
		u, err := url.Parse("https://" + name)
		if err == nil && u.Path+u.RawQuery+u.Fragment == "" && u.User == nil {
			if address, err := https.Address(u); err == nil {
				list = append(list, address)
				continue
			}
		}
		return nil, fault.Usagef("--hosts blobs.example.com,api.example.com:8443", "--hosts: want names of hosts")
	}
	return list, nil
}
