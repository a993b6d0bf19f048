package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// common are the licences whose text every Debian has in /usr/share/common-licenses. The
// Debian policy, 12.5, wants them named, not repeated.
var common = []struct {
	text *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`(?s) *Apache License\n +Version 2\.0, January 2004.*(accepting any such warranty or additional liability\.|END OF TERMS AND CONDITIONS|limitations under the License\.)`), "Apache-2.0"},
	{regexp.MustCompile(`(?s)Full text of gpl-2\.0\.txt:.*`), "GPL-2"},
}

// copyright writes the licence of pulse and those of what its commands are linked from; a
// text that several modules share is written once.
func copyright(w io.Writer, commands []string, debian bool) error {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	modules, err := all(commands)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "The commands of pulse, its scripts and its manual:\n\n%s", own)
	written := map[string]bool{}
	for _, m := range modules {
		if written[m.text] {
			continue
		}
		written[m.text] = true
		fmt.Fprintf(w, "\n%s\nThe commands are linked from", strings.Repeat("-", 72))
		for _, other := range modules {
			if other.text == m.text {
				fmt.Fprintf(w, "\n    %s %s", other.path, other.version)
			}
		}
		text := m.text
		if debian {
			for _, c := range common {
				text = c.text.ReplaceAllLiteralString(text, "The text is in /usr/share/common-licenses/"+c.name+"\n")
			}
		}
		fmt.Fprintf(w, "\nunder %s:\n\n%s", m.licence, text)
	}
	return nil
}
