-- A queue in a database: the log, and for each thing the number of the line that made it what
-- it is. The client reads that line and knows the rest (package queue, Changes), so a thing
-- can't differ from the log. Nobody may write a table. Only commit does, and it believes
-- nothing of a line that it can check: who may write such a line, from where the task comes,
-- whose run it is, whose yes.
CREATE SCHEMA pulse AUTHORIZATION pulse_owner;
SET LOCAL ROLE pulse_owner;
SET LOCAL search_path = pulse, pg_catalog;

CREATE TABLE queue ( -- one row: who writes the queue locks it
  one bool PRIMARY KEY DEFAULT true CHECK (one), format int NOT NULL DEFAULT 1, unsafe bool NOT NULL DEFAULT false,
  made timestamptz NOT NULL DEFAULT now(), seq bigint NOT NULL DEFAULT 0,
  head text NOT NULL DEFAULT 'sha256:' || repeat('0', 64), held bool NOT NULL DEFAULT false,
  day text NOT NULL DEFAULT '', refused int NOT NULL DEFAULT 0, limited bool NOT NULL DEFAULT false, -- of that day
  kept int NOT NULL DEFAULT 0, kept_bytes bigint NOT NULL DEFAULT 0, -- refused records
  counts jsonb NOT NULL DEFAULT '{}' -- tasks by state
) WITH (fillfactor = 20);
CREATE TABLE audit (seq bigint PRIMARY KEY, line text NOT NULL, who name NOT NULL,
  alone bool NOT NULL DEFAULT false); -- who was an approver then, and nothing else
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

-- may says which hat lets a login write a line of an event.
CREATE TABLE may (event text, hat text, PRIMARY KEY (event, hat));
INSERT INTO may SELECT e, h FROM (VALUES
  ('gate',                        'added refused limited settled session_used read forgotten pruned'),
  ('gate runner sender approver', 'session_ended consumed withheld labelled resurfaced held finding clock_jumped'),
  ('runner sender',               'started finished retried gave_up restarted undecided restored parked dropped broke closed carried_out judged ended noted expired discarded'),
  ('runner',                      'extracted'),
  ('sender',                      'approved'),
  ('approver',                    'approved denied cancelled requeued granted revoked session_opened released resumed clock_confirmed'))
  AS v(hats, events), unnest(string_to_array(hats, ' ')) h, unnest(string_to_array(events, ' ')) e;

-- legal is the table of package task.
CREATE TABLE legal (event text, from_state text, to_state text, PRIMARY KEY (event, from_state, to_state));
INSERT INTO legal SELECT e, f, t FROM (VALUES
  ('added', ARRAY[''], ARRAY['scheduled', 'awaiting_review']), ('approved', ARRAY['awaiting_review'], ARRAY['scheduled']),
  ('denied', ARRAY['awaiting_review'], ARRAY['rejected']), ('started', ARRAY['scheduled'], ARRAY['running']),
  ('finished', ARRAY['running'], ARRAY['completed']), ('extracted', ARRAY['running'], ARRAY['scheduled']),
  ('retried', ARRAY['running'], ARRAY['scheduled']), ('gave_up', ARRAY['running'], ARRAY['failed']),
  ('restarted', ARRAY['running'], ARRAY['scheduled']), ('undecided', ARRAY['running'], ARRAY['awaiting_review']),
  ('restored', ARRAY['running'], ARRAY['scheduled']), ('parked', ARRAY['scheduled', 'running'], ARRAY['awaiting_review']),
  ('dropped', ARRAY['scheduled', 'awaiting_review'], ARRAY['rejected']), ('expired', ARRAY['awaiting_review'], ARRAY['rejected']),
  ('cancelled', ARRAY['scheduled', 'running'], ARRAY['rejected']), ('closed', ARRAY['scheduled', 'awaiting_review'], ARRAY['rejected']),
  ('carried_out', ARRAY['scheduled'], ARRAY['completed']), ('requeued', ARRAY['failed', 'rejected', 'completed'], ARRAY['scheduled']),
  ('pruned', ARRAY['completed', 'rejected', 'failed'], ARRAY['']),
  ('broke', ARRAY['scheduled', 'awaiting_review', 'running', 'completed', 'rejected', 'failed'], ARRAY['corrupt']))
  AS v(e, fs, ts), unnest(fs) f, unnest(ts) t;

