package hint

import "testing"

func TestCommand(t *testing.T) {
	both := Where{"my queue", "it's.toml"}
	const q, p = ` --queue 'my queue'`, ` --policy 'it'\''s.toml'`
	for text, want := range map[string]string{
		"pulse-queue requeue ID":                                 "pulse-queue requeue" + q + p + " ID",
		"pulse-queue run --effect destructive -- CMD":            "pulse-queue run" + q + p + " --effect destructive -- CMD",
		"pulse-queue cancel ID":                                  "pulse-queue cancel" + q + " ID",
		"pulse-queue verify":                                     "pulse-queue verify" + q,
		"pulse-authorize matrix":                                 "pulse-authorize matrix" + p,
		"pulse-approve no ID --reason R":                         "pulse-approve no" + q + p + " ID --reason R",
		"pulse-queue outbox | pulse-authorize | pulse-queue add": "pulse-queue outbox" + q + " | pulse-authorize" + p + " | pulse-queue add" + q + p,
	} {
		if got := both.Command(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := (Where{}).Command(text); got != text {
			t.Errorf("%q", got)
		}
	}
	if got := (Where{Queue: "/srv/q-1"}).Command("pulse-queue verify"); got != "pulse-queue verify --queue /srv/q-1" {
		t.Error(got)
	}
}
