package pgstore

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
)

// stmt is a statement with its arguments: string, int64, []byte, and slices of these.
type stmt struct {
	sql  string
	args []any
}

func say(sql string, args ...any) stmt { return stmt{sql, args} }

// key tells statements apart.
func (q stmt) key() string { return fmt.Sprint(q.sql, q.args) }

// row is a row of a result: columns in PostgreSQL's binary format.
type row = [][]byte

// The types of arguments, and the binary format.
const (
	oidBytea, oidInt8, oidText                = 17, 20, 25
	oidBytesArray, oidInt8Array, oidTextArray = 1001, 1016, 1009
)

var binaryFormat = []int16{1}

// ask runs statements in one round trip, and returns the rows of each.
func (s *Store) ask(ctx context.Context, list ...stmt) ([][]row, error) {
	var b pgconn.Batch
	for i := range list {
		values, oids := make([][]byte, len(list[i].args)), make([]uint32, len(list[i].args))
		for j, arg := range list[i].args {
			values[j], oids[j] = encode(arg)
		}
		b.ExecParams(list[i].sql, values, oids, binaryFormat, binaryFormat)
	}
	results, err := s.conn.ExecBatch(ctx, &b).ReadAll()
	all := make([][]row, len(list))
	for i, r := range results {
		all[i] = r.Rows
	}
	return all, err
}

// encode returns an argument in the binary format.
func encode(arg any) (b []byte, oid uint32) {
	switch v := arg.(type) {
	case string:
		return []byte(v), oidText
	case []byte:
		return v, oidBytea
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(v)), oidInt8
	case []string:
		return array(oidText, v), oidTextArray
	case [][]byte:
		return array(oidBytea, v), oidBytesArray
	case []int64:
		return array(oidInt8, v), oidInt8Array
	}
	panic(fmt.Sprintf("pgstore: an argument of type %T", arg))
}

// array returns an array of one dimension.
func array[T any](elem uint32, list []T) []byte {
	put := binary.BigEndian.AppendUint32
	if len(list) == 0 {
		return put(put(put(nil, 0), 0), elem)
	}
	b := put(put(put(put(put(nil, 1), 0), elem), uint32(len(list))), 1)
	for _, v := range list {
		e, _ := encode(v)
		b = append(put(b, uint32(len(e))), e...)
	}
	return b
}

// num returns a column of type int4 or int8.
func num(b []byte) int64 {
	if len(b) == 4 {
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return int64(binary.BigEndian.Uint64(b))
}

func yes(b []byte) bool { return len(b) == 1 && b[0] == 1 }

// lockTimeout is how long a command waits until another one has ended its transaction.
const lockTimeout = 60 * time.Second

// locked says that others kept the lock for so long.
func locked(d time.Duration) error {
	return fault.Temporaryf("run it again, or see who holds the lock: psql -c 'TABLE pg_stat_activity'", "%w for %s", store.ErrLocked, d)
}

// untrusted reports whether a certificate, of the server or of this login, is not good. That
// is not over by itself, as an outage is.
func untrusted(err error) bool {
	var bad *tls.CertificateVerificationError
	var alert *net.OpError // crypto/tls keeps its number to itself: RFC 8446, section 6.2
	return errors.As(err, &bad) || errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate")
}

// fail gives an error of the server or of the connection its class.
func (s *Store) fail(err error) error {
	var pg *pgconn.PgError
	var known *fault.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case untrusted(err):
		return fault.Usagef("see sslrootcert, sslcert and the name of the host: man pulse-deploy, Certificates", "%s: %w", s.name, err)
	case !errors.As(err, &pg):
		return fault.Temporaryf("run it again", "%s: %w: %w", s.name, store.ErrAway, err)
	}
	switch pg.Code {
	case "PU001":
		return fmt.Errorf("%w: %s", store.ErrConflict, pg.Message)
	case "PU002":
		refused := &store.Forbidden{Task: pg.Detail, Why: pg.Message}
		return fault.Failedf("name a login of a role that may: man pulse-deploy, MANY MACHINES", "%s: %w", s.name, refused)
	case "55P03":
		return locked(lockTimeout)
	case "42501", "28000", "28P01":
		return fault.Usagef("pulse-queue init --sql prints the roles; man pulse-deploy", "%s: %s", s.name, pg.Message)
	case "42703", "42883": // there are tables, but not all columns or functions
		return fault.Usagef(upgradeHint(s.name), "%s: another pulse made the queue: %s", s.name, pg.Message)
	case "3D000", "3F000", "42P01", "PU003":
		return fault.Usagef("pulse-queue init --queue "+strconv.Quote(s.name), "%s: there is no queue of this pulse: %s", s.name, pg.Message)
	}
	switch pg.Code[:2] {
	case "08", "57":
		return fault.Temporaryf("run it again", "%s: %w: %w", s.name, store.ErrAway, err)
	case "40", "53", "55", "58":
		return fault.Temporaryf("", "%s: %w", s.name, err)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}
