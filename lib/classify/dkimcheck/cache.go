package dkimcheck

import (
	"context"
	"time"
)

// The bounds of a cache. What it keeps is never older than most records may get in any
// resolver, so a key that was revoked counts for no longer through it.
const (
	keep    = time.Minute
	maxKept = 1000 // names
)

// Cache asks a resolver once a minute for each name, because the mails of one run often
// have the same signers. It keeps answers and that there is none, and no other error. It
// is not for concurrent use.
type Cache struct {
	Resolver Resolver
	kept     map[string]keptAnswer
}

type keptAnswer struct {
	records []string
	err     error
	until   time.Time
}

// LookupTXT implements Resolver.
func (c *Cache) LookupTXT(ctx context.Context, name string) ([]string, error) {
	now := time.Now()
	if a, ok := c.kept[name]; ok && now.Before(a.until) {
		return a.records, a.err
	}
	records, err := c.Resolver.LookupTXT(ctx, name)
	if err != nil && !notFound(err) {
		return nil, err
	}
	if c.kept == nil || len(c.kept) == maxKept {
		c.kept = map[string]keptAnswer{}
	}
	c.kept[name] = keptAnswer{records, err, now.Add(keep)}
	return records, err
}
