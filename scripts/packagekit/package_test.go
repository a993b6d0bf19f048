package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// made is what scripts/package made in one copy of the tree.
type made struct{ deb, tarball, root string }

// output runs a command and returns its standard output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.Bytes())
	}
	return string(out)
}

// copied copies what git knows of the tree, its files in this order.
func copied(t *testing.T, files []string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// build makes packages in a copy of the tree.
func build(t *testing.T, dir, umask string, env ...string) made {
	t.Helper()
	cmd := exec.Command("bash", "-c", "umask "+umask+"; scripts/package")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1790000000", "DPKG_DEB_COMPRESSOR_LEVEL=0") // fast
	cmd.Env = append(cmd.Env, env...)
	names := strings.Fields(output(t, cmd))
	if len(names) != 2 {
		t.Fatal(names)
	}
	return made{filepath.Join(dir, names[1]), filepath.Join(dir, names[0]), dir} // as ls sorts them
}

// first and second are made of the same files.
var first, second made

// TestPackages makes both packages twice, and looks at them.
func TestPackages(t *testing.T) {
	files := strings.Fields(output(t, exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")))
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "testdata/") })
	here := copied(t, files)
	slices.Reverse(files)
	there := copied(t, files)
	first = build(t, here, "022", "TZ=UTC")
	second = build(t, there, "077", "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "GOFLAGS=-buildvcs=auto")
	t.Run("Reproducible", reproducible)
	t.Run("Lintian", lintian)
	t.Run("BillOfMaterials", billOfMaterials)
	t.Run("Copyright", copyrights)
	t.Run("Contents", contents)
	t.Run("Lifecycle", lifecycle)
}

func reproducible(t *testing.T) {
	for _, pair := range [][2]string{{first.deb, second.deb}, {first.tarball, second.tarball}} {
		a, errA := os.ReadFile(pair[0])
		b, errB := os.ReadFile(pair[1])
		if errA != nil || errB != nil || len(a) < 1<<20 || !bytes.Equal(a, b) {
			t.Errorf("%s: %v, %v, %d and %d bytes that differ", filepath.Base(pair[0]), errA, errB, len(a), len(b))
		}
	}
}

func lintian(t *testing.T) {
	cmd := exec.Command("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", first.deb)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // it leaves files there
	if out := output(t, cmd); out != "" {
		t.Error(out)
	}
}

// unpacked returns the files of the Debian package.
func unpacked(t *testing.T) string { return first.root + "/build/package/deb" }

func billOfMaterials(t *testing.T) {
	file, err := os.ReadFile(unpacked(t) + "/usr/share/doc/pulse/pulse.cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	valid(t, file)
	var b bom
	if err := json.Unmarshal(file, &b); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{} // commands and modules, with their digests and licences
	for _, c := range b.Components {
		if len(c.Licences) != 1 {
			t.Errorf("%s: %v", c.Name, c.Licences)
		}
		for _, h := range c.Hashes {
			said[c.Ref] = h.Content
		}
		if c.Type == "library" {
			said[c.Ref] = "module"
		}
	}
	is := map[string]string{}
	commands, err := filepath.Glob(unpacked(t) + "/usr/bin/*")
	if err != nil || len(commands) != 5 {
		t.Fatal(commands, err)
	}
	for _, command := range commands {
		binary, err := os.ReadFile(command)
		if err != nil {
			t.Fatal(err)
		}
		is[filepath.Base(command)] = fmt.Sprintf("%x", sha256.Sum256(binary))
		var uses []string
		for i, line := range strings.Split(output(t, exec.Command("go", "version", "-m", command)), "\n") {
			if words := strings.Fields(line); i == 0 {
				uses = append(uses, "pkg:golang/std@"+strings.TrimPrefix(words[1], "go"))
			} else if len(words) > 2 && words[0] == "dep" {
				uses = append(uses, "pkg:golang/"+words[1]+"@"+words[2])
			}
		}
		for _, use := range uses {
			is[use] = "module"
		}
		i := slices.IndexFunc(b.Dependencies, func(d dependency) bool { return d.Ref == filepath.Base(command) })
		if i < 0 || len(uses) < 5 || !slices.Equal(slices.Sorted(slices.Values(b.Dependencies[i].Uses)), slices.Sorted(slices.Values(uses))) {
			t.Errorf("%s is linked from %v", command, uses)
		}
	}
	if fmt.Sprint(said) != fmt.Sprint(is) {
		t.Errorf("the list has\n%v\nand the commands are\n%v", said, is)
	}
}

// schemas holds the published schema of CycloneDX; the test is pinned to this module.
const schemas = "github.com/CycloneDX/cyclonedx-go@v0.9.2"

// valid fails if a list does not fit the published schema.
func valid(t *testing.T, file []byte) {
	t.Helper()
	var module struct{ Dir string }
	cmd := exec.Command("go", "mod", "download", "-json", schemas)
	cmd.Dir = t.TempDir() // outside of this module
	if err := json.Unmarshal([]byte(output(t, cmd)), &module); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for url, name := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		f, err := os.Open(filepath.Join(module.Dir, "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		f.Close()
		if err == nil {
			err = compiler.AddResource("http://cyclonedx.org/schema/"+url, doc)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	bad, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.Replace(file, []byte(`"id": "MIT"`), []byte(`"id": "Mine"`), 1)))
	if err != nil || schema.Validate(bad) == nil {
		t.Errorf("%v, and a licence that there is not was taken", err)
	}
}

// copyrights holds the licences against the modules; the tarball has the whole text of each.
func copyrights(t *testing.T) {
	modules, err := all(built(t))
	if err != nil {
		t.Fatal(err)
	}
	debian, err := os.ReadFile(unpacked(t) + "/usr/share/doc/pulse/copyright")
	if err != nil {
		t.Fatal(err)
	}
	whole := output(t, exec.Command("tar", "-xzOf", first.tarball, "--wildcards", "*/share/doc/pulse/copyright"))
	for _, m := range modules {
		if !strings.Contains(string(debian), m.path+" "+m.version) || !strings.Contains(whole, m.path+" "+m.version) || !strings.Contains(whole, m.text) {
			t.Errorf("the licence of %s is missing", m.path)
		}
	}
}

// contents are the same in both packages, and are what the tree has.
func contents(t *testing.T) {
	t.Setenv("TZ", "UTC")
	deb := output(t, exec.Command("dpkg-deb", "-c", first.deb))
	tarball := output(t, exec.Command("tar", "-tvzf", first.tarball))
	pages, err := filepath.Glob("man/*.[157]")
	if err != nil || len(pages) < 8 {
		t.Fatal(pages, err)
	}
	names := []string{"doc/pulse/copyright", "doc/pulse/pulse.cdx.json", "sysusers.d/pulse.conf", "tmpfiles.d/pulse.conf", "systemd/system/pulse-run.service", "libexec/pulse/box"}
	for _, page := range pages {
		names = append(names, filepath.Base(page)+".gz")
	}
	for _, command := range built(t) {
		name := filepath.Base(command)
		names = append(names, "bin/"+name, "bash-completion/completions/"+name, "/_"+name, "vendor_completions.d/"+name+".fish")
	}
	for _, name := range names {
		if !strings.Contains(deb, name+"\n") || !strings.Contains(tarball, name+"\n") {
			t.Errorf("there is no %s", name)
		}
	}
	for line := range strings.Lines(deb + tarball) {
		if words := strings.Fields(line); words[1] != "root/root" && words[1] != "0/0" || strings.Contains(words[0], "w-w") || !strings.HasPrefix(words[3], "2026-09-21") {
			t.Errorf("%s", line)
		}
	}
	units, err := filepath.Glob(unpacked(t) + "/usr/lib/systemd/system/*")
	if err != nil || len(units) < 10 {
		t.Fatal(units, err)
	}
	// What an administrator put into /usr/local/bin is found, too.
	local := exec.Command("grep", "-rP", "/usr/local(?!/bin:/usr/bin)", unpacked(t)+"/usr/lib")
	if out, _ := local.Output(); len(out) > 0 {
		t.Errorf("not where the package puts it: %s", out)
	}
}

// lifecycle installs, upgrades, downgrades, removes and purges, with a queue in use.
func lifecycle(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can install packages, even on a copy of the machine: install, upgrade and removal were not tried")
	}
	dir := t.TempDir()
	// Not compressed, because each is unpacked several times; scripts/test-deploy installs the package as it is.
	repack := exec.Command("bash", "-euc", `dpkg-deb -R "$1" "$2/tree"; dpkg-deb -Znone -b "$2/tree" "$2/new.deb"
		sed -i 's/^Version: .*/Version: 0.0.1/' "$2/tree/DEBIAN/control"; dpkg-deb -Znone -b "$2/tree" "$2/old.deb"`, "repack", first.deb, dir)
	output(t, repack)
	if err := os.Mkdir(dir+"/machine", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-m", "scripts/packagekit/testdata/lifecycle", dir+"/old.deb", dir+"/new.deb", dir+"/machine")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("done\n")) {
		t.Errorf("%v: %s", err, out)
	}
}
