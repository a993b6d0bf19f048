package pgstore

import (
	"context"
	"fmt"
	"time"

	"pulse/lib/queue/health"
	"pulse/lib/shared/duration"
)

// maxApart is how far apart the clocks of the server and of this machine may be.
const maxApart = 5 * time.Second

// condition is a finding that the server knows: a code, what to do, and a query for the texts.
type condition struct {
	code    health.Code
	do, sql string
}

var conditions = []condition{
	{health.NoStandby, "man pulse-deploy, MANY MACHINES: synchronous_standby_names", `
		SELECT CASE current_setting('synchronous_standby_names') WHEN '' THEN 'no standby is synchronous: a failover may lose what was acknowledged'
			ELSE 'no standby is connected: nothing can be acknowledged' END
		WHERE current_setting('synchronous_standby_names') = '' OR NOT EXISTS (SELECT FROM pg_stat_replication)`},
	{health.LongTransaction, "psql -c 'SELECT pid, usename, query FROM pg_stat_activity ORDER BY xact_start'", `
		SELECT format('process %s of %s has a transaction open since %s', pid, usename, date_trunc('second', xact_start)) FROM pg_stat_activity
		WHERE xact_start < clock_timestamp() - '10 min'::interval AND backend_type = 'client backend'`},
	{health.LockHeld, "end it: SELECT pg_terminate_backend(PID), or ROLLBACK PREPARED 'NAME'; a login that does it again: ALTER ROLE LOGIN NOLOGIN", `
		SELECT DISTINCT format('process %s of %s at %s has had the queue''s lock since %s: %s', l.pid, usename, coalesce(client_addr::text, 'this machine or unknown'),
			coalesce(date_trunc('second', xact_start)::text, 'before ' || clock_timestamp()::time(0)), left(query, 100))
		FROM pg_locks l JOIN pg_stat_activity USING (pid)
		WHERE relation = 'pulse.queue'::regclass AND mode IN ('RowShareLock', 'RowExclusiveLock') AND granted
			AND NOT EXISTS (SELECT FROM pg_locks w WHERE w.pid = l.pid AND NOT w.granted)
			AND (xact_start < clock_timestamp() - '5 s'::interval
				OR EXISTS (SELECT FROM pg_locks w WHERE NOT w.granted AND w.waitstart < clock_timestamp() - '5 s'::interval AND l.pid = ANY (pg_blocking_pids(w.pid))))
		UNION ALL SELECT format('the prepared transaction %s of %s keeps its locks since %s', gid, owner, date_trunc('second', prepared)) FROM pg_prepared_xacts
			WHERE database = current_database()`},
	{health.Unlimited, "pulse-queue init --sql prints what is missing, after LIMITS: man pulse-deploy, The queue", `
		SELECT 'limits that are missing: ' || string_agg(what, ', ') FROM (
			SELECT 'CONNECT of anybody' WHERE has_database_privilege('public', current_database(), 'CONNECT')
			UNION ALL SELECT 'TEMPORARY of anybody' WHERE has_database_privilege('public', current_database(), 'TEMPORARY')
			UNION ALL SELECT 'CREATE of anybody in public' FROM pg_namespace WHERE nspname = 'public' AND has_schema_privilege('public', oid, 'CREATE')
			UNION ALL SELECT 'large objects of anybody' WHERE has_function_privilege('public', 'lo_create(oid)', 'EXECUTE')
			UNION ALL SELECT 'advisory locks of anybody' WHERE has_function_privilege('public', 'pg_advisory_lock(bigint)', 'EXECUTE')
			UNION ALL SELECT 'connections and timeouts of ' || rolname FROM pg_roles
				WHERE rolcanlogin AND NOT rolsuper AND pulse.hats(rolname) && '{gate,runner,sender,approver,reader}'
				AND (rolconnlimit < 0 OR NOT coalesce(rolconfig::text ~ 'statement_timeout=.*idle_in_transaction_session_timeout=', false))) x(what)
		HAVING count(*) > 0`},
	{health.Unheard, "look at that machine; pulse-queue run on another one gives the task back", `
		SELECT format('task %s runs as %s on %s, which was last heard of at %s', task, who, split_part(host, '/', 1), date_trunc('second', until - '120 s'::interval)) FROM pulse.run
		WHERE until < clock_timestamp()`},
	{health.PoliciesApart, "install the same policy on every machine", `
		SELECT format('%s machines started tasks today, last by %s policies', count(*), count(DISTINCT policy)) FROM (
			SELECT DISTINCT ON (who) who, substring(line FROM '"policy":"(sha256:[0-9a-f]{64})"') AS policy FROM pulse.start JOIN pulse.audit USING (seq)
			WHERE at > extract(epoch FROM clock_timestamp()) - 86400 ORDER BY who, seq DESC) x
		HAVING count(DISTINCT policy) > 1`},
	{health.TwoHats, "REVOKE one of the roles: a person's login has pulse_approver alone", `
		SELECT format('%s is an approver and %s', rolname, array_to_string(array_remove(h, 'approver'), ', ')) FROM pg_roles, LATERAL pulse.hats(rolname) h
		WHERE rolcanlogin AND 'approver' = ANY (h) AND NOT 'owner' = ANY (h) AND cardinality(h) > 1`},
}

// apart returns how far the server's clock is from this machine's, which said before and then after while
// it was asked. What lies between them may be the time of a host that hangs, or of a busy machine.
func apart(before, server, after time.Time) time.Duration {
	return max(0, before.Sub(server), server.Sub(after))
}

// Conditions returns what about the server needs a person's attention. What this login may not
// see (transactions of others, unless it has pg_monitor) is not found.
func (s *Store) Conditions(now time.Time) (list []health.Finding, err error) {
	c := comparison{fold: newFold(), s: s}
	err = s.snapshot(func(ctx context.Context) error {
		c.each(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", func(r row) {
			if apart := apart(now, time.UnixMicro(num(r[0])), time.Now()); apart > maxApart {
				text := fmt.Sprintf("the clocks of this machine and of the server are %s apart", duration.Text(apart.Truncate(time.Second)))
				list = append(list, health.Finding{Code: health.Clock, Text: text, Do: "timedatectl, on both"})
			}
		})
		for _, x := range conditions {
			c.each(ctx, x.sql, func(r row) {
				list = append(list, health.Finding{Code: x.code, Text: string(r[0]), Do: x.do})
			})
		}
		c.schema(ctx)
		return c.err
	})
	for _, text := range c.findings {
		list = append(list, health.Finding{Code: health.SchemaChanged, Text: text, Do: "pulse-queue verify; who is superuser there?"})
	}
	return list, err
}
