package layout

import (
	"os"
	"path/filepath"
	"testing"
)

// Every program that comes with pulse to be started is known, and nothing else is.
func TestProgramsAreKnown(t *testing.T) {
	found := map[string]bool{}
	for _, kind := range []string{"readers", "workers", "senders"} {
		files, err := filepath.Glob("../../../scripts/" + kind + "/*")
		if err != nil || len(files) == 0 {
			t.Fatal(kind, err)
		}
		for _, file := range files {
			name := kind + "/" + filepath.Base(file)
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, known := programs[name]; !known && info.Mode()&0o100 != 0 && !found[name] {
				t.Errorf("%s: residency does not know whom it asks", name)
			}
			found[name] = true
		}
	}
	for name := range programs {
		if !found[name] {
			t.Errorf("%s is known, and is not there", name)
		}
	}
}
