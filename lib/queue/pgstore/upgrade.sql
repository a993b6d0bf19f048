-- What init --upgrade does before functions.sql, as the owner and while it holds the queue's lock:
-- it makes of a schema of format 1 (or of 2, again) what schema.sql makes, and takes away what
-- functions.sql brings. No row of a table is lost, and none changes but the queue's.
SET LOCAL search_path = pulse, pg_catalog;
DO $$
DECLARE f regprocedure;
BEGIN
  FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'pulse'::regnamespace LOOP
    EXECUTE format('DROP FUNCTION %s', f);
  END LOOP;
END $$;
DROP TABLE may, legal, member;
REVOKE ALL ON ALL TABLES IN SCHEMA pulse FROM PUBLIC, pulse_gate, pulse_runner, pulse_sender, pulse_approver, pulse_reader;
ALTER TABLE queue ADD COLUMN IF NOT EXISTS ours bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS max_per_day int, ALTER format SET DEFAULT 2;
ALTER TABLE audit ADD COLUMN IF NOT EXISTS mark bigint;
UPDATE queue SET ours = seq, format = 2 WHERE format = 1; -- nobody knows who made the lines up to here
