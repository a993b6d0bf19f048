package address

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What an effect is sent to is an address, or SCHEME:VALUE, or a name that only its sender
// knows. pulse-policy(5) has the table of forms. Each target has one form, and a spelling that
// the table does not name is refused and not mended, because a sender might read it otherwise.

// ErrForm reports a target that begins with a known scheme and is not in its form.
var ErrForm = errors.New("not in the form of a target")

// ErrName reports a target that is no address and has no known scheme. It is nothing but its
// bytes.
var ErrName = errors.New("neither a plain address nor one of " + strings.Join(schemeNames(), ", "))

// maxTarget bounds a target, in bytes: an SMTP path (RFC 5321 §4.5.3.1.3) is no longer.
const maxTarget = 254

// Telegram is the scheme that a bare number can stand for: its ids are numbers.
const Telegram = "telegram"

// scheme is a kind of targets.
type scheme struct {
	name string
	form func(value string) (canonical string, ok bool)
	want string // the form, for people
}

// schemes are the kinds of targets besides addresses.
var schemes = [...]scheme{
	{"tel", telephone, "tel:+ and 7 to 15 digits, the country code first; - . ( ) between them count for nothing"},
	{Telegram, telegram, "telegram: and the id of a chat, a whole number other than 0, such as telegram:-100123"},
	{"slack", slack, "slack: and the id of a channel or member in capitals, such as slack:C024BE7LH: names can be given to others"},
	{"matrix", matrix, "matrix:@user:server or matrix:!room:server in the letters that Matrix has: an #alias can be given to others"},
	{"https", https, "https://host/path in lower case up to the path, without user, :443, query, fragment, % and empty or dotted parts"},
}

func schemeNames() (list []string) {
	for i := range schemes {
		list = append(list, schemes[i].name+":")
	}
	return list
}

// schemeOf returns the scheme that a target begins with, in any case and after any blanks, or
// nil. value is what follows its colon.
func schemeOf(target string) (s *scheme, value string) {
	name, value, found := strings.Cut(target, ":")
	name = Fold(strings.TrimSpace(name))
	for i := range schemes {
		if found && schemes[i].name == name {
			return &schemes[i], value
		}
	}
	return nil, ""
}

// Target returns the form of a target by which it is compared: two spellings of one target
// have the same, and two targets never. numbers is the scheme of a bare number; empty: it is
// only a name. The error is ErrForm, or ErrName where the target is compared as it is.
func Target(target, numbers string) (string, error) {
	if numbers != "" && isNumber(strings.TrimSpace(target)) {
		target = numbers + ":" + target
	}
	s, value := schemeOf(target)
	if s == nil {
		if _, _, err := Split(target); err != nil {
			return "", ErrName
		}
		return Fold(target), nil
	}
	canonical, ok := s.form(value)
	// A blank before the colon would be part of the name.
	if !ok || len(target) > maxTarget || Fold(target[:len(s.name)]) != s.name {
		return "", fmt.Errorf("%w: want %s", ErrForm, s.want)
	}
	return s.name + ":" + canonical, nil
}

// Spell returns a target as it is kept: in its form, except that an address stays as it is
// written. The errors are those of Target.
func Spell(target, numbers string) (string, error) {
	form, err := Target(target, numbers)
	if s, _ := schemeOf(form); s == nil {
		return target, err
	}
	return form, err
}

// Entry returns the form of an entry of a list of targets that is no address and no @domain.
func Entry(entry, numbers string) (string, error) {
	below, any := strings.CutSuffix(entry, "/*")
	if s, _ := schemeOf(entry); any && s != nil && s.name == "https" {
		canonical, err := Target(below+"/", numbers)
		return canonical + "*", err
	}
	return Spell(entry, numbers)
}

// Lets reports whether an entry of a list of targets lets a target through. Both are in the
// form of Entry and Target, or an address, or @domain.
func Lets(entry, target string) bool {
	if below, any := strings.CutSuffix(entry, "/*"); any {
		return len(target) > len(below)+1 && strings.HasPrefix(target, below+"/")
	}
	if s, _ := schemeOf(target); s != nil {
		return entry == target
	}
	return Listed([]string{entry}, target)
}

// Below reports whether an entry stands for more than one target, and returns one of them that
// ends in name, which stands for itself in any form.
func Below(entry, name string) (target string, more bool) {
	if strings.HasPrefix(entry, "@") {
		return name + entry, true
	}
	if below, any := strings.CutSuffix(entry, "*"); any {
		return below + name, true
	}
	return entry, false
}

// isNumber reports whether s is digits after at most one sign.
func isNumber(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// telephone reads a global number (RFC 3966 §5.1.4), of as many digits as E.164 lets it have. A
// zero in parentheses is what people write and nobody dials from abroad.
func telephone(value string) (string, bool) {
	digits, plus := strings.CutPrefix(value, "+")
	plus = plus && !strings.Contains(digits, "(0)")
	digits = strings.NewReplacer("-", "", ".", "", "(", "", ")", "").Replace(digits)
	ok := plus && len(digits) >= 7 && len(digits) <= 15 && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
	return "+" + digits, ok
}

// telegram reads the id of a chat: a user's is above 0, a group's below.
func telegram(value string) (string, bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	return value, err == nil && n != 0 && strconv.FormatInt(n, 10) == value
}

// slack reads the id of a channel, a direct message, a group or a member.
func slack(value string) (string, bool) {
	return value, len(value) >= 3 && strings.IndexByte("CDGUW", value[0]) >= 0 &&
		strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

const lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"

// matrix reads the id of a user, or of a room. Ids are compared by their bytes, so what a
// server could write in two ways is refused: a capital in the name of a user or of a server.
// The id of a room in version 12 has no server.
func matrix(value string) (string, bool) {
	if value == "" {
		return "", false
	}
	name, server, hasServer := strings.Cut(value[1:], ":")
	host, port, hasPort := strings.Cut(server, ":")
	ok := name != "" && (!hasServer || Domain(host) && Fold(host) == host && (!hasPort || isPort(port)))
	switch value[0] {
	case '@':
		return value, ok && hasServer && strings.Trim(name, lowerDigits+"._=-/+") == ""
	case '!':
		return value, ok && strings.Trim(name, lowerDigits+"ABCDEFGHIJKLMNOPQRSTUVWXYZ._~-") == ""
	}
	return "", false
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// https reads a URL of which every byte is what it stands for: no percent sign, and no part of
// the path that a server would drop.
func https(value string) (string, bool) {
	rest, slashes := strings.CutPrefix(value, "//")
	authority, path, hasPath := strings.Cut(rest, "/")
	host, port, hasPort := strings.Cut(authority, ":")
	host = Fold(host)
	if !slashes || !hasPath || !Domain(host) || hasPort && (!isPort(port) || port == "443") {
		return "", false
	}
	// A last label that is a number makes an address of the host, which has many spellings; and
	// a host without a dot is whatever the resolver adds to it.
	top := host[strings.LastIndexByte(host, '.')+1:]
	if len(top) == len(host) || top[0] < 'a' || top[0] > 'z' {
		return "", false
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		if part == "" && !last || part == "." || part == ".." ||
			strings.Trim(part, lowerDigits+"ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~+=:") != "" {
			return "", false
		}
	}
	if hasPort {
		host += ":" + port
	}
	return "//" + host + "/" + path, true
}
