package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Pooled starts a PgBouncer before the server, which gives each transaction any of two
// connections of its login. It returns what the name of a queue that goes through it ends with.
func (d *DB) Pooled(tb testing.TB) string {
	tb.Helper()
	path := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(path); err != nil {
		tb.Skip("NOT TRIED: a queue behind a pooler, because there is no " + path + " (apt-get install pgbouncer)")
	}
	config := fmt.Sprintf("[databases]\n* = host=%[1]s\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = %[1]s\n"+
		"auth_type = trust\nauth_file = %[1]s/users\npool_mode = transaction\ndefault_pool_size = 2\n", d.Dir)
	const port = "&port=6432"
	users := ""
	for _, login := range []string{"gate1", "ann", "machine1", "machine2", "all1"} {
		users += fmt.Sprintf("%q \"\"\n", login)
	}
	for name, text := range map[string]string{"pool": config, "users": users} {
		if err := os.WriteFile(d.Dir+"/"+name, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	cmd := d.command("/pgbouncer", d.Dir+"/pool")
	cmd.Path = path
	out, err := os.Create(d.Dir + "/pool.log")
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		c, err := pgconn.Connect(ctx, d.DSN("gate1")+port)
		if err == nil {
			c.Close(ctx)
			return port
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(out.Name())
			tb.Fatalf("pgbouncer: %v: %s", err, log)
		case <-tick.C:
		}
	}
}
