package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// symptom is one of pulse-trouble(7): the command that tells, and what mends it.
type symptom struct{ name, tell, mend string }

func symptoms(t *testing.T) (list []symptom) {
	t.Helper()
	for _, b := range read(t, "pulse-trouble.7").blocks() {
		if name, ok := strings.CutPrefix(b.mark, "trouble: "); ok {
			list = append(list, symptom{name, b.text[0], strings.Join(b.text[1:], "\n") + "\n"})
		}
	}
	if len(list) < 20 {
		t.Fatalf("%d symptoms", len(list))
	}
	return list
}

// cases returns what testdata/trouble.txtar says of each symptom: how to make it, what its command
// tells then, what is typed, and what holds when it is mended.
func cases(t *testing.T) map[string]map[string]string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/trouble.txtar")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]map[string]string{}
	for _, f := range a.Files {
		name, part, _ := strings.Cut(f.Name, "/")
		if list[name] == nil {
			list[name] = map[string]string{}
		}
		list[name][part] = string(f.Data)
	}
	return list
}

// Each symptom is made, its command tells it, what mends it is typed, and then it holds no longer.
func TestTrouble(t *testing.T) {
	made := cases(t)
	for _, s := range symptoms(t) {
		c, ok := made[s.name]
		if !ok {
			t.Errorf("testdata/trouble.txtar does not make %q", s.name)
			continue
		}
		delete(made, s.name)
		t.Run(s.name, func(t *testing.T) { s.try(t, made["common"]["make"], c) })
	}
	delete(made, "common")
	for name := range made {
		t.Errorf("the page has no symptom %q", name)
	}
}

// unmended says why what is looked at after a mend can't fail before it.
var unmended = map[string]string{
	"disk": "another machine would have to mend it", "server": "another machine would have to mend it",
	"sent": "nothing is wrong", "refused": "it types the line that is printed, too",
}

func (s symptom) try(t *testing.T, common string, c map[string]string) {
	t.Parallel()
	dir := world(t)
	sh := start(t, dir)
	source := func(name, text, typed string) (string, string) {
		put(t, dir, name+".sh", text)
		put(t, dir, name+".in", typed)
		return sh.run(t, "source ./"+name+".sh <"+name+".in")
	}
	if out, status := source("make", common+"\n"+c["make"], ""); status != "0" {
		t.Fatalf("it was not made: exit %s\n%s", status, out)
	}
	names := regexp.MustCompile(`\b(ID|NAME|DIR|SOURCE|ADDR)\b`)
	values, _ := sh.run(t, `printf '%s\n' "ID=$ID" "NAME=$NAME" "DIR=$DIR" "SOURCE=$SOURCE" "ADDR=$ADDR"`)
	typed := func(command string) string {
		command = names.ReplaceAllStringFunc(command, func(name string) string {
			_, value, _ := strings.Cut("\n"+values, "\n"+name+"=")
			value, _, _ = strings.Cut(value, "\n")
			return value
		})
		return strings.ReplaceAll(command, "/etc/pulse", dir+"/etc")
	}
	if strings.TrimSpace(c["tells"]) == "" {
		t.Fatal("nothing says what it tells")
	}
	tells := regexp.MustCompile(strings.TrimSpace(c["tells"]))
	if out, _ := source("tell", typed(s.tell), ""); !tells.MatchString(out) {
		t.Fatalf("$ %s\nit does not tell %q:\n%s", typed(s.tell), tells, out)
	}
	if unmended[s.name] == "" {
		if _, status := source("broken", "(set -e\n"+c["mended"]+")", ""); status == "0" {
			t.Error("it is mended before anybody did anything")
		}
	}
	prints := regexp.MustCompile(strings.TrimSpace(c["prints"]))
	if out, status := source("mend", typed(s.mend), c["types"]); status != "0" || !prints.MatchString(out) {
		t.Fatalf("$ %s\nexit %s\n%s", typed(s.mend), status, out)
	}
	if out, status := source("mended", "(set -e\n"+c["mended"]+")", ""); status != "0" {
		t.Errorf("it is not mended: exit %s\n%s", status, out)
	}
}

// A unit that is started is one of the package.
func TestTroubleUnits(t *testing.T) {
	units := regexp.MustCompile(`(?:systemctl start(?: --no-block)?|journalctl -u)((?: pulse-[a-z]+)+)`)
	for _, s := range symptoms(t) {
		for _, m := range units.FindAllStringSubmatch(s.mend, -1) {
			for _, unit := range strings.Fields(m[1]) {
				if _, err := os.Stat("../scripts/systemd/" + unit + ".service"); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			}
		}
	}
}

// The card is one sheet of A4, at ten points, and has no command that is not in pulse-trouble(7),
// where the tests type it.
func TestCard(t *testing.T) {
	out, err := exec.Command("mandoc", "-T", "utf8", "-O", "width=100", "pulse-card.7").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "")), "\n")
	if len(lines) > 66 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if n := len([]rune(l)); n > 100 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	page := strings.Join(read(t, "pulse-trouble.7"), "\n")
	page = unescape.Replace(regexp.MustCompile(`(?m)^\.(Ql|Ss|Sx) `).ReplaceAllString(page, ""))
	n := 0
	for _, b := range read(t, "pulse-card.7").blocks() {
		for _, l := range b.text {
			name, command, _ := strings.Cut(l, "  ")
			command = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(command), "... "), " ...")
			if n++; command == "" || !strings.Contains(page, command) {
				t.Errorf("pulse-trouble(7) does not have: %s", command)
			}
			if name != "" && !strings.Contains(page, "\n"+name+"\n") {
				t.Errorf("pulse-trouble(7) has no symptom: %s", name)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d commands", n)
	}
}

// The commands and flags in the page exist, also where a test would need another machine.
func TestTroubleFlags(t *testing.T) {
	flag := regexp.MustCompile(` --([a-z-]+)`)
	called := regexp.MustCompile(`\b(pulse-(?:fetch|classify|authorize|queue|approve))\b ?([a-z]*)([^|;&\n]*)`)
	known := map[string]usage{}
	for _, s := range symptoms(t) {
		text := strings.ReplaceAll(s.tell+"\n"+s.mend, "\\\n", " ")
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[0], "systemctl") || strings.HasPrefix(m[2], "-") {
				continue
			}
			if known[m[1]] == nil {
				known[m[1]] = helped(t, filepath.Base(m[1]))
			}
			flags, ok := known[m[1]][m[2]]
			if !ok {
				t.Errorf("%s: there is no %s %s", s.name, m[1], m[2])
			}
			for _, f := range flag.FindAllStringSubmatch(m[3], -1) {
				if !slices.ContainsFunc(flags, func(have string) bool { return strings.HasPrefix(have+" ", "--"+f[1]+" ") }) {
					t.Errorf("%s: %s %s has no --%s", s.name, m[1], m[2], f[1])
				}
			}
		}
	}
}
