package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWitnessesThroughThePipe: what pulse-authorize diff --json prints as witness of a
// difference goes through the stages, and they decide as the difference says.
func TestWitnessesThroughThePipe(t *testing.T) {
	const old = `owners = ["me@example.com"]
authserv_id = "mx.example.net"
recipients = ["agent@example.net"]
accept_automatic = ["me@example.com"]
`
	for name, new := range map[string]string{
		"owner":     strings.Replace(old, `"me@example.com"]`, `"me@example.com", "boss@example.com"]`, 1),
		"external":  old + "allowed_external = [\"@partner.example\"]\n",
		"row":       old + "[matrix.owner_verified_email]\nallow = [\"read_public\", \"read_private\"]\nqueue_for_review = [\"write_local\"]\n",
		"age":       old + "max_age = \"7d\"\n",
		"evidence":  old + "evidence = \"either\"\n",
		"alignment": old + "dkim_alignment = \"relaxed\"\n",
		"verdict":   old + "verdict = \"set\"\n",
		"recipient": strings.Replace(old, "recipients = ", "recipients = [\"two@example.net\"] # ", 1),
		"automatic": strings.Replace(old, "accept_automatic = ", "accept_automatic = [] # ", 1),
		"unsigned":  old + "accept_unsigned = [\"To\", \"Date\"]\n",
		"action":    old + "[[action]]\nto = \"agent@example.net\"\naction = \"destructive\"\n",
		"platform":  old + "[[platform]]\nsource = \"telegram\"\nowner_ids = [5]\n[[platform.chat]]\nid = -100\nopen_group = true\n",
		"webhook":   old + "[[platform]]\nsource = \"webhook:/spool\"\n",
		"tool":      old + "[tools]\ndeny = [\"web.*\"]\nallow = [\"calendar.*\"]\n",
		"target":    old + "[outbound]\nallow = [\"friend@partner.example\"]\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"old.toml": old, "new.toml": new} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			witnesses := 0
			for line := range strings.Lines(sh(t, dir, `pulse-authorize diff --json old.toml new.toml || test $? = 1`)) {
				var d struct {
					Key, Old, New string
					Witness       map[string]json.RawMessage
				}
				if err := json.Unmarshal([]byte(line), &d); err != nil {
					t.Fatal(err)
				}
				if d.Witness == nil {
					continue
				}
				witnesses++
				record, err := json.Marshal(d.Witness)
				if err != nil {
					t.Fatal(err)
				}
				outcomes := map[string]string{"old.toml": d.Old, "new.toml": d.New}
				if strings.Contains(string(d.Witness["identity"]), `"session"`) { // OLD may not have taken it into the session
					delete(outcomes, "old.toml")
				}
				for policy, want := range outcomes {
					stages := "pulse-classify --policy " + policy + " | "
					if d.Witness["identity"] != nil {
						stages = ""
					}
					if err := os.WriteFile(filepath.Join(dir, "record"), record, 0o600); err != nil {
						t.Fatal(err)
					}
					got := strings.TrimSpace(sh(t, dir, "cat record | "+stages+"pulse-authorize --policy "+policy+" | jq -r .decision.outcome"))
					if got != want {
						t.Errorf("%s under %s: %s, want %s: %s", d.Key, policy, got, want, record)
					}
				}
			}
			if witnesses == 0 {
				t.Error("no difference has a witness")
			}
		})
	}
}

// sh runs a line of shell in a directory.
func sh(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command("bash", "-o", "pipefail", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, errs.String())
	}
	return string(out)
}
