package man

import (
	"encoding/xml"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The picture of README.md is that of pulse(7): the same steps, and between them the same commands.
func TestPicture(t *testing.T) {
	b, err := os.ReadFile("way.svg")
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(b, new(struct{ XMLName xml.Name })); err != nil {
		t.Fatal(err)
	}
	if readme := strings.Join(read(t, "../README.md"), "\n"); !strings.Contains(readme, "(man/way.svg)") {
		t.Error("README.md does not show it")
	}
	var drawn, written []string
	for _, m := range regexp.MustCompile(`font-(?:weight="bold"|family="monospace" font-size="12")>([^<]+)<`).FindAllStringSubmatch(string(b), -1) {
		drawn = append(drawn, m[1])
	}
	_, picture, _ := strings.Cut(strings.Join(read(t, "pulse.7"), "\n"), ".Bd -literal\n")
	picture, _, _ = strings.Cut(picture, ".Ed")
	for _, m := range regexp.MustCompile(`(?m)^(?: ([a-z]+)|   \|  (.+))`).FindAllStringSubmatch(picture, -1) {
		written = append(written, m[1]+m[2])
	}
	if len(drawn) != 13 || strings.Join(drawn, "\n") != strings.Join(written, "\n") {
		t.Errorf("drawn\n%q\nwritten\n%q", drawn, written)
	}
}
