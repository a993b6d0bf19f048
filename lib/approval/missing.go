package approval

import (
	"time"

	"pulse/lib/address"
)

// Missing says why Match finds nothing, in words that follow "no grant for this
// target" and repeat nothing of what was asked; empty where there never was one.
func Missing(grants []Grant, target, task string, now time.Time) string {
	why := ""
	for _, g := range grants {
		switch {
		case g.Target != "" && !address.Equal(g.Target, target):
		case g.Task != "" && g.Task != task:
			if why == "" {
				why = ": one is bound to another task"
			}
		case !now.Before(g.Expires):
			why = " any more: it expired"
		}
	}
	return why
}
