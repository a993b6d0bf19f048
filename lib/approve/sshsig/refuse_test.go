package sshsig

import (
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"pulse/lib/approve/sshsig/sshsigtest"
)

// armored writes a signature as ssh-keygen does.
func armored(blob []byte) string {
	text := base64.StdEncoding.EncodeToString(blob)
	var b strings.Builder
	b.WriteString(armorBegin)
	for ; len(text) > 70; text = text[70:] {
		b.WriteString(text[:70] + "\n")
	}
	return b.String() + text + "\n" + armorEnd
}

// TestRefuse: what can't be good is refused although there is no ssh-keygen, and what may
// be good is not.
func TestRefuse(t *testing.T) {
	k := newKeys(t)
	mine, other := k.make("id", "-t", "ed25519"), k.make("other", "-t", "ed25519")
	armor, foreign := k.sign("id", message), k.sign("other", message)
	k.signers.Tool = k.path("none")
	f, _, err := decode(armor)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(f *frame)) string {
		c := *f
		change(&c)
		return armored(append([]byte(magic), ssh.Marshal(c)...))
	}
	k.write("allowed_signers", "me@example.com "+mine+"\n")
	for name, c := range map[string]struct {
		armor, message string
		is             error
	}{
		"good":            {armor, message, nil},
		"written again":   {with(func(*frame) {}), message, nil},
		"other bytes":     {armor, message + "\n", ErrBad},
		"not listed":      {foreign, message, ErrUnknown},
		"a flipped bit":   {flip(armor), message, ErrBad},
		"other namespace": {with(func(f *frame) { f.Namespace = "file" }), message, ErrBad},
		"other hash":      {with(func(f *frame) { f.Hash = "md5" }), message, ErrBad},
		"sha256 now":      {with(func(f *frame) { f.Hash = "sha256" }), message, ErrBad},
		"later version":   {with(func(f *frame) { f.Version = 2 }), message, ErrBad},
		"key of nothing":  {with(func(f *frame) { f.Key = nil }), message, ErrUnknown},
	} {
		err := k.signers.Refuse(c.armor, []byte(c.message))
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) || err != nil && !errors.Is(err, ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
		if c.is == nil {
			continue
		}
		if err := k.signers.Verify(t.Context(), "me@example.com", c.armor, []byte(c.message)); !errors.Is(err, c.is) {
			t.Errorf("%s: Verify asks ssh-keygen: %v", name, err)
		}
	}
	k.write("allowed_signers", "me@example.com "+other+"\nme@example.com AAAA\n")
	if err := k.signers.Refuse(armor, []byte(message)); err == nil || errors.Is(err, ErrBad) {
		t.Errorf("while the file is edited, nobody can tell: %v", err)
	}
}