-- member says what a member of a line looks like, so that every client can read every line.
-- The form is a pattern for the JSON text; or @ and the name of a form that needs more, or what
-- the object, or each element of the array, is.
CREATE TABLE member (of text PRIMARY KEY, forms jsonb NOT NULL);
INSERT INTO member SELECT w, jsonb_object_agg(n, f) FROM (VALUES
  ('line', '".*"', 'rule policy sender trust source message_id sandbox account by level tool outcome reason not_kept said thread kind'),
  ('line', '"[a-z_]+"', 'event action'),
  ('line', '"[0-9a-f]{32}"', 'task parent answers known_as'),
  ('line', '"[a-z_]+"', 'from to state'),
  ('line', '"sha256:[0-9a-f]{64}"', 'digest result prev'),
  ('line', '@time', 'time since not_before told before began'),
  ('line', '(0|[1-9][0-9]{0,9})', 'attempts deferred restarts count'),
  ('line', '(0|[1-9][0-9]{0,15})', 'size'),
  ('line', '(0|-?[1-9][0-9]{0,8})', 'exit'),
  ('line', '@uint32', 'uid'), ('line', 'true', 'more'), ('line', '@strings', 'target'),
  ('line', '@identity', 'identity'), ('line', '@approval', 'approval'), ('line', '@grant', 'grant'), ('line', '@session', 'session'),
  ('line', '@[proposed', 'proposed'), ('line', '@[position', 'positions'), ('line', '@[label', 'labels'), ('line', '@finding', 'finding'),
  ('identity', '".*"', 'reason'),
  ('approval', '".*"', 'by level signer signature action nonce'), ('approval', '"[0-9a-f]{32}"', 'task'),
  ('approval', '"sha256:[0-9a-f]{64}"', 'digest'), ('approval', '@time', 'given expires'), ('approval', 'true', 'text'),
  ('approval', '@strings', 'target'), ('approval', '@[grant', 'grants'),
  ('grant', '".*"', 'by level signer signature'), ('grant', '".+"', 'target'), ('grant', '"[^\\]+"', 'id'), ('grant', '"[0-9a-f]{32}"', 'task'), ('grant', 'true|false', 'any'), ('grant', '@time', 'given expires'),
  ('session', '".*"', 'sender by level signer signature'), ('session', '"[^\\]+"', 'id'), ('session', '@time', 'opened expires'), ('session', '(0|[1-9][0-9]?|100)', 'max left'),
  ('label', '".*"', 'by task'), ('label', '"(private|untrusted)"', 'label'), ('label', '@time', 'at'),
  ('proposed', '"[0-9a-f]{32}"', 'id'), ('proposed', '"sha256:[0-9a-f]{64}"', 'digest'),
  ('finding', '"(opened|told|closed)"', 'what'), ('finding', '"[a-z_]+"', 'code'), ('finding', '"(?!.*\\ufffd).*"', 'about'), ('finding', '".*"', 'text'), ('finding', '@time', 'since told'),
  ('position', '"(?!.*\\ufffd).*"', 'source'), ('position', '@uint32', 'uidvalidity uid'), ('position', '@time', 'received'))
  AS v(w, f, ns), unnest(string_to_array(ns, ' ')) n GROUP BY w;

