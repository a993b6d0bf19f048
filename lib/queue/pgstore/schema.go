package pgstore

import (
	"context"
	"regexp"
)

// function finds the functions in Schema.
var function = regexp.MustCompile(`(?s)CREATE FUNCTION (\w+)\(.*?\$\$(.*?)\$\$`)

// rights asks for what is wrong with the schema besides its functions.
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
UNION ALL SELECT format('function %s: it runs with the rights of %s', proname, CASE WHEN prosecdef THEN 'its owner' ELSE 'its caller' END) FROM pg_proc
  WHERE pronamespace = 'pulse'::regnamespace AND prosecdef <> (proname IN ('lock', 'touch', 'beat', 'commit'))
UNION ALL SELECT format('trigger %s', tgname) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
  WHERE relnamespace = 'pulse'::regnamespace AND NOT tgisinternal
UNION ALL SELECT format('rule %s', rulename) FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class
  WHERE relnamespace = 'pulse'::regnamespace
UNION ALL SELECT 'the words in the tables may, legal and member: they were changed' FROM (
  SELECT md5(string_agg(t, ' ' ORDER BY t COLLATE "C")) AS sum FROM (
    SELECT may::text FROM pulse.may UNION ALL SELECT legal::text FROM pulse.legal UNION ALL SELECT member::text FROM pulse.member) x(t)) y
  WHERE sum <> '` + wordsSum + `'`

// wordsSum is the MD5 sum of those tables as schema.sql fills them.
const wordsSum = "61396dad61b9e070fbe3d5149ecec223"

// schema compares the functions and the rights with those that Schema makes.
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
