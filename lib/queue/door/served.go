package door

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/access"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/transfer"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// openServed opens a queue on a server.
func openServed(c *cli.Context, name string) (Store, error) {
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	s, err := pgstore.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	s.Interrupt(ctx.Done())
	s.Remember(seen.Dir())
	return served{s, name}, nil
}

// served is a queue on a server.
type served struct {
	*pgstore.Store
	name string
}

func (s served) Keeper() Keeper { return Keeper{Server: s} }

// Snapshot makes one that this account may read, and the group if there is one. It is made of a
// copy in a directory of this account, which gets what is new each time.
func (s served) Snapshot(dir string, g access.Group) error {
	copied := filepath.Join(seen.Dir(), "copies", pgstore.Key(s.name)+g.Name)
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		return err
	}
	if err := spool.Create(copied, spool.Options{Groups: access.Groups{Workers: g}}); err != nil {
		return err
	}
	q, err := spool.Open(copied)
	if err != nil {
		return err
	}
	defer q.Close()
	if err := transfer.ToDirectory(s.Store, q); err != nil {
		return fault.Failedf("rm -r "+escape.Shell(copied)+", and the next snapshot makes it anew", "%s: %w", copied, err)
	}
	return q.Snapshot(dir)
}

// CreateServed makes one, or prints how with --sql.
func CreateServed(c *cli.Context, name string) error {
	if c.Bool("sql") {
		_, err := io.WriteString(c.App.Writer, pgstore.SQL()+pgstore.Limits)
		return err
	}
	if c.Bool("upgrade") {
		return pgstore.Upgrade(c.Context, name)
	}
	return pgstore.Create(c.Context, name, c.Bool("unsafe"))
}

// runnersServed is Runners for one.
func runnersServed(string) []int { return runner.Above() }

// Copy copies a queue that is on hold from a directory to a server, or back. At a server there
// must be a queue without a line (init); a directory must not be there.
func Copy(ctx context.Context, from Store, to string) error {
	s, ok := from.(served)
	if !ok {
		return transfer.ToServer(ctx, from, to)
	}
	if err := s.View(transfer.Still); err != nil {
		return err
	}
	if access.There(to) == nil {
		return fault.Usagef("name a new directory", "%s: there is a queue already", escape.ASCII(to))
	}
	if err := spool.Create(to, spool.Options{Unsafe: s.TakesUnsafe()}); err != nil {
		return err
	}
	q, err := spool.Open(to)
	if err != nil {
		return err
	}
	defer q.Close()
	return transfer.ToDirectory(s.Store, q)
}
