package main

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"

	"pulse/scripts/machine"
)

// The reader of the page: their addresses and passwords. The hosts are those of the page, which
// the machine finds on its own loopback.
const (
	owner           = machine.Owner
	ownerAtWork     = "you@work.example"
	mailPassword    = "mail-s3cret"
	workPassword    = "work-s3cret"
	sendingPassword = "send-s3cret"
	modelKey        = "sk-s3cret"
)

//go:embed inside/dovecot.conf
var dovecotConf string

//go:embed inside/test-providers.service
var providersUnit string

//go:embed inside/llm
var llm string

// prepare makes of the root the machine and the providers that the page takes for granted.
func (m *container) prepare() error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return errors.Join(
		m.put("etc/hostname", "gate\n", 0o644),
		m.put("etc/hosts", "127.0.0.1 localhost gate imap.example.com imap.work.example smtp.example.com api.openai.com ntfy.sh\n", 0o644),
		// A /proc that nothing is mounted over, without which the kernel lets no account of a
		// container mount its own, as the box does.
		m.put("etc/fstab", "proc /run/proc proc nosuid,nodev,noexec,hidepid=invisible 0 0\n", 0o644),
		m.put("etc/dovecot/dovecot.conf", dovecotConf, 0o644),
		m.put("etc/dovecot/users", owner+":"+mailPassword+"\n"+ownerAtWork+":"+workPassword+"\n", 0o644),
		m.put("etc/systemd/system/test-providers.service", providersUnit, 0o644),
		m.put("usr/local/bin/deploykit", string(self), 0o755),
		m.put("usr/bin/llm", llm, 0o755),
		m.put("usr/local/bin/slow", slow, 0o755),
		os.RemoveAll(filepath.Join(m.root, "etc/resolv.conf")),
	)
}

// equip is what takes a machine that runs: accounts, and certificates that it trusts.
const equip = `
useradd --system --create-home --home-dir /srv/mail vmail
useradd --create-home --shell /bin/bash you
install -o you -m 600 /dev/stdin /home/you/diary <<<private
mkdir -p /srv/provider /etc/test
runuser -u you -- ssh-keygen -q -t ed25519 -N "" -C phone -f /home/you/key
cd /etc/test
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test -keyout key.pem -out cert.pem \
  -addext subjectAltName=DNS:imap.example.com,DNS:imap.work.example,DNS:smtp.example.com,DNS:api.openai.com,DNS:ntfy.sh 2>&1
cp cert.pem /usr/local/share/ca-certificates/test.crt
update-ca-certificates >/dev/null
systemctl enable --now test-providers
systemctl restart dovecot
`
