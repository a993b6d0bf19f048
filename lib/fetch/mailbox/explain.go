package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/emersion/go-imap/v2"

	"pulse/lib/shared/fault"
)

// explain names the reason for an error of the library. The library itself says of a
// closed connection only that it is closed.
func (s *Mailbox) explain(ctx context.Context, g *guard, err error) error {
	var classed *fault.Error
	var refused *imap.Error
	cause := err
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case g.Err() != nil:
		cause = g.Err()
	}
	switch {
	case errors.As(cause, &classed):
		return fmt.Errorf("%s: %w", s.Address, cause)
	case errors.Is(cause, errReadWrite), errors.Is(cause, errCommand):
		return fault.Failedf("", "%s: %w", s.Address, cause)
	// A BYE in place of a greeting, too, of which the library tells by chance as a refusal or as the end.
	case g.farewell() != "" && g.Err() == nil && (!errors.As(cause, &refused) || refused.Type == imap.StatusResponseTypeBye):
		return fault.Temporaryf("", "%s: the server ends the session: %s", s.Address, s.silent(g.farewell()))
	case errors.As(cause, &refused):
		return fault.Temporaryf("", "%s: the server says %s: %s", s.Address, refused.Type, s.silent(refused.Text))
	case errors.Is(cause, io.EOF),
		strings.HasSuffix(cause.Error(), io.ErrUnexpectedEOF.Error()): // the library wraps it as text
		return fault.Temporaryf("", "%s: the server ends the connection", s.Address)
	}
	if text := cause.Error(); s.silent(text) != text {
		cause = errors.New(s.silent(text))
	}
	return fault.Temporaryf("", "%s: %w", s.Address, cause)
}
