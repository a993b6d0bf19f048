package layout

import (
	"os"
	"strings"
	"testing"
)

// scripts/crontab is what init writes for /etc/pulse, and there is one template for both.
func TestCrontabFile(t *testing.T) {
	b, err := os.ReadFile("../../../scripts/crontab")
	if err != nil {
		t.Fatal(err)
	}
	if got := (Place{System, System, "/usr/local"}).Crontab(); got != string(b) {
		t.Errorf("it is not\n%s", got)
	}
}

// TestPrefix: what is installed elsewhere is started there, and other programs are found in
// /usr/local/bin.
func TestPrefix(t *testing.T) {
	p := Place{System, System, "/usr"}
	for prefix, want := range map[string]string{"/usr": "/usr/local/bin:/usr/bin:/bin", "/opt/pulse": "/opt/pulse/bin:/usr/local/bin:/usr/bin:/bin"} {
		if text := (Place{System, System, prefix}).Crontab(); !strings.Contains(text, "\nPATH="+want+"\n") {
			t.Errorf("%s: %s", prefix, text)
		}
	}
	for _, text := range []string{p.Crontab(), p.Environment("imaps://me@imap.example.com/INBOX")} {
		if strings.Contains(text, "/usr/local/libexec") || strings.Contains(text, "@ETC@") || strings.Contains(text, "@ACCEPT@") {
			t.Error(text)
		}
	}
}