// large makes an RSA key of 16,384 bits, the most that ssh-keygen takes, and returns its public
// half. It takes minutes to find primes for it: these are those of groups that everybody knows
// (RFC 3526, 7, and RFC 7919, A.5), made of the digits of pi and e.
func (k *keys) large(name string) string {
	k.t.Helper()
	whole := new(big.Int).Lsh(big.NewInt(1), 8062+64)
	arctan := func(n int64) *big.Int { // of 1/n
		sum, part := new(big.Int), new(big.Int).Div(whole, big.NewInt(n))
		for i := int64(1); part.Sign() > 0; i += 2 {
			sum.Add(sum, new(big.Int).Div(part, big.NewInt(i*(2-i%4))))
			part.Div(part, big.NewInt(n*n))
		}
		return sum
	}
	pi := new(big.Int).Sub(new(big.Int).Lsh(arctan(5), 4), new(big.Int).Lsh(arctan(239), 2))
	e, part := new(big.Int), whole
	for i := int64(1); part.Sign() > 0; i++ {
		e.Add(e, part)
		part = new(big.Int).Div(part, big.NewInt(i))
	}
	prime := func(digits *big.Int, more int64) *big.Int {
		p := new(big.Int).Rsh(digits, 64)
		p.Lsh(p.Add(p, big.NewInt(more)), 64)
		p.Add(p, new(big.Int).Lsh(big.NewInt(1), 8192))
		p.Sub(p, new(big.Int).Lsh(big.NewInt(1), 8128))
		return p.Sub(p, big.NewInt(1))
	}
	p, q, public := prime(pi, 4743158), prime(e, 10965728), big.NewInt(65537)
	less := func(n *big.Int) *big.Int { return new(big.Int).Sub(n, big.NewInt(1)) }
	d := new(big.Int).ModInverse(public, new(big.Int).Mul(less(p), less(q)))
	der, err := asn1.Marshal(struct{ Version, N, E, D, P, Q, DP, DQ, Inverse *big.Int }{
		new(big.Int), new(big.Int).Mul(p, q), public, d, p, q,
		new(big.Int).Mod(d, less(p)), new(big.Int).Mod(d, less(q)), new(big.Int).ModInverse(q, p),
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.write(name, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der})))
	out, err := exec.Command(k.signers.Tool, "-y", "-f", k.path(name)).Output()
	if err != nil {
		k.t.Fatal(err)
	}
	k.write(name+".pub", string(out))
	return Public(k.path(name))
}

// TestRefuseNothingGood: what is refused here, ssh-keygen refuses too: signatures by keys of
// each kind, with bytes changed at random.
func TestRefuseNothingGood(t *testing.T) {
	provider := sshsigtest.Provider(t)
	t.Setenv("SSH_SK_PROVIDER", provider)
	k := newKeys(t)
	sshsigtest.Key(t, provider, k.path("sk"))
	k.make("ca", "-t", "ed25519")
	lines := "me@example.com " + Public(k.path("sk")) + "\nme@example.com cert-authority " + Public(k.path("ca")) + "\n"
	names := []string{"sk"}
	for name, kind := range map[string][]string{
		"ed25519": {"-t", "ed25519"}, "rsa": {"-t", "rsa", "-b", "3072"}, "small": {"-t", "rsa", "-b", "1024"},
		"p256": {"-t", "ecdsa"}, "p384": {"-t", "ecdsa", "-b", "384"}, "p521": {"-t", "ecdsa", "-b", "521"},
	} {
		lines += "me@example.com " + k.make(name, kind...) + "\n"
		names = append(names, name)
	}
	lines += "me@example.com " + k.large("large") + "\n"
	names = append(names, "large")
	k.make("user", "-t", "ed25519") // which only its certificate makes known
	if out, err := exec.Command(k.signers.Tool, "-q", "-s", k.path("ca"), "-I", "x", "-n", "me@example.com", k.path("user.pub")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(k.path("user-cert.pub"), k.path("user.pub")); err != nil {
		t.Fatal(err)
	}
	k.write("allowed_signers", lines)
	for _, name := range append(names, "user") {
		armor := k.sign(name, message)
		k.agrees(t, name, armor, true)
		blob, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(armor, armorBegin), armorEnd))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			changed := append([]byte(nil), blob...)
			changed[rand.IntN(len(changed))] ^= 1 << rand.IntN(8)
			k.agrees(t, name, armored(changed), false)
		}
	}
}

// agrees fails if a signature is refused here that ssh-keygen calls good, or if a good one
// is not good to both.
func (k *keys) agrees(t *testing.T, name, armor string, good bool) {
	t.Helper()
	refused := k.signers.Refuse(armor, []byte(message))
	_, err := k.signers.ask(t.Context(), armor, []byte(message),
		"-Y", "verify", "-f", k.signers.File, "-I", "me@example.com", "-n", Namespace, "-s", signatureFD)
	untouched := refused != nil && strings.Contains(refused.Error(), "touch")
	if good && err != nil || refused != nil && err == nil && !untouched {
		t.Errorf("%s: refused: %v, ssh-keygen: %v\n%s", name, refused, err, armor)
	}
}
