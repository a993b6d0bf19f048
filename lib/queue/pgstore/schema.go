package pgstore

import (
	"context"
	"regexp"
)

// function finds the functions in Schema.
var function = regexp.MustCompile(`(?s)CREATE FUNCTION (\w+)\(.*?\$\$(.*?)\$\$`)

// rights asks for what is wrong with the schema besides what its functions do.
const rights = `
SELECT format('table %s: it belongs to %s', relname, relowner::regrole) FROM pg_class
  WHERE relnamespace = 'pulse'::regnamespace AND relowner <> 'pulse_owner'::regrole
UNION ALL SELECT format('table %s: %s may %s', relname, grantee::regrole, privilege_type) FROM pg_class, aclexplode(relacl)
  WHERE relnamespace = 'pulse'::regnamespace AND privilege_type <> 'SELECT' AND grantee <> 'pulse_owner'::regrole
UNION ALL SELECT format('column %s: %s may %s', attname, grantee::regrole, privilege_type) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid, aclexplode(attacl)
  WHERE relnamespace = 'pulse'::regnamespace AND privilege_type <> 'SELECT' AND grantee <> 'pulse_owner'::regrole
UNION ALL SELECT format('function %s: it belongs to %s', proname, proowner::regrole) FROM pg_proc
  WHERE pronamespace = 'pulse'::regnamespace AND proowner <> 'pulse_owner'::regrole
UNION ALL SELECT format('function %s: anybody may call it', proname) FROM pg_proc
  WHERE pronamespace = 'pulse'::regnamespace AND (proacl IS NULL OR EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0))
UNION ALL SELECT format('trigger %s', tgname) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
  WHERE relnamespace = 'pulse'::regnamespace AND NOT tgisinternal
UNION ALL SELECT format('rule %s', rulename) FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class
  WHERE relnamespace = 'pulse'::regnamespace
UNION ALL SELECT format('schema pulse: %s may %s', grantee::regrole, privilege_type) FROM pg_namespace, aclexplode(nspacl)
  WHERE nspname = 'pulse' AND privilege_type <> 'USAGE' AND grantee <> 'pulse_owner'::regrole
UNION ALL SELECT format('%s: not as init made them (%s)', what, sum) FROM (VALUES ` + sums + `) v(what, want) LEFT JOIN (
  SELECT what, md5(string_agg(t, ' ' ORDER BY t COLLATE "C")) AS sum FROM (
    SELECT 'words' AS what, may::text AS t FROM pulse.may UNION ALL SELECT 'words', legal::text FROM pulse.legal UNION ALL SELECT 'words', member::text FROM pulse.member
    UNION ALL SELECT 'functions', concat_ws(' ', proname, prosecdef, provolatile, proisstrict, proconfig) FROM pg_proc WHERE pronamespace = 'pulse'::regnamespace
    UNION ALL SELECT 'tables and indexes', concat_ws(' ', relname, relkind, relpersistence, relrowsecurity, pg_get_indexdef(oid)) FROM pg_class
      WHERE relnamespace = 'pulse'::regnamespace
    UNION ALL SELECT 'columns', concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef) FROM pg_attribute
      JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'pulse'::regnamespace AND attnum > 0
    UNION ALL SELECT 'constraints', concat_ws(' ', conname, conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
      WHERE connamespace = 'pulse'::regnamespace AND contype <> 'n') x GROUP BY what) y USING (what)
  WHERE sum IS DISTINCT FROM want`

// sums are the MD5 sums of what is compared as a whole, as schema.sql makes it: the words in
// the tables may, legal and member, the settings of functions, and what keeps a thing unique.
const sums = `('words', '7435f188d246a3cb00ebf955e3efc8e7'), ('functions', '16fe0ffd2965b3e6e3a85af6941e3379'),
	('tables and indexes', 'ee3c760ae78e74d8c3639d713852bca9'), ('columns', 'c586cc671c947f83453cfc3f7d019d14'),
	('constraints', '516994f7a8b9ffae90c7a11a38f00393')`

// schema compares the schema with what Schema makes.
func (c *comparison) schema(ctx context.Context) {
	want := map[string]bool{}
	for _, m := range function.FindAllStringSubmatch(Schema, -1) {
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
