-- A queue in a database: the log, and for each thing the number of the line that made it what
-- it is. The client reads that line and knows the rest (package queue, Changes), so a thing
-- can't differ from the log. Nobody may write a table. Only commit does (functions.sql).
CREATE SCHEMA pulse AUTHORIZATION pulse_owner;
SET LOCAL ROLE pulse_owner;
SET LOCAL search_path = pulse, pg_catalog;

CREATE TABLE queue ( -- one row: who writes the queue locks it
  one bool PRIMARY KEY DEFAULT true CHECK (one), format int NOT NULL DEFAULT 2, unsafe bool NOT NULL DEFAULT false,
  made timestamptz NOT NULL DEFAULT now(), seq bigint NOT NULL DEFAULT 0,
  head text NOT NULL DEFAULT 'sha256:' || repeat('0', 64), held bool NOT NULL DEFAULT false,
  day text NOT NULL DEFAULT '', refused int NOT NULL DEFAULT 0, limited bool NOT NULL DEFAULT false, -- of that day
  kept int NOT NULL DEFAULT 0, kept_bytes bigint NOT NULL DEFAULT 0, -- refused records
  counts jsonb NOT NULL DEFAULT '{}', -- tasks by state
  ours bigint NOT NULL DEFAULT 0, -- the lines after this one were made by commit
  max_per_day int -- starts of each kind that the server lets happen in a day; NULL: as many as the policies say
) WITH (fillfactor = 20);
CREATE TABLE audit (seq bigint PRIMARY KEY, line text NOT NULL, who name NOT NULL,
  alone bool NOT NULL DEFAULT false, -- who was an approver then, and nothing else
  mark bigint); -- the client's, of the last line of a commit, by which it knows that one again
CREATE TABLE task (
  id text PRIMARY KEY, added bigint NOT NULL, -- the line that added it
  n bigint NOT NULL, seq bigint NOT NULL,     -- the lines that opened it last, and that moved it last
  state text NOT NULL, kind text NOT NULL, action text NOT NULL, digest text NOT NULL,
  entry text -- of an open task: what a client reads to decide which one is next
) WITH (fillfactor = 70);
CREATE INDEX open ON task (state, n) WHERE entry IS NOT NULL;
CREATE INDEX closed ON task (state, added) WHERE entry IS NULL;
CREATE INDEX prefix ON task (id text_pattern_ops);
CREATE TABLE file (id text PRIMARY KEY, bytes bytea NOT NULL);
CREATE TABLE thing (
  shelf text, key text, seq bigint NOT NULL, -- the line
  rest text[],                               -- of an outbox: proposals without a receipt; of labels: these
  bytes bytea,                               -- what was staged with the line
  PRIMARY KEY (shelf, key)
);
CREATE TABLE start (seq bigint PRIMARY KEY, at bigint NOT NULL, entry text NOT NULL);
CREATE INDEX start_at ON start (at);
CREATE TABLE run (fence bigint PRIMARY KEY, task text NOT NULL UNIQUE, who name NOT NULL, host text NOT NULL, until timestamptz NOT NULL);
CREATE TABLE nonce (nonce text PRIMARY KEY, seq bigint NOT NULL);
ALTER TABLE file ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE thing ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE task SET (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);
ALTER TABLE thing SET (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);
INSERT INTO queue DEFAULT VALUES;
