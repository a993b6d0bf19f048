package dkimcheck

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestCache: within a minute a name is asked for once, whether it exists or not; silence
// is not kept, and neither are more names than may be.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := world()
		z.silent["silent.example.com"] = true
		c := Cache{Resolver: z}
		names := []string{"s1._domainkey.example.com", "absent.example.com", "silent.example.com"}
		ask := func(want ...string) {
			t.Helper()
			z.asked = nil
			for _, name := range names {
				got, err := c.LookupTXT(context.Background(), name)
				straight, want := z.LookupTXT(context.Background(), name)
				z.asked = z.asked[:len(z.asked)-1]
				if !slices.Equal(got, straight) || fmt.Sprint(err) != fmt.Sprint(want) {
					t.Errorf("%s: %q, %v, want %q, %v", name, got, err, straight, want)
				}
			}
			if !slices.Equal(z.asked, want) {
				t.Errorf("asked %q, want %q", z.asked, want)
			}
		}
		ask(names...)
		ask("silent.example.com")
		z.set(names[0], "v=DKIM1; p=")
		delete(z.silent, names[2])
		time.Sleep(keep)
		ask(names...)
		ask()
		for i := range 3 * maxKept {
			c.LookupTXT(context.Background(), fmt.Sprint(i))
			if len(c.kept) > maxKept {
				t.Fatalf("%d names", len(c.kept))
			}
		}
	})
}
