package webhook

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/envelope"
)

// The examples that the platforms publish. For Discord there is none, so the pair of keys is
// that of TEST 2 in RFC 8032, 7.1.
const (
	githubSecret    = "It's a Secret to Everybody"
	githubBody      = "Hello, World!"
	githubSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

	slackSecret = "8f742231b10e8888abcd99yyyzzz85a5"
	slackTime   = 1531420618
	slackBody   = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
		"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
		"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	slackSignature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"

	telegramToken = "a-token_of_Telegram-0123456789"

	discordSeed = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
	discordKey  = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
)

func discordSigned(content string) string {
	seed, _ := hex.DecodeString(discordSeed)
	return hex.EncodeToString(ed25519.Sign(ed25519.NewKeyFromSeed(seed), []byte(content)))
}

// signedBy returns the header of a body of the platform, made at that time.
func signedBy(p *platform, at int64, body string) string {
	ts := fmt.Sprint(at)
	var signature string
	switch p.word {
	case envelope.WebhookGitHub:
		signature = "sha256=" + hex.EncodeToString(sum([]byte(githubSecret), body))
	case envelope.WebhookSlack:
		signature = "v0=" + hex.EncodeToString(sum([]byte(slackSecret), "v0:"+ts+":"+body))
	case envelope.WebhookTelegram:
		signature = telegramToken
	case envelope.WebhookDiscord:
		signature = discordSigned(ts + body)
	}
	head := p.signature + ": " + signature + "\r\n"
	if p.timestamp != "" {
		head += p.timestamp + ": " + ts + "\r\n"
	}
	return head
}

// lineOf returns the line of secrets of a platform.
func lineOf(p *platform) string {
	return string(p.word) + " " + map[envelope.WebhookScheme]string{
		envelope.WebhookGitHub: githubSecret, envelope.WebhookSlack: slackSecret,
		envelope.WebhookTelegram: telegramToken, envelope.WebhookDiscord: discordKey,
	}[p.word]
}

