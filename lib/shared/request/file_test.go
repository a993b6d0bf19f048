package request

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

func TestFilesRoundTrip(t *testing.T) {
	files := []File{{"a.txt", []byte("hello\n")}, {"empty", nil}, {"\u202e\n", []byte{0, 0xff}}}
	v := `{"action":"external_send","files":` + string(AppendFiles(nil, files)) + `}`
	got := decode(t, v)
	if !slices.EqualFunc(got.Files, files, func(a, b File) bool { return a.Name == b.Name && string(a.Data) == string(b.Data) }) {
		t.Errorf("%q", got.Files)
	}
}

// A file whose size or digest does not fit its data would be shown as one thing and sent
// as another.
func TestFilesThatAreNotCarriedWhole(t *testing.T) {
	good := string(AppendFiles(nil, []File{{"a", []byte("hello")}}))
	for name, bad := range map[string]string{
		"a name alone":    `["a"]`,
		"no array":        `{}`,
		"no data":         strings.Replace(good, `"data":"aGVsbG8="`, `"data":""`, 1),
		"other data":      strings.Replace(good, "aGVsbG8=", "aGVsbG9=", 1),
		"another size":    strings.Replace(good, `"size":5`, `"size":6`, 1),
		"another digest":  strings.Replace(good, "sha256:2", "sha256:3", 1),
		"no name":         strings.Replace(good, `"name":"a"`, `"name":""`, 1),
		"one member more": strings.Replace(good, `"size"`, `"path":"/etc/passwd","size"`, 1),
		"loose base64":    strings.Replace(good, "aGVsbG8=", `aGVs\nbG8=`, 1),
		"no padding":      strings.Replace(good, "aGVsbG8=", "aGVsbG8", 1),
	} {
		if bad == good {
			t.Fatalf("%s: nothing was replaced", name)
		}
		if r, err := Decode(record.Value(`{"action":"external_send","files":` + bad + `}`)); err == nil {
			t.Errorf("%s: %q", name, r.Files)
		} else if name != "no array" && !errors.Is(err, errFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
