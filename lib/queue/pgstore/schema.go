package pgstore

import (
	"context"

	"pulse/lib/shared/lazy"
)

// function finds the functions in Schema.
var function = lazy.Regexp(`(?s)CREATE FUNCTION (\w+)\(.*?\$\$(.*?)\$\$`)

// rights asks for what is wrong with the schema besides what its functions do: what anybody may
// whom schema.sql does not name, what would run besides them, and who could change them.
const rights = `
WITH us AS (SELECT oid FROM pg_roles WHERE rolname = ANY ('{pulse_gate,pulse_runner,pulse_sender,pulse_approver,pulse_reader}')),
acl(what, grantee, may, passes) AS (
  SELECT 'table ' || relname, a.grantee, a.privilege_type, a.is_grantable FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) a
    WHERE relnamespace = 'pulse'::regnamespace AND relkind = 'r'
  UNION ALL SELECT concat('column ', relname, '.', attname), a.grantee, a.privilege_type, a.is_grantable FROM pg_attribute JOIN pg_class c ON c.oid = attrelid, aclexplode(attacl) a
    WHERE relnamespace = 'pulse'::regnamespace
  UNION ALL SELECT 'function ' || proname, a.grantee, a.privilege_type, a.is_grantable FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) a
    WHERE pronamespace = 'pulse'::regnamespace
  UNION ALL SELECT 'schema pulse', a.grantee, a.privilege_type, a.is_grantable FROM pg_namespace, aclexplode(nspacl) a WHERE nspname = 'pulse')
SELECT format('%s: %s may %s', what, CASE grantee WHEN 0 THEN 'anybody' ELSE grantee::regrole::text END, may) FROM acl
  WHERE grantee <> 'pulse_owner'::regrole AND (passes OR grantee NOT IN (SELECT oid FROM us) OR may NOT IN ('SELECT', 'EXECUTE', 'USAGE'))
UNION ALL SELECT format('%s: it belongs to %s', what, owner::regrole) FROM (
  SELECT 'schema pulse' AS what, nspowner AS owner FROM pg_namespace WHERE nspname = 'pulse' UNION ALL SELECT 'table ' || relname, relowner FROM pg_class WHERE relnamespace = 'pulse'::regnamespace
  UNION ALL SELECT 'function ' || proname, proowner FROM pg_proc WHERE pronamespace = 'pulse'::regnamespace) x WHERE owner <> 'pulse_owner'::regrole
UNION ALL SELECT format('trigger %s', tgname) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'pulse'::regnamespace AND NOT tgisinternal
UNION ALL SELECT format('rule %s', rulename) FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class WHERE relnamespace = 'pulse'::regnamespace
UNION ALL SELECT format('policy %s', polname) FROM pg_policy JOIN pg_class c ON c.oid = polrelid WHERE relnamespace = 'pulse'::regnamespace
UNION ALL SELECT format('event trigger %s: it runs at %s', evtname, evtevent) FROM pg_event_trigger WHERE evtenabled <> 'D'
UNION ALL SELECT format('role %s: it can log in, or more', rolname) FROM pg_roles WHERE (oid IN (SELECT oid FROM us) OR rolname = 'pulse_owner')
  AND (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
UNION ALL SELECT format('role pulse_owner: %s is a member of it', member::regrole) FROM pg_auth_members m, to_jsonb(m) j -- from PostgreSQL 16 on, one who may only make others so
  WHERE roleid = 'pulse_owner'::regrole AND (coalesce(j->>'set_option', 'true') = 'true' OR j->>'inherit_option' = 'true')
UNION ALL SELECT format('task %s: its action is none (%s): pulse-queue cancel %s', id, action, id) FROM pulse.task
  WHERE entry IS NOT NULL AND action <> ALL ('{read_public,read_private,write_local,external_send,destructive,code_or_computer}')
UNION ALL SELECT 'table queue: it is for trials (unsafe)' FROM pulse.queue WHERE unsafe
UNION ALL SELECT format('%s: not as init made them (%s)', what, sum) FROM (VALUES ` + sums + `) v(what, want) LEFT JOIN (
  SELECT what, md5(string_agg(t, ' ' ORDER BY t COLLATE "C")) AS sum FROM (
    SELECT 'words' AS what, may::text AS t FROM pulse.may UNION ALL SELECT 'words', legal::text FROM pulse.legal UNION ALL SELECT 'words', member::text FROM pulse.member
    UNION ALL SELECT 'rights', concat_ws(' ', what, grantee::regrole, may, passes) FROM acl WHERE grantee <> 'pulse_owner'::regrole
    UNION ALL SELECT 'functions', concat_ws(' ', proname, prosecdef, provolatile, proisstrict, proconfig, (SELECT lanname FROM pg_language l WHERE l.oid = prolang)) FROM pg_proc WHERE pronamespace = 'pulse'::regnamespace
    UNION ALL SELECT 'tables and indexes', concat_ws(' ', relname, relkind, relpersistence, relrowsecurity, relforcerowsecurity, relhassubclass, pg_get_indexdef(oid)) FROM pg_class
      WHERE relnamespace = 'pulse'::regnamespace
    UNION ALL SELECT 'columns', concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef d WHERE (adrelid, adnum) = (attrelid, attnum)))
      FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'pulse'::regnamespace AND attnum > 0
    UNION ALL SELECT 'constraints', concat_ws(' ', conname, conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
      WHERE connamespace = 'pulse'::regnamespace AND contype <> 'n') x GROUP BY what) y USING (what)
  WHERE sum IS DISTINCT FROM want`

// sums are the MD5 sums of what is compared as a whole, as the schema makes it: the words in the
// tables may, legal and member, who may what, the settings of functions, and what keeps a thing unique.
const sums = `('words', '05c8243f737f335f8da70ee6626b74cd'), ('rights', 'ad4a23ffe5ba3d5ef4690c7ae048fc08'), ('functions', '6055f319e4ec8442c88789e1ad90f5e8'),
	('tables and indexes', '3875aa70ff822ee2c1cdec4f6aa680c5'), ('columns', '63af58ad3eccf56369481cd0141ade91'), ('constraints', '516994f7a8b9ffae90c7a11a38f00393')`

// schema compares the schema with what Schema makes.
func (c *comparison) schema(ctx context.Context) {
	want := map[string]bool{}
	for _, m := range function().FindAllStringSubmatch(Schema, -1) {
		want[m[1]+m[2]] = true
	}
	c.each(ctx, "SELECT proname::text, prosrc FROM pg_proc WHERE pronamespace = 'pulse'::regnamespace", func(r row) {
		if key := string(r[0]) + string(r[1]); want[key] {
			delete(want, key)
		} else {
			c.find("function %s: it was changed", r[0])
		}
	})
	if len(want) > 0 && c.err == nil {
		c.find("%d functions of the schema are missing", len(want))
	}
	c.each(ctx, rights, func(r row) { c.find("%s", r[0]) })
}
