package cmdline

import (
	"strings"
	"testing"

	"pulse/lib/shared/fault"
)

func TestNamesOfServers(t *testing.T) {
	for _, name := range []string{
		"postgres://", "postgres:///", "postgres:///?service=pulse", "postgresql:///pulse?host=/run/postgresql&port=5433",
		"postgres://ann@db.example/pulse", "postgres://ann@db.example:5432/pulse?sslmode=verify-full&sslrootcert=/etc/ca.pem",
		"postgres://ann@one:5432,two:5433/pulse", "postgres://[::1]:5432/pulse", "postgres://ann@%2Frun%2Fpostgresql/pulse",
		"postgres://h/db?passfile=/home/ann/.pgpass", "postgres://h/db?application_name=a%20b",
	} {
		if err := withoutPassword(name); err != nil || !Served(name) {
			t.Errorf("%s: %v, %t", name, err, Served(name))
		}
	}
	for _, name := range []string{
		"postgres://u:hunter2@h/db", "postgresql://u:hunter2@h", "Postgres://u:hunter2@h/db", "postgres://:hunter2@h/db",
		"postgres://u:1/hunter2@h/db", "postgres://u:1?hunter2@h/db", "postgres://u:1#hunter2@h/db", "postgres://u:hunter2",
		"postgres://u:1,hunter2@h/db", "postgres://u@v:hunter2@h/db", "postgres://u:hunter2%40x@h/db", "postgres://u%3Ahunter2:@h/db",
		"postgres://h/db?password=hunter2", "postgres://h/db?sslpassword=hunter2", "postgres://h/db?pass%77ord=hunter2",
		"postgres://h/db?user=u&password=hunter2", "postgres://h/db?hunter2", "postgres://h/db:hunter2", "postgres://[u:hunter2]@h/db",
	} {
		err := withoutPassword(name)
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), ".pgpass") ||
			strings.Contains(err.Error()+fault.HintOf(err), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, dir := range []string{"", "/srv/q", "postgres", "postgres:/u:p@h", "./postgres://u:p@h/db", "http://u:p@h"} {
		if err := withoutPassword(dir); err != nil || Served(dir) {
			t.Errorf("%s: %v, %t", dir, err, Served(dir))
		}
	}
}
