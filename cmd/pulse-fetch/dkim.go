package main

import (
	"context"
	"errors"
	"time"

	"pulse/lib/classify/dkimcheck"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
)

// patience is how long after its arrival a message waits for DNS. Then it goes on
// without proof, so that no sender holds up a mailbox.
const patience = time.Hour

// testOnlyResolver stands for DNS in tests.
var testOnlyResolver dkimcheck.Resolver = dkimcheck.DNS{}

func verifier(ctx context.Context) func(*envelope.Message, message.Raw) error {
	checker := dkimcheck.Checker{Resolver: testOnlyResolver}
	return func(m *envelope.Message, raw message.Raw) (err error) {
		m.DKIM, err = checker.Check(ctx, m, raw)
		switch {
		case !errors.Is(err, dkimcheck.ErrTemporary):
			return err
		case m.Fetched.Sub(m.Received).Abs() >= patience:
			return nil
		}
		return fault.Temporaryf("run again; an hour after it arrived the message goes on unverified",
			"%s: %w", m.Source, err)
	}
}
