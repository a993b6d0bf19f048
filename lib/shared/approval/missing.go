package approval

import "time"

// Missing returns why Match finds nothing, in words that follow "no grant for this
// target" and repeat nothing of the request. It returns nothing if there never was a
// grant.
func Missing(grants []Grant, target string, same Same, task string, now time.Time) string {
	why := ""
	for _, g := range grants {
		switch {
		case g.Target != "" && !same(g.Target, target):
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