// TestVectors: the published examples.
func TestVectors(t *testing.T) {
	const pass, fail, late = envelope.WebhookPass, envelope.WebhookFail, envelope.WebhookLate
	slack := func(ts, signature, body string) string {
		return "X-Slack-Request-Timestamp: " + ts + "\nX-Slack-Signature: " + signature + "\n\n" + body
	}
	for _, c := range []struct {
		name, secret, request string
		came                  int64
		want                  envelope.WebhookResult
	}{
		{"GitHub", "github " + githubSecret, "X-Hub-Signature-256: " + githubSignature + "\n\n" + githubBody, 0, pass},
		{"GitHub, a newline more", "github " + githubSecret, "X-Hub-Signature-256: " + githubSignature + "\n\n" + githubBody + "\n", 0, fail},
		{"GitHub, no prefix", "github " + githubSecret, "X-Hub-Signature-256: " + githubSignature[7:] + "\n\n" + githubBody, 0, fail},
		{"GitHub, half of it", "github " + githubSecret, "X-Hub-Signature-256: " + githubSignature[:40] + "\n\n" + githubBody, 0, fail},
		{"GitHub, SHA-1", "github " + githubSecret, "X-Hub-Signature: sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59\n\n" + githubBody, 0, envelope.WebhookNone},
		{"Slack", "slack " + slackSecret, slack("1531420618", slackSignature, slackBody), slackTime, pass},
		{"Slack, five minutes late", "slack " + slackSecret, slack("1531420618", slackSignature, slackBody), slackTime + 300, pass},
		{"Slack, a second more", "slack " + slackSecret, slack("1531420618", slackSignature, slackBody), slackTime + 301, late},
		{"Slack, too early", "slack " + slackSecret, slack("1531420618", slackSignature, slackBody), slackTime - 301, late},
		{"Slack, another time", "slack " + slackSecret, slack("1531420619", slackSignature, slackBody), slackTime, fail},
		{"Slack, no time", "slack " + slackSecret, "X-Slack-Signature: " + slackSignature + "\n\n" + slackBody, slackTime, envelope.WebhookMalformed},
		{"Slack, a time with a sign", "slack " + slackSecret, slack("+1531420618", slackSignature, slackBody), slackTime, envelope.WebhookMalformed},
		{"Slack, v1", "slack " + slackSecret, slack("1531420618", "v1"+slackSignature[2:], slackBody), slackTime, fail},
	} {
		w := Read([]byte(c.request)).Verify(keys(t, c.secret), time.Unix(c.came, 999))
		if w.Result != c.want || (w.Why == "") != (w.Result == pass || w.Result == envelope.WebhookNone) {
			t.Errorf("%s: %+v, want %s", c.name, w, c.want)
		}
	}
	for _, c := range []struct{ key, message, signature string }{ // RFC 8032, 7.1, TEST 1 to 3
		{"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "", "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
		{discordKey, "\x72", "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
		{"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "\xaf\x82", "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
	} {
		p, line := platformOf("discord " + c.key)
		key, ok := p.key(line)
		if !ok || !p.good(key, c.signature, "", c.message) || p.good(key, c.signature, "", c.message+"x") {
			t.Errorf("Ed25519 of %q", c.message)
		}
	}
}

// TestPlatformsAreApart: a request proves something under the secrets of its own platform, and
// nothing under any other, although it bears good signatures of all of them.
func TestPlatformsAreApart(t *testing.T) {
	const body, at = `{"type":1}`, 1531420618
	everything := "X-Pulse-Signature: " + plainSignature(body) + "\r\n"
	for i := range platforms {
		everything += signedBy(&platforms[i], at, body)
	}
	for i := range platforms {
		p := &platforms[i]
		all := Read([]byte(everything+"\r\n"+body)).Verify(keys(t, lineOf(p)), time.Unix(at, 0))
		if all.Result != envelope.WebhookPass || all.Scheme != p.word {
			t.Errorf("%s: %+v", p.word, all)
		}
		for j := range platforms {
			others := strings.ReplaceAll(everything, signedBy(&platforms[j], at, body), "")
			want := envelope.WebhookPass
			if i == j {
				want = envelope.WebhookNone
			}
			if w := Read([]byte(others+"\r\n"+body)).Verify(keys(t, lineOf(p)), time.Unix(at, 0)); w.Result != want {
				t.Errorf("%s, without that of %s: %+v, want %s", p.word, platforms[j].word, w, want)
			}
		}
		for _, head := range []string{everything + p.signature + ": x\r\n", p.signature + ":\r\n" + everything} {
			if w := Read([]byte(head+"\r\n"+body)).Verify(keys(t, lineOf(p)), time.Unix(at, 0)); w.Result != envelope.WebhookMalformed {
				t.Errorf("%s, twice: %+v", p.word, w)
			}
		}
		if w := Read([]byte(signedBy(p, at, body)+"\r\n"+body)).Verify(keys(t, specSecret, plainSecret), time.Unix(at, 0)); w.Result != envelope.WebhookNone {
			t.Errorf("%s without its secret: %+v", p.word, w)
		}
	}
}

func TestPlatformKeys(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"two of one, for a rotation", "slack " + slackSecret + "\nslack " + strings.Repeat("x", 32), ""},
		{"of two platforms", "slack " + slackSecret + "\ngithub " + githubSecret, "line 2: it is of github, and the lines before it are of slack"},
		{"beside another", "slack " + slackSecret + "\n" + plainSecret, "it holds secrets of slack and others"},
		{"the other way round", specSecret + "\ndiscord " + discordKey, "it holds secrets of discord and others"},
		{"in capitals", "Slack " + slackSecret, "line 1: want 24 to 256"},
		{"unknown", "matrix " + slackSecret, "line 1: want 24 to 256"},
		{"no blank", "slack" + slackSecret, ""}, // one of X-Pulse-Signature
		{"short", "github hunter2", "line 1: github: want 24 to 256"},
		{"blanks around it", "github  " + githubSecret, "line 1: github: want 24 to 256"},
		{"a tab", "github\t" + githubSecret, "line 1: want 24 to 256"},
		{"a token with a dot", "telegram " + telegramToken + ".", "line 1: telegram: want 24 to 256 letters"},
		{"the longest token", "telegram " + strings.Repeat("x", 256), ""},
		{"a byte more", "telegram " + strings.Repeat("x", 257), "line 1: telegram: want"},
		{"half a key", "discord " + discordKey[:32], "line 1: discord: want 64 hexadecimal digits"},
		{"no key", "discord " + strings.Repeat("x", 64), "line 1: discord: want 64 hexadecimal digits"},
	} {
		_, err := ParseKeys([]byte(c.file))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), slackSecret[:8])) {
			t.Errorf("%s: the error shows a secret: %v", c.name, err)
		}
	}
}
