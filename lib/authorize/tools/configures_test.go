package tools

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"pulse/lib/shared/terms"
)

func TestConfigures(t *testing.T) {
	for path, want := range map[string]bool{
		".git/config": true, "a/.git": true, ".claude/settings.json": true, ".bash_aliases": true, ".x": true, "...": true, ".. ": true, "..x/y": true,
		"a/../.git/config": true, "./.git": true, ".git/": true, ".GIT/config": true, "a//.ssh": true, ".git/../x": true, // as given: a link may be on the way
		"CLAUDE.md": true, "a/Claude.Local.MD": true, "AGENTS.md": true, "AGENTS.override.md": true, "agents.md": true, "agent.md": false, "GEMINI.md": true,
		"QWEN.md": true, "CRUSH.md": true, "WARP.md": true, "codex.md": true, "opencode.json": true, "opencode.jsonc": true, "crush.json": true,
		"CLAUDE.md ": true, "CLAUDE.md. .": true, " CLAUDE.md": true, "\u00a0.git/config": true, "CLAUDE.md::$DATA": true, ".git::$INDEX_ALLOCATION/x": true,
		"CLAUDE~1.MD": true, "GIT~1/config": true, "gi7eba~1": true,
		"C\u017faude.md": false, "AGENT\u017f.md": true, "GEM\u0131NI.md": true, "\u212a.md": false, "Q\ufeffWEN.md": true, "CL\u034faude.md": true, "CLAUDE.md\ufe0f": true,
		"\u200b.git/x": true, "\u2060.mcp.json": true, "CLAUDE\U000e0100.md": true, "\u3164.x": true, "\u00ad.x": true,
		"\uff0egit/config": true, "\uff23\uff2c\uff21\uff35\uff24\uff25.md": true, "\u2024ssh/config": true, "CLAUDE\uff0emd": true, "\ufe52a": true,
		"HEAD": true, "a/head": true, "a/HEAD ": true, "a/HE\u200bAD": true, "HEAD/x": false, "headers": false, "a/HEAD.md": false,
		"": false, ".": false, "..": false, "a/..": false, "x": false, "claude.txt": false, "my file": false, "sub/settings.json": false, "a~b": false, "\u2764\ufe0f.md": false,
		"\u00dcbersicht": false, "CLAUD\u00c9.md": false, "CLAUDE\u0301.md": false, "config": false, "objects/pack/x": false, "refs/heads/x": false, "hooks/pre-commit": false,
		"Makefile": false, "conftest.py": false, "package.json": false, "a.b": false, "a.": false, "not-claude.md": false, "CLAUDE.md/x": false, "backup~": false,
	} {
		if name, why := Configures(path); (name != "") != want || (why != "") != want {
			t.Errorf("Configures(%q) = %q, %q", path, name, why)
		}
	}
}