CREATE FUNCTION refuse(why text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', why USING ERRCODE = 'PU002'; END $$;

-- sound reports whether a JSON text has a form with @, and names every member once.
CREATE FUNCTION sound(form text, v json) RETURNS bool LANGUAGE plpgsql STABLE AS $$
DECLARE t text := v::text; forms jsonb;
BEGIN
  IF form = '@time' THEN
    RETURN t ~ '^"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z"$' AND (v #>> '{}')::timestamptz IS NOT NULL;
  ELSIF form = '@uint32' THEN
    RETURN t ~ '^(0|[1-9][0-9]{0,9})$' AND t::bigint < 4294967296;
  ELSIF form = '@strings' THEN
    RETURN json_typeof(v) = 'array' AND NOT EXISTS (SELECT FROM json_array_elements(v) e WHERE json_typeof(e) <> 'string');
  ELSIF form LIKE '@[%' THEN
    RETURN json_typeof(v) = 'array' AND NOT EXISTS (SELECT FROM json_array_elements(v) e WHERE NOT pulse.sound('@' || substr(form, 3), e));
  END IF;
  SELECT m.forms INTO forms FROM pulse.member m WHERE m.of = substr(sound.form, 2);
  RETURN json_typeof(v) = 'object' AND (
    SELECT count(*) = count(DISTINCT key) FILTER (WHERE CASE WHEN forms->>key LIKE '@%' THEN pulse.sound(forms->>key, value)
      ELSE value::text ~ ('^(' || (forms->>key) || ')$') END) FROM json_each(v));
END $$;

-- controls reports whether a line has what a terminal obeys or doesn't show, and what pulse writes
-- as an escape: who prints a line as it is relies on that.
CREATE FUNCTION controls(line text) RETURNS bool LANGUAGE sql IMMUTABLE AS $$
  SELECT strpos(line, E'\n') + strpos(line, E'\r') + strpos(line, E'\t') + strpos(line, E'\x7f') > 0 OR octet_length(line) <> length(line)
    AND line ~ '[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]'
$$;

-- hats returns the roles of pulse that a login has; of a superuser, that he is the owner. What a
-- role gave by itself does not count: before PostgreSQL 15, any may make another a member of itself.
CREATE FUNCTION hats(login name) RETURNS text[] LANGUAGE sql STABLE AS $$
  WITH RECURSIVE up AS (
    SELECT to_regrole(quote_ident(login))::oid AS oid
    UNION SELECT m.roleid FROM up JOIN pg_catalog.pg_auth_members m ON m.member = up.oid AND m.grantor <> m.roleid)
  SELECT coalesce(array_agg(hat), '{}') FROM unnest('{approver,gate,owner,reader,runner,sender}'::text[]) hat
  WHERE to_regrole('pulse_' || hat)::oid IN (SELECT oid FROM up)
    OR hat = 'owner' AND pg_catalog.pg_has_role(to_regrole(quote_ident(login)), 'pulse_owner', 'MEMBER')
$$;

-- answers reports whether the line was written by a person: an approver, and nothing else, then
-- and now. Lines of the owner, who can't log in, came with a copy from another queue.
CREATE FUNCTION answers(line bigint) RETURNS bool LANGUAGE sql STABLE AS $$
  SELECT a.who = 'pulse_owner' OR a.alone AND pulse.hats(a.who) = '{approver}' FROM pulse.audit a WHERE a.seq = $1
$$;

-- said returns a line of the log. jsonb has no way to write NUL, which a stranger may put into
-- a Message-ID.
CREATE FUNCTION said(line text) RETURNS json LANGUAGE sql IMMUTABLE AS $$ SELECT replace(line, '\u0000', '\ufffd')::json $$;
CREATE FUNCTION said(line bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$ SELECT pulse.said(a.line)::jsonb FROM pulse.audit a WHERE a.seq = $1 $$;

CREATE FUNCTION sum(bytes bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'sha256:' || encode(sha256(bytes), 'hex') $$;

CREATE FUNCTION put(shelf text, key text, seq bigint, rest text[], bytes bytea) RETURNS void LANGUAGE sql AS $$
  INSERT INTO pulse.thing VALUES (shelf, key, seq, rest, bytes)
  ON CONFLICT ON CONSTRAINT thing_pkey DO UPDATE SET seq = excluded.seq, rest = excluded.rest, bytes = excluded.bytes
$$;

-- lock locks the queue, so that what is read next stays so until the commit.
CREATE FUNCTION lock(OUT format int, OUT unsafe bool, OUT made timestamptz, OUT seq bigint, OUT head text, OUT day text, OUT refused int,
    OUT limited bool, OUT kept int, OUT kept_bytes bigint, OUT counts jsonb, OUT now timestamptz) LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT q.format, q.unsafe, q.made, q.seq, q.head, q.day, q.refused, q.limited, q.kept, q.kept_bytes, q.counts, clock_timestamp()
  INTO format, unsafe, made, seq, head, day, refused, limited, kept, kept_bytes, counts, now FROM pulse.queue q FOR UPDATE;
END $$;

-- touch writes, so that the acknowledgement of this transaction covers all that it has read.
CREATE FUNCTION touch() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ UPDATE pulse.queue SET seq = seq $$;

-- beat keeps a run for two minutes more, and reports whether it is still this login's. A server
-- that lost lines may give the fence of one run to that of another task.
CREATE FUNCTION beat(mine bigint, id text) RETURNS bool LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pulse.run r SET until = clock_timestamp() + interval '120 s' FROM pulse.task t
  WHERE r.fence = mine AND r.task = beat.id AND r.who = session_user AND t.id = r.task AND t.state = 'running';
  RETURN FOUND;
END $$;

-- outward reports whether a task is an effect that reaches the outside.
CREATE FUNCTION outward(t pulse.task) RETURNS bool LANGUAGE sql IMMUTABLE AS $$
  SELECT t.kind = 'effect' AND t.action IN ('external_send', 'destructive', 'code_or_computer')
$$;

-- approval checks what a line says about the task's approval, and keeps it. A line of a person
-- may bring a new one. One without a person may sum up grants that the lines before it have
-- spent on this task, one for each target in turn. Any other line may only keep what is there.
CREATE FUNCTION approval(j jsonb, t pulse.task, at bigint, person bool) RETURNS void LANGUAGE plpgsql AS $$
DECLARE a jsonb := j->'approval'; e text := j->>'event'; old pulse.thing; doc json; dest jsonb;
BEGIN
  SELECT * INTO old FROM pulse.thing WHERE shelf IN ('approvals', 'spent') AND key = t.id ORDER BY shelf LIMIT 1;
  IF a IS NULL AND e IN ('approved', 'requeued') THEN
    PERFORM pulse.refuse('a yes that nobody gave');
  ELSIF a IS NULL THEN
    DELETE FROM pulse.thing WHERE shelf = 'spent' AND key = t.id;
    IF e = 'started' THEN
      UPDATE pulse.thing SET shelf = 'spent' WHERE shelf = 'approvals' AND key = t.id;
    ELSE
      DELETE FROM pulse.thing WHERE shelf = 'approvals' AND key = t.id;
    END IF;
    RETURN;
  ELSIF a->>'task' IS DISTINCT FROM t.id OR a->>'digest' IS DISTINCT FROM t.digest OR a->>'action' IS DISTINCT FROM t.action THEN
    PERFORM pulse.refuse('an approval of something else');
  ELSIF e IN ('approved', 'requeued') THEN
    SELECT pulse.said(convert_from(bytes, 'UTF8')) INTO doc FROM pulse.file WHERE id = t.id;
    dest := '[]'::jsonb || coalesce((doc #> '{request,target}')::jsonb, '[]'); -- it may be a string
    IF a->'target' IS DISTINCT FROM dest THEN
      PERFORM pulse.refuse('an approval for another target');
    ELSIF NOT a ? 'grants' AND NOT person OR a ? 'grants' AND (e <> 'approved' OR NOT pulse.outward(t)
        OR jsonb_array_length(a->'grants') <> greatest(1, jsonb_array_length(dest))
        OR jsonb_array_length(a->'grants') <> (
          SELECT count(*) FROM jsonb_array_elements(a->'grants') WITH ORDINALITY x(g, i),
            LATERAL pulse.said(at - 1 - jsonb_array_length(a->'grants') + i) s
          WHERE s->>'event' = 'consumed' AND s->>'task' = t.id AND s->'grant' = g AND s ? 'more'
            AND (g->>'expires')::timestamptz >= (a->>'expires')::timestamptz
            AND (g->>'task' = t.id OR t.action = 'external_send' AND (NOT g ? 'task' OR g->>'task' = doc #>> '{identity,root}'))
            AND (NOT g ? 'target' OR lower((g->>'target') COLLATE "C") = lower((dest->>(i - 1)::int) COLLATE "C")))) THEN
      PERFORM pulse.refuse('a yes that no person gave');
    END IF;
    PERFORM pulse.put('approvals', t.id, at, NULL, NULL);
  ELSIF pulse.said(old.seq)->'approval' IS DISTINCT FROM a OR pulse.outward(t) AND e <> 'restored' THEN
    PERFORM pulse.refuse('an approval that the task does not have');
  ELSE
    DELETE FROM pulse.thing WHERE shelf = 'spent' AND key = t.id;
    PERFORM pulse.put('approvals', t.id, old.seq, NULL, NULL);
  END IF;
END $$;

-- waited returns for how long, at most, limits have kept an effect from starting since the line
-- of a yes. The limits stand in a policy that is not the server's. But each of them counts
-- starts, and none counts one for longer than a day (a second more, for clocks that differ).
CREATE FUNCTION waited(yes bigint) RETURNS interval LANGUAGE plpgsql STABLE AS $$
DECLARE since timestamptz := pulse.said(yes)->>'time'; upto timestamptz := clock_timestamp(); at timestamptz; total interval := '0 s'; j jsonb;
BEGIN
  FOR j IN SELECT pulse.said(a.line)::jsonb FROM pulse.audit a ORDER BY a.seq DESC LOOP
    at := least(upto, (j->>'time')::timestamptz);
    EXIT WHEN at < since - interval '86401 s';
    IF j->>'event' = 'started' AND j->>'kind' = 'effect' THEN
      total := total + greatest(interval '0 s', least(upto, at + interval '86401 s') - greatest(at, since));
      upto := at;
    END IF;
  END LOOP;
  RETURN least(total, interval '31 days');
END $$;

-- start checks that a task may start now: hold, role, and for what reaches the outside a
-- person's yes, which it spends for good.
CREATE FUNCTION start(j jsonb, t pulse.task, at bigint, hats text[], host text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE yes jsonb; given bigint;
BEGIN
  IF (SELECT held FROM pulse.queue) THEN
    PERFORM pulse.refuse('the queue is on hold');
  ELSIF NOT (CASE t.kind WHEN 'ask' THEN 'runner' ELSE 'sender' END) = ANY (hats) THEN
    PERFORM pulse.refuse(format('this login may not start what is of kind %s', t.kind));
  ELSIF pulse.outward(t) THEN
    SELECT seq, pulse.said(seq)->'approval' INTO given, yes FROM pulse.thing WHERE shelf = 'approvals' AND key = t.id;
    IF NOT coalesce(((yes->>'expires')::timestamptz > clock_timestamp() OR (yes->>'expires')::timestamptz + pulse.waited(given) > clock_timestamp()) AND (pulse.answers(given) OR (
        SELECT bool_and(pulse.answers(n.seq)) FROM jsonb_array_elements(yes->'grants') g JOIN pulse.nonce n ON n.nonce = g->>'id')), false) THEN
      PERFORM pulse.refuse('it reaches the outside, and no person said yes');
    ELSIF yes->>'level' = 'signature' AND NOT yes ? 'grants' THEN
      INSERT INTO pulse.nonce VALUES (yes->>'nonce', at);
    END IF;
  END IF;
  DELETE FROM pulse.start s WHERE s.at < extract(epoch FROM clock_timestamp())::bigint - 2 * 86400;
  INSERT INTO pulse.run VALUES (at, t.id, session_user, host, clock_timestamp() + interval '120 s')
  ON CONFLICT ON CONSTRAINT run_task_key DO UPDATE -- of a run that was cancelled, and whose end nobody has noted
  SET fence = excluded.fence, who = excluded.who, host = excluded.host, until = excluded.until;
END $$;

-- ends checks that a login may end a run: it is the one that it holds, and has taken the
-- fence to it; or nobody holds it any more, and then nobody knows what came of an effect.
CREATE FUNCTION ends(j jsonb, t pulse.task, fence bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r pulse.run;
BEGIN
  IF j->>'event' = 'cancelled' THEN
    RETURN; -- its machine learns it by the next beat, and says when the worker has ended
  END IF;
  DELETE FROM pulse.run WHERE run.task = t.id RETURNING * INTO r;
  IF fence <> 0 AND (r.fence IS DISTINCT FROM fence OR r.who <> session_user) THEN
    RAISE EXCEPTION 'task %: this run was taken back', t.id USING ERRCODE = 'PU001';
  ELSIF fence = 0 AND (r.who <> session_user AND r.until > clock_timestamp()
      OR j->>'event' NOT IN ('restarted', 'undecided', 'gave_up', 'parked', 'broke')
      OR pulse.outward(t) AND j->>'event' <> 'broke' AND NOT coalesce(j->>'event' = 'undecided' AND j->>'reason' = 'effect_unknown'
        AND (j->>'restarts')::bigint > coalesce((pulse.said(t.seq)->>'restarts')::bigint, 0), false)) THEN
    PERFORM pulse.refuse('it is the run of another machine');
  ELSIF j->>'event' = 'restored' THEN
    DELETE FROM pulse.nonce WHERE seq = t.seq;
  END IF;
END $$;

-- move carries out a line that moves a task.
CREATE FUNCTION move(j jsonb, at bigint, entry text, fence bigint, hats text[], host text, blob bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE t pulse.task; e text := j->>'event'; src text := coalesce(j->>'from', ''); dst text := coalesce(j->>'to', '');
BEGIN
  SELECT * INTO t FROM pulse.task WHERE id = j->>'task';
  IF t.state IS DISTINCT FROM src OR t.added > at THEN
    RAISE EXCEPTION 'task % is in %, not in %', j->>'task', coalesce(t.state, 'no state'), src USING ERRCODE = 'PU001';
  ELSIF NOT EXISTS (SELECT FROM pulse.legal l WHERE l.event = e AND l.from_state = src AND l.to_state = dst) THEN
    PERFORM pulse.refuse(format('%s from %s to %s', e, src, dst));
  ELSIF e <> 'broke' AND NOT coalesce(j->>'digest' = t.digest AND j->>'kind' = t.kind AND j->>'action' = t.action, false) THEN
    PERFORM pulse.refuse('a line about another task file');
  ELSIF pulse.outward(t) AND e NOT IN ('requeued', 'pruned', 'broke') AND EXISTS (SELECT FROM pulse.said(t.seq) was, unnest('{attempts,restarts}'::text[]) m
      WHERE coalesce((j->>m)::bigint, 0) < coalesce((was->>m)::bigint, 0)) THEN
    PERFORM pulse.refuse('an effect that would have been started less often than it was');
  ELSIF e = 'carried_out' AND (t.kind <> 'effect' OR t.action <> 'write_local') THEN
    PERFORM pulse.refuse('an effect that is not on the queue itself');
  END IF;
  IF e = 'started' THEN
    PERFORM pulse.start(j, t, at, hats, host);
    INSERT INTO pulse.start VALUES (at, floor(extract(epoch FROM (j->>'time')::timestamptz)), entry);
  ELSIF src = 'running' THEN
    PERFORM pulse.ends(j, t, fence);
  END IF;
  IF e = 'pruned' THEN
    DELETE FROM pulse.task WHERE id = t.id;
    DELETE FROM pulse.file WHERE id = t.id;
    DELETE FROM pulse.thing WHERE key = t.id AND shelf IN ('results', 'extracts');
    IF j ? 'result' THEN
      DELETE FROM pulse.thing WHERE (shelf, key) = ('drafts', t.id) AND pulse.sum(bytes) = j->>'result';
      IF NOT FOUND THEN
        PERFORM pulse.refuse('a draft that is not there as it was written');
      END IF;
    END IF;
    PERFORM pulse.put('pruned', t.id, at, NULL, NULL);
    RETURN;
  END IF;
  IF e IN ('extracted', 'carried_out') AND j ? 'result' THEN
    PERFORM pulse.staged(CASE e WHEN 'extracted' THEN 'extracts' ELSE 'drafts' END, t.id, at, j->>'result', blob);
  END IF;
  IF e NOT IN ('extracted', 'carried_out') AND j ? 'result' THEN
    PERFORM pulse.staged('results', t.id, at, j->>'result', blob);
  ELSIF src = 'running' THEN
    DELETE FROM pulse.thing WHERE shelf = 'results' AND key = t.id;
  END IF;
  PERFORM pulse.approval(j, t, at, 'approver' = ANY (hats));
  t.state := dst;
  UPDATE pulse.task SET seq = at, state = dst, entry = pulse.agenda(move.entry, t),
    n = CASE e WHEN 'requeued' THEN at ELSE n END WHERE id = t.id;
END $$;

-- agenda checks that an entry is of this task in its state, and is nothing for a closed one.
CREATE FUNCTION agenda(entry text, t pulse.task) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF t.state NOT IN ('scheduled', 'awaiting_review', 'running') THEN
    RETURN NULL;
  ELSIF left(entry, 86) IS DISTINCT FROM concat_ws(' ', left(t.state, 1), t.id, substr(t.digest, 8, 32), rpad(t.action, 16), CASE t.kind WHEN 'effect' THEN 'e' ELSE 'a' END)
      OR substr(entry, 87) !~ '^ [-xXm] [0-9a-f]{16} [0-9]{10}[ +!][0-9]{10}\n$' THEN
    PERFORM pulse.refuse('an entry of another task');
  END IF;
  RETURN entry;
END $$;

-- staged keeps bytes that are of the digest in the line.
CREATE FUNCTION staged(shelf text, key text, at bigint, digest text, bytes bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pulse.sum(bytes) IS DISTINCT FROM digest THEN
    PERFORM pulse.refuse('bytes of another digest');
  END IF;
  PERFORM pulse.put(shelf, key, at, NULL, bytes);
END $$;

-- note carries out a line that moves no task.
CREATE FUNCTION note(j jsonb, at bigint, entry text, blob bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE e text := j->>'event'; id text := j->>'task'; old pulse.thing; was jsonb; t pulse.task; words text[];
BEGIN
  IF j ? 'to' OR EXISTS (SELECT FROM pulse.legal l WHERE l.event = e) THEN
    PERFORM pulse.refuse('a line that moves a task, or does not');
  END IF;
  IF e IN ('granted', 'session_opened') THEN
    IF coalesce(j #> '{grant,any}' = 'true', false) = coalesce(j->'grant' ? 'target', true) OR e = 'session_opened' AND NOT coalesce(
        (j #>> '{session,max}')::int BETWEEN 1 AND 100 AND j #> '{session,left}' = j #> '{session,max}' AND j #>> '{session,sender}' > ''
        AND (j #>> '{session,opened}')::timestamptz < (j #>> '{session,expires}')::timestamptz, false) THEN
      PERFORM pulse.refuse('a grant or a session without its bounds');
    END IF;
    INSERT INTO pulse.nonce VALUES (nullif(coalesce(j #>> '{grant,id}', j #>> '{session,id}'), ''), at);
    PERFORM pulse.put(CASE e WHEN 'granted' THEN 'grants' ELSE 'sessions' END, coalesce(j #>> '{grant,id}', j #>> '{session,id}'), at, NULL, NULL);
  ELSIF e IN ('revoked', 'consumed') THEN
    IF e = 'consumed' AND (SELECT held FROM pulse.queue) THEN
      PERFORM pulse.refuse('the queue is on hold');
    END IF;
    DELETE FROM pulse.thing WHERE shelf = 'grants' AND key = j #>> '{grant,id}' RETURNING * INTO old;
    IF old IS NULL OR pulse.said(old.seq)->'grant' IS DISTINCT FROM j->'grant' THEN
      RAISE EXCEPTION 'there is no such grant' USING ERRCODE = 'PU001';
    ELSIF id IS NOT NULL AND NOT pulse.answers(old.seq) THEN
      PERFORM pulse.refuse('a grant that is no yes');
    END IF;
  ELSIF e IN ('session_used', 'session_ended') THEN
    SELECT * INTO old FROM pulse.thing WHERE shelf = 'sessions' AND key = j #>> '{session,id}';
    was := pulse.said(old.seq)->'session';
    IF was IS NULL OR was - 'left' IS DISTINCT FROM (j->'session') - 'left'
        OR (was->>'left')::int - (CASE e WHEN 'session_used' THEN 1 ELSE 0 END) IS DISTINCT FROM (j #>> '{session,left}')::int THEN
      PERFORM pulse.refuse('a session that is not there, or with other uses left');
    ELSIF e = 'session_ended' OR (j #>> '{session,left}')::int = 0 AND was->>'level' <> 'signature' THEN
      DELETE FROM pulse.thing WHERE shelf = 'sessions' AND key = old.key;
    ELSE
      PERFORM pulse.put('sessions', old.key, at, NULL, NULL);
    END IF;
  ELSIF e = 'labelled' THEN
    SELECT array_agg(x->>'label') INTO words FROM jsonb_array_elements(j->'labels') x;
    SELECT * INTO old FROM pulse.thing WHERE shelf = 'labels' AND key = id;
    IF words IS NULL OR NOT coalesce(old.rest <@ words, true) OR cardinality(words) <> (SELECT count(DISTINCT x) FROM unnest(words) x) THEN
      PERFORM pulse.refuse('labels do not go away, and each is there once');
    END IF;
    PERFORM pulse.put('labels', id, at, words, NULL);
  ELSIF e = 'refused' THEN
    IF j ? 'digest' THEN
      IF (j->>'size')::bigint IS DISTINCT FROM octet_length(blob) OR EXISTS (SELECT FROM pulse.thing WHERE shelf = 'refused' AND key = id) THEN
        PERFORM pulse.refuse('a record of another size, or that is kept already');
      END IF;
      PERFORM pulse.staged('refused', id, at, j->>'digest', blob);
      UPDATE pulse.queue SET kept = kept + 1, kept_bytes = kept_bytes + octet_length(blob);
    END IF;
  ELSIF e = 'forgotten' THEN
    DELETE FROM pulse.thing WHERE shelf = 'refused' AND key = id RETURNING * INTO old;
    IF NOT coalesce(octet_length(old.bytes) = (j->>'size')::bigint, false) THEN
      RAISE EXCEPTION 'nothing is kept of %', id USING ERRCODE = 'PU001';
    END IF;
    UPDATE pulse.queue SET kept = kept - 1, kept_bytes = kept_bytes - octet_length(old.bytes);
  ELSIF e = 'resurfaced' THEN
    SELECT * INTO t FROM pulse.task WHERE task.id = j->>'task' AND added < at AND state = j->>'state' AND state IN ('scheduled', 'awaiting_review', 'completed');
    was := pulse.said(t.seq);
    IF was IS NULL THEN
      RAISE EXCEPTION 'task % is not there any more', id USING ERRCODE = 'PU001';
    ELSIF j->'since' IS DISTINCT FROM coalesce(was->'since', was->'time')
        OR EXISTS (SELECT FROM unnest('{kind,action,digest,attempts,deferred,restarts,not_before,reason}'::text[]) m WHERE j->m IS DISTINCT FROM was->m) THEN
      PERFORM pulse.refuse('a task that was another before');
    END IF;
    UPDATE pulse.task SET seq = at, entry = pulse.agenda(note.entry, t) WHERE task.id = t.id;
  ELSIF e = 'ended' THEN
    DELETE FROM pulse.run USING pulse.task WHERE run.task = j->>'task' AND run.who = session_user AND task.id = run.task AND task.state <> 'running';
  ELSIF e = 'finding' THEN
    id := left(encode(sha256(convert_to(format('%s %s', j #>> '{finding,code}', j #>> '{finding,about}'), 'UTF8')), 'hex'), 32);
    IF j #>> '{finding,what}' = 'closed' THEN
      DELETE FROM pulse.thing WHERE shelf = 'findings' AND key = id;
    ELSIF j->'finding' ?& '{what,code,told}' THEN
      PERFORM pulse.put('findings', id, at, NULL, NULL);
    ELSE
      PERFORM pulse.refuse('a finding without its members');
    END IF;
  ELSIF e = 'held' THEN
    UPDATE pulse.queue SET held = true;
    PERFORM pulse.put('hold', '', at, NULL, NULL);
  ELSIF e = 'released' THEN
    UPDATE pulse.queue SET held = false;
    DELETE FROM pulse.thing WHERE shelf = 'hold';
  ELSIF e IN ('clock_jumped', 'clock_confirmed') THEN
    PERFORM pulse.put('clock', '', at, NULL, NULL);
    IF e = 'clock_jumped' THEN -- for a day, the client counts these from the log
      DELETE FROM pulse.start s WHERE s.at > extract(epoch FROM (j->>'time')::timestamptz);
    END IF;
  END IF;
END $$;

-- aside carries out what a line says about proposals and positions.
CREATE FUNCTION aside(j jsonb, at bigint, blob bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE ids text[]; sums text[]; text text := convert_from(blob, 'UTF8');
BEGIN
  IF jsonb_array_length(j->'proposed') > 0 THEN
    SELECT array_agg(p->>'id' ORDER BY o), array_agg(p->>'digest' ORDER BY o) INTO ids, sums FROM jsonb_array_elements(j->'proposed') WITH ORDINALITY x(p, o);
    IF right(text, 1) <> E'\n' OR array_position(ids, NULL) > 0 OR sums IS DISTINCT FROM (
        SELECT array_agg(pulse.sum(convert_to(l, 'UTF8')) ORDER BY o) FROM unnest(string_to_array(left(text, -1), E'\n')) WITH ORDINALITY x(l, o)) THEN
      PERFORM pulse.refuse('proposals of other digests');
    END IF;
    PERFORM pulse.put('outbox', j->>'task', at, ids, blob);
  ELSIF j ? 'parent' AND j->>'event' <> 'noted' THEN
    DELETE FROM pulse.thing WHERE (shelf, key) = ('outbox', j->>'parent') AND rest <@ ARRAY[j->>'task'];
    UPDATE pulse.thing SET rest = array_remove(rest, j->>'task') WHERE (shelf, key) = ('outbox', j->>'parent');
  END IF;
  IF j ? 'positions' THEN
    INSERT INTO pulse.thing SELECT 'positions', encode(substr(sha256(convert_to(p->>'source', 'UTF8')), 1, 16), 'hex'), at
    FROM jsonb_array_elements(j->'positions') p ON CONFLICT ON CONSTRAINT thing_pkey DO UPDATE SET seq = excluded.seq;
  END IF;
END $$;

-- adds carries out the asks that lines add, all at once.
CREATE FUNCTION adds(js jsonb[], base bigint, entries text[], shelves text[], keys text[], blobs bytea[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE bad text;
BEGIN
  SELECT j->>'task' INTO bad FROM unnest(js) j JOIN pulse.thing p ON p.shelf = 'pruned' AND p.key = j->>'task' WHERE j->>'event' = 'added' LIMIT 1;
  IF bad IS NOT NULL THEN
    RAISE EXCEPTION 'task % was there already', bad USING ERRCODE = 'PU001';
  END IF;
  WITH new AS (
    SELECT j->>'task' AS id, base + i AS at, j->>'to' AS state, j->>'kind' AS kind, j->>'action' AS act, j->>'digest' AS digest, j->>'known_as' AS known_as, l.entry, b.bytes,
      coalesce(j->>'from', '') = '' AND EXISTS (SELECT FROM pulse.legal l WHERE l.event = 'added' AND l.to_state = j->>'to')
        AND j->>'kind' IN ('ask', 'effect')
        AND NOT (j->>'kind' = 'effect' AND j->>'action' IN ('external_send', 'destructive', 'code_or_computer') AND j->>'to' <> 'awaiting_review')
        AND pulse.sum(b.bytes) = j->>'digest' AS fine
    FROM unnest(js, entries) WITH ORDINALITY l(j, entry, i)
    LEFT JOIN (SELECT * FROM unnest(shelves, keys, blobs) x(shelf, key, bytes)) b ON b.shelf = j->>'to' AND b.key = j->>'task'
    WHERE j->>'event' = 'added'),
  files AS (INSERT INTO pulse.file SELECT id, CASE WHEN fine THEN bytes END FROM new),
  taken AS (INSERT INTO pulse.thing SELECT 'names', known_as, at FROM new WHERE known_as IS NOT NULL)
  INSERT INTO pulse.task SELECT id, at, at, at, state, kind, act, digest, pulse.agenda(entry, (id, at, at, at, state, kind, act, digest, NULL)::pulse.task) FROM new;
EXCEPTION
  WHEN unique_violation THEN RAISE EXCEPTION 'a task was there already' USING ERRCODE = 'PU001';
END $$;

-- commit is the only way to change a queue: lines for the log, what was staged with them, and
-- how many refusals are only counted. The caller has called lock in this transaction.
CREATE FUNCTION commit(lines text[], entries text[], fences bigint[], unlisted int, shelves text[], keys text[], blobs bytea[], host text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET jit = off SET standard_conforming_strings = on AS $$
DECLARE
  q pulse.queue; js jsonb[]; n int := coalesce(cardinality(lines), 0); hats text[]; bad text; j jsonb; e text; i int;
  blob bytea; dims text := '[1:' || n || ']';
BEGIN
  SELECT * INTO q FROM pulse.queue FOR UPDATE;
  hats := pulse.hats(session_user);
  IF 'owner' = ANY (hats) THEN
    PERFORM pulse.refuse('this login could change the past');
  ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM pulse.refuse('a picture in which a login may have a role that it lost');
  ELSIF q.format <> 1 OR n > 0 AND (array_dims(lines), array_dims(entries), array_dims(fences)) IS DISTINCT FROM (dims, dims, dims)
      OR NOT coalesce(unlisted BETWEEN 0 AND 10000 AND octet_length(host) < 256, false) OR unlisted > 0 AND NOT 'gate' = ANY (hats) THEN
    PERFORM pulse.refuse('arguments that no client gives');
  ELSIF array_position(fences, NULL) > 0 OR EXISTS (SELECT FROM unnest(blobs) b WHERE octet_length(b) > 134217728) THEN -- who reads them needs as much memory
    PERFORM pulse.refuse('arguments that no client gives');
  END IF;
  SELECT array_agg(pulse.said(l)::jsonb ORDER BY o) INTO js FROM unnest(lines) WITH ORDINALITY x(l, o);
  -- The chain, the form of each line, and who may write it.
  SELECT CASE WHEN doc->>'prev' IS DISTINCT FROM last THEN 'PU001' ELSE coalesce(doc->>'event', '?') END INTO bad FROM (
    SELECT line, doc, o, coalesce(pulse.sum(convert_to(lag(line) OVER (ORDER BY o), 'UTF8')), q.head) last
    FROM unnest(lines, js) WITH ORDINALITY x(line, doc, o)) l
  WHERE doc->>'prev' IS DISTINCT FROM last OR pulse.controls(line) OR octet_length(line) > 4194304
    OR NOT pulse.sound('@line', pulse.said(line)) OR NOT doc ?& '{time,event,prev}' OR (doc ? 'more') <> (o < n)
    OR NOT EXISTS (SELECT FROM pulse.may m WHERE m.event = doc->>'event' AND m.hat = ANY (hats))
    OR doc ? 'positions' AND NOT 'gate' = ANY (hats)
    OR EXISTS (SELECT FROM (VALUES ('state', 'resurfaced'), ('grant', 'granted revoked consumed'), ('session', 'session_opened session_used session_ended'),
        ('labels', 'labelled'), ('finding', 'finding'), ('known_as', 'added'), ('proposed', 'finished retried gave_up restarted parked'), ('parent', 'added refused settled noted'),
        ('approval', 'approved requeued started extracted retried restarted restored'),
        ('result', 'finished extracted retried gave_up restarted undecided restored parked carried_out pruned')) v(m, es)
      WHERE doc ? m AND NOT doc->>'event' = ANY (string_to_array(es, ' '))) LIMIT 1;
  IF bad = 'PU001' THEN
    RAISE EXCEPTION 'the log is longer than this command has seen' USING ERRCODE = 'PU001';
  ELSIF bad IS NOT NULL THEN
    PERFORM pulse.refuse(format('no such line may be written by %s: %s', session_user, bad));
  END IF;
  IF EXISTS (SELECT FROM unnest(js) x(doc) WHERE doc->>'event' = 'added') THEN
    PERFORM pulse.adds(js, q.seq, entries, shelves, keys, blobs);
  END IF;
  INSERT INTO pulse.audit SELECT q.seq + o, line, session_user, hats = '{approver}' FROM unnest(lines) WITH ORDINALITY x(line, o);
  FOR i IN 1 .. n LOOP
    j := js[i]; e := j->>'event'; blob := NULL;
    IF e <> 'added' OR j ?| '{parent,positions}' THEN
      IF cardinality(blobs) > 0 THEN
        SELECT x.b INTO blob FROM unnest(shelves, keys, blobs) x(s, k, b) WHERE x.k = j->>'task' AND x.s = pulse.shelf(j);
      END IF;
      IF j ? 'from' THEN
        PERFORM pulse.move(j, q.seq + i, entries[i], fences[i], hats, host, blob);
      ELSIF e <> 'added' THEN
        PERFORM pulse.note(j, q.seq + i, entries[i], blob);
      END IF;
      PERFORM pulse.aside(j, q.seq + i, (SELECT x.b FROM unnest(shelves, keys, blobs) x(s, k, b) WHERE x.s = 'outbox' AND x.k = j->>'task'));
    END IF;
  END LOOP;
  PERFORM pulse.account(js, unlisted, q.seq + n, coalesce(pulse.sum(convert_to(lines[n], 'UTF8')), q.head));
  RETURN q.seq + n;
END $$;

-- shelf returns where the bytes of a line's digest were staged.
CREATE FUNCTION shelf(j jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE j->>'event' WHEN 'refused' THEN 'refused' WHEN 'extracted' THEN 'extracts' WHEN 'carried_out' THEN 'drafts' ELSE 'results' END
$$;

-- account counts what the lines changed, and moves the head of the log.
CREATE FUNCTION account(js jsonb[], unlisted int, at bigint, tip text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE q pulse.queue; delta jsonb; d text; r record;
BEGIN
  SELECT * INTO q FROM pulse.queue;
  FOR r IN SELECT j->>'event' AS e, substr(j->>'time', 1, 10) AS d FROM unnest(js) WITH ORDINALITY x(j, o) WHERE j->>'event' IN ('refused', 'limited') ORDER BY o LOOP
    IF q.day <> r.d THEN
      q.day := r.d; q.refused := 0; q.limited := false;
    END IF;
    q.refused := q.refused + CASE r.e WHEN 'refused' THEN 1 ELSE 0 END;
    q.limited := q.limited OR r.e = 'limited';
  END LOOP;
  SELECT jsonb_object_agg(st, coalesce((q.counts->>st)::bigint, 0) + c) INTO delta FROM (
    SELECT st, sum(c) AS c FROM unnest(js) j, LATERAL (VALUES (j->>'from', -1), (j->>'to', 1)) v(st, c)
    WHERE st <> '' GROUP BY st) x;
  UPDATE pulse.queue SET seq = at, head = tip, day = q.day, refused = q.refused + unlisted, limited = q.limited, counts = counts || coalesce(delta, '{}');
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pulse FROM PUBLIC;
GRANT USAGE ON SCHEMA pulse TO pulse_gate, pulse_runner, pulse_sender, pulse_approver, pulse_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA pulse TO pulse_gate, pulse_runner, pulse_sender, pulse_approver;
GRANT SELECT ON queue, audit, task, start, run, nonce, may, legal, member TO pulse_reader;
GRANT SELECT (shelf, key, seq, rest) ON thing TO pulse_reader;
GRANT SELECT (id) ON file TO pulse_reader;
GRANT EXECUTE ON FUNCTION lock, touch, beat, commit TO pulse_gate, pulse_runner, pulse_sender, pulse_approver;
GRANT EXECUTE ON FUNCTION hats TO pulse_gate, pulse_runner, pulse_sender, pulse_approver, pulse_reader;
INSERT INTO queue DEFAULT VALUES;
RESET ROLE;
