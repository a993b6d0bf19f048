package cmdline

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/record"
)

// Each calls fn for each record, until an error or the end of c.
func Each(c *cli.Context, in *record.Reader, fn func(*record.Record) error) error {
	for {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(rec)
		}
		if err == nil {
			err = c.Context.Err()
		}
		if err != nil {
			return err
		}
	}
}
