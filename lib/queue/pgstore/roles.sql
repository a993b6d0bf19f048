-- The roles of a queue. None can log in: each machine and each person has a login of its own
-- that is a member of one of them (pulse-deploy(7), MANY MACHINES). Nobody is pulse_owner
-- from day to day.
DO $$
DECLARE r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['pulse_owner', 'pulse_gate', 'pulse_runner', 'pulse_sender', 'pulse_approver', 'pulse_reader'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = r) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', r);
    END IF;
  END LOOP;
  IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN -- from PostgreSQL 16 on, who made a role is a member that can't act as it
    GRANT pulse_owner TO CURRENT_USER;
  END IF;
END $$;