// TestConfiguring: what counts is the name as it was given, where it leads, and what lies
// there; whatever tool it is, unless it only reads.
func TestConfiguring(t *testing.T) {
	rules := "[tools]\nprofile = \"full\"\naction = {\"files.write_file\" = \"write_local\", \"files.read\" = \"read_private\"}\n" +
		"paths = {\"files.*\" = [\"file\", \"to\"]}\n[exec]\nworkspace = \"/ws\"\nwrite = [\"ok/.github/workflows/*\", \"ok/CLAUDE.md\"]"
	for _, c := range []struct {
		tool, args string
		action     terms.Action
		world      world
		want       Reason
	}{
		{"files.write_file", `{"file":"ok/.git/config"}`, terms.WriteLocal, world{}, pathConfigures},
		{"files.write_file", `{"file":["ok/a","ok/.git/config"]}`, terms.WriteLocal, world{}, pathConfigures},
		{"files.write_file", `{"file":"ok/a","to":"ok/GEMINI.md"}`, terms.WriteLocal, world{}, pathConfigures},
		{"files.write_file", `{"file":"ok/.git/config"}`, terms.CodeOrComputer, world{}, pathConfigures},
		{"files.read", `{"file":"ok/.git/config"}`, terms.ReadPrivate, world{}, ""},
		{"files.read", `{"file":"ok/.git/config"}`, terms.Destructive, world{}, pathConfigures},
		{"files.unheard", `{"file":"ok/.git/config"}`, terms.CodeOrComputer, world{}, pathConfigures},
		{"fs.write", `{"path":"ok/.env"}`, terms.WriteLocal, world{}, pathConfigures},
		{"fs.edit", `{"path":"ok/a"}`, terms.WriteLocal, world{real: ".claude/settings.json"}, pathConfigures},
		{"fs.edit", `{"path":"ok/a"}`, terms.WriteLocal, world{repository: "ok"}, pathConfigures},
		{"fs.read", `{"path":"ok/a"}`, terms.ReadPrivate, world{real: ".claude/x", repository: "ok"}, ""},
		{"fs.write", `{"path":"ok/.github/workflows/ci.yml"}`, terms.WriteLocal, world{}, ""},
		{"fs.write", `{"path":"ok/.github/workflows/ci.yml"}`, terms.WriteLocal, world{repository: "ok"}, ""},
		{"fs.write", `{"path":"ok/.github/workflows/ci.yml"}`, terms.WriteLocal, world{real: ".git/config"}, pathConfigures},
		{"fs.write", `{"path":"ok/.github/x"}`, terms.WriteLocal, world{}, pathConfigures},
		{"fs.write", `{"path":"ok/CLAUDE.md"}`, terms.WriteLocal, world{}, ""},
		{"fs.write", `{"path":"ok/claude.md"}`, terms.WriteLocal, world{}, pathConfigures},
		{"fs.write", `{"path":"ok/a\u0000b"}`, terms.WriteLocal, world{}, pathRefused},
		{"fs.read", `{"path":"ok/a\u0085b"}`, terms.ReadPrivate, world{}, pathRefused},
		{"fs.read", `{"path":"ok/a\nb"}`, terms.ReadPrivate, world{}, pathRefused},
	} {
		v := Judge(parse(t, rules), wish(t, c.action, c.tool, c.args), Asker{Trust: terms.System}, &c.world)
		if v.Reason != c.want || (c.want == pathConfigures) != (v.Rule == "exec.write") || v.Reason == pathConfigures && v.Reason.OfTheWorld() {
			t.Errorf("%s %s as %s, %+v: %+v", c.tool, c.args, c.action, c.world, v)
		}
	}
}

// refusedNames are names that are refused, and which a file system must not take another for
// that is not.
var refusedNames = []string{"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "qwen.md", "warp.md", "crush.json", "opencode.jsonc", "head"}

// FuzzConfigures: names are folded once for all, and whatever a file system that folds case
// takes for a refused name is refused, too.
func FuzzConfigures(f *testing.F) {
	for _, s := range []string{".git", "CLAUDE.md", "a/\u017f\u0345\u034f\u0301\u0316", "GEM\u0130NI.md", "\ufb01x", "\uff23laude.md ", "HEAD:a", "\xff.git", "\u1e9e"} {
		f.Add(s)
	}
	folder := cases.Fold()
	f.Fuzz(func(t *testing.T, name string) {
		if once := fold(name); fold(once) != once {
			t.Fatalf("%q is folded to %q, and that to %q", name, once, fold(once))
		}
		component, why := Configures(name)
		if (component == "") != (why == "") || !strings.Contains(name, component) {
			t.Fatalf("%q: %q, %q", name, component, why)
		}
		if strings.Contains(name, "/") {
			return
		}
		// ext4 with casefold: decomposed, without what is ignorable, folded. NTFS and exFAT: by capitals.
		for _, taken := range []string{folder.String(ignoring(norm.NFD.String(name))), strings.ToLower(strings.ToUpper(name)), folder.String(norm.NFKC.String(name))} {
			for _, refused := range refusedNames {
				if taken == refused && component == "" {
					t.Fatalf("%q is %q on some disk, and not refused", name, refused)
				}
			}
			if strings.HasPrefix(taken, ".") && taken != "." && taken != ".." && component == "" && name != "." && name != ".." {
				t.Fatalf("%q is %q on some disk, and not refused", name, taken)
			}
		}
		if trimmed := strings.TrimSpace(name); trimmed != name && component == "" {
			if of, _ := Configures(trimmed); of != "" {
				t.Fatalf("%q is not refused, and %q is", name, trimmed)
			}
		}
	})
}

// ignoring returns a name without what ext4 with casefold ignores.
func ignoring(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) ||
			unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && (r < 0xfff9 || r > 0xfffb) {
			return -1
		}
		return r
	}, s)
}
