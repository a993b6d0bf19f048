-- LIMITS. What no login needs, and one could stop all others with. init does not run this part,
-- because other users of the database may need what it takes away. A superuser runs it after each
-- new login: pulse-queue init --sql | sed '1,/^-- LIMITS/d' | psql DATABASE
DO $$
DECLARE r record; db text := current_database();
BEGIN
  EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', db);
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO pulse_gate, pulse_runner, pulse_sender, pulse_approver, pulse_reader', db);
  IF to_regnamespace('public') IS NOT NULL THEN
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  END IF;
  FOR r IN SELECT oid::regprocedure AS f FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
      AND proname ~ '^(lo_|loread$|lowrite$|pg_(try_)?advisory_)' LOOP -- large objects and locks that nobody counts
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', r.f);
  END LOOP;
  FOR r IN SELECT rolname, rolconnlimit FROM pg_catalog.pg_roles WHERE rolcanlogin AND NOT rolsuper AND EXISTS (
      SELECT FROM unnest('{gate,runner,sender,approver,reader}'::text[]) hat WHERE pg_catalog.pg_has_role(oid, 'pulse_' || hat, 'MEMBER')) LOOP
    IF r.rolconnlimit < 0 THEN
      EXECUTE format('ALTER ROLE %I CONNECTION LIMIT 20', r.rolname);
    END IF;
    EXECUTE format('ALTER ROLE %I SET statement_timeout = ''20s''', r.rolname); -- what pulse runs sets its own
    EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = ''10s''', r.rolname);
  END LOOP;
END $$;
