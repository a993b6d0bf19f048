-- What writes a queue, and believes nothing of a client that it can make or check itself: who may
-- write a line of an event, when, and how it looks; from where the task comes, whose run it is,
-- whose yes. init --upgrade replaces all that is here.
-- may says which hat lets a login write a line of an event.
CREATE TABLE may (event text, hat text, PRIMARY KEY (event, hat));
INSERT INTO may SELECT e, h FROM (VALUES
  ('gate',                        'added refused limited settled session_used read forgotten pruned'),
  ('gate runner sender approver', 'continued session_ended withheld labelled resurfaced held finding clock_jumped'),
  ('runner sender',               'started finished retried gave_up restarted undecided restored parked dropped broke closed carried_out judged ended noted expired discarded'),
  ('runner',                      'extracted'),
  ('sender approver',             'approved consumed'),
  ('approver',                    'added partly denied cancelled requeued granted revoked session_opened released resumed clock_confirmed'))
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
  ('continued', ARRAY['completed'], ARRAY['scheduled']), ('pruned', ARRAY['completed', 'rejected', 'failed'], ARRAY['']),
  ('broke', ARRAY['scheduled', 'awaiting_review', 'running', 'completed', 'rejected', 'failed'], ARRAY['corrupt']))
  AS v(e, fs, ts), unnest(fs) f, unnest(ts) t;

-- member says what a member of a line looks like, and in which order they stand, so that every
-- client reads the line that a queue in a directory would have. The form is a pattern for the JSON
-- text; | and each text that there may be; or @ and the name of a form that needs more, or what the
-- object, or each element of the array, is. An object always has what begins with !.
CREATE TABLE member (of text PRIMARY KEY, forms jsonb NOT NULL, names text[] NOT NULL, need text[] NOT NULL) WITH (toast_tuple_target = 8160); -- what is compressed is slow to read
INSERT INTO member SELECT w, jsonb_object_agg(ltrim(n, '!'), coalesce(is_a, f)), array_agg(ltrim(n, '!') ORDER BY r, o),
  coalesce(array_agg(ltrim(n, '!') ORDER BY r, o) FILTER (WHERE n LIKE '!%'), '{}')
FROM (SELECT row_number() OVER () AS r, * FROM (VALUES
  ('line', '@time', '!time'), ('line', '"[a-z_]+"', '!event'), ('line', 'id', 'task'), ('line', 'kind', 'kind'), ('line', 'state', 'from to state'),
  ('line', '@time', 'since before began'), ('line', 'sum', 'digest'), ('line', 'much', 'size'), ('line', '@words', 'not_kept'),
  ('line', 'count', 'attempts'), ('line', 'some', 'deferred'), ('line', 'count', 'restarts'), ('line', 'some', 'continues revisions'), ('line', '@time', 'not_before'), ('line', '@words', 'reason'),
  ('line', '@time', 'told'), ('line', 'sum', 'result'), ('line', '0|-?[1-9][0-9]{0,8}', 'exit'), ('line', '@words', 'said'),
  ('line', '@[proposed', 'proposed'), ('line', 'id', 'parent'), ('line', 'some', 'count'), ('line', '@[text', 'target'), ('line', 'id', 'answers thread'),
  ('line', '@words', 'tool'), ('line', 'action', 'action'), ('line', 'outcome', 'outcome'), ('line', '@words', 'rule policy sender'), ('line', 'trust', 'trust'),
  ('line', '@identity', 'identity'), ('line', '@words', 'source'), ('line', '@uint32', 'uid'), ('line', '@words', 'message_id'), ('line', 'id', 'known_as'),
  ('line', '@words', 'sandbox account by'), ('line', 'level', 'level'), ('line', '@approval', 'approval'), ('line', '@grant', 'grant'),
  ('line', '@session', 'session'), ('line', '@[label', 'labels'), ('line', '@[position', 'positions'), ('line', '@finding', 'finding'), ('line', 'true', 'more'), ('line', 'sum', '!prev'),
  ('identity', '@words', '!reason'),
  ('approval', 'id', '!task'), ('approval', 'sum', '!digest'), ('approval', 'action', '!action'), ('approval', '@texts', '!target'), ('approval', 'true', 'text'),
  ('approval', '@text', '!by'), ('approval', 'level', '!level'), ('approval', '@text', '!nonce'), ('approval', '@time', '!given !expires'),
  ('approval', '@words', 'signer signature'), ('approval', '@[grant', 'grants'),
  ('grant', 'name', '!id'), ('grant', '@words', 'target'), ('grant', 'true|false', '!any'), ('grant', 'id', 'task'), ('grant', '@text', '!by'), ('grant', 'level', '!level'),
  ('grant', '@time', '!given !expires'), ('grant', '@words', 'signer signature'),
  ('session', 'name', '!id'), ('session', '@words', '!sender'), ('session', 'uses', '!max !left'), ('session', '@text', '!by'), ('session', 'level', '!level'),
  ('session', '@time', '!opened !expires'), ('session', '@words', 'signer signature'),
  ('label', 'private|untrusted', '!label'), ('label', '@words', 'by task'), ('label', '@time', 'at'),
  ('proposed', 'id', '!id'), ('proposed', 'sum', '!digest'),
  ('finding', 'told', '!what'), ('finding', '"[a-z_]+"', '!code'), ('finding', '@words', 'about'), ('finding', '@text', '!text'), ('finding', '@time', 'since !told'),
  ('position', '@words', '!source'), ('position', '@uint32', '!uidvalidity !uid'), ('position', '@time', 'received'))
  AS v(w, f, ns)) v LEFT JOIN (VALUES
  ('id', '@id'), ('sum', '@sum'), ('name', '"[!#-Z^-~]+"'), ('count', '0|[1-9][0-9]{0,8}'), ('some', '[1-9][0-9]{0,8}'),
  ('much', '[1-9][0-9]{0,15}'), ('uses', '0|[1-9][0-9]?|100'), ('kind', '|"ask"|"effect"|'), ('level', '|"terminal"|"user"|"signature"|'),
  ('private|untrusted', '|"private"|"untrusted"|'), ('told', '|"opened"|"told"|"closed"|'), ('state', '|"scheduled"|"awaiting_review"|"running"|"completed"|"rejected"|"failed"|"corrupt"|'),
  ('action', '|"read_public"|"read_private"|"write_local"|"external_send"|"destructive"|"code_or_computer"|'),
  ('outcome', '|"allow"|"require_owner_confirmation"|"queue_for_review"|"reject"|'),
  ('trust', '|"unknown"|"owner_claim_unverified"|"external_verified"|"owner_verified_email"|"approved_session"|"system"|')) s(name, is_a) ON s.name = v.f,
  unnest(string_to_array(ns, ' ')) WITH ORDINALITY x(n, o) GROUP BY w;

-- refuse refuses a commit, and says which task its line is about.
CREATE FUNCTION refuse(why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', why USING ERRCODE = 'PU002', DETAIL = coalesce(current_setting('pulse.task', true), '');
END $$;

-- plain reports whether the JSON text of a string is as pulse writes it: what a terminal obeys, or
-- doesn't show, is escaped, in one way, and nothing else is. fdd0 stands for NUL here.
CREATE FUNCTION plain(t text) RETURNS bool LANGUAGE sql IMMUTABLE AS $$
  SELECT t ~ '^"[ !#-\[\]-~]*"$' OR t ~ ('^"([^"\\\u0001-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb'
    || '\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]|\\(["\\nrt]'
    || '|u(00(0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f]|ad)|060[0-5]|061c|06dd|070f|089[01]|08e2|180e|200[b-f]|202[89a-e]|206[0-46-9a-f]|feff|fff[9ab]|fdd0'
    || '|d804\\udcbd|d804\\udccd|d80d\\udc3[0-9a-f]|d82f\\udca[0-3]|d834\\udd7[3-9a]|db40\\udc(01|[2-7][0-9a-f]))))*"$')
$$;

-- form returns a value as pulse writes it, or NULL if it does not have a form. Whatever is in own,
-- by the name of the object and of the member, stands in the place of what the client says.
CREATE FUNCTION form(form text, v json, own jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE t text := v::text; m pulse.member; mine jsonb;
BEGIN
  IF form = '@identity' AND t ~ '^\{"reason":"[ !#-\[\]-~]+"\}$' THEN
    RETURN t; -- as pulse writes it, for which there need be no plan
  ELSIF form = '@text' THEN
    RETURN CASE WHEN pulse.plain(t) THEN t END;
  ELSIF form = '@words' THEN
    RETURN CASE WHEN t <> '""' AND pulse.plain(t) THEN t END;
  ELSIF form = '@id' THEN -- to count in a pattern is slow
    RETURN CASE WHEN length(t) = 34 AND t ~ '^"[0-9a-f]*"$' THEN t END;
  ELSIF form = '@sum' THEN
    RETURN CASE WHEN length(t) = 73 AND t ~ '^"sha256:[0-9a-f]*"$' THEN t END;
  ELSIF form = '@time' THEN
    RETURN CASE WHEN t ~ '^"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,8}[1-9])?Z"$' AND (v #>> '{}')::timestamptz IS NOT NULL THEN t END;
  ELSIF form = '@uint32' THEN
    RETURN CASE WHEN t ~ '^(0|[1-9][0-9]{0,9})$' AND t::bigint < 4294967296 THEN t END;
  ELSIF form = '@texts' THEN
    RETURN CASE WHEN t = '[]' THEN t ELSE pulse.form('@[text', v, own) END;
  ELSIF form LIKE '@[%' THEN
    RETURN (SELECT CASE WHEN bool_and(e IS NOT NULL) THEN '[' || string_agg(e, ',' ORDER BY o) || ']' END
      FROM (SELECT pulse.form('@' || substr(form, 3), e, own), o FROM json_array_elements(CASE json_typeof(v) WHEN 'array' THEN v END) WITH ORDINALITY x(e, o)) y(e, o));
  END IF;
  IF json_typeof(v) <> 'object' THEN
    RETURN NULL;
  END IF;
  SELECT * INTO m FROM pulse.member x WHERE x.of = substr(form, 2);
  mine := coalesce(own->m.of, '{}');
  RETURN (SELECT CASE WHEN bool_and(part IS NOT NULL) AND count(*) = count(DISTINCT name) AND count(*) FILTER (WHERE name = ANY (m.need)) = cardinality(m.need)
      THEN '{' || string_agg('"' || name || '":' || part, ',' ORDER BY array_position(m.names, name)) || '}' END
    FROM (SELECT key, CASE WHEN m.forms->>key LIKE '@%' THEN pulse.form(m.forms->>key, value, own) WHEN strpos(m.forms->>key, '|' || value::text || '|') > 0 OR value::text ~ ('^(' || (m.forms->>key) || ')$') THEN value::text END
        FROM json_each(v) WHERE NOT mine ? key
      UNION ALL SELECT key, value FROM jsonb_each_text(mine) WHERE value IS NOT NULL) x(name, part));
END $$;

-- hats returns the roles of pulse that a login has; of a superuser, that he is the owner. What a
-- role gave by itself does not count: before PostgreSQL 15, any may make another a member of itself.
CREATE FUNCTION hats(login name) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (WITH RECURSIVE up AS (SELECT to_regrole(quote_ident(login))::oid AS oid UNION SELECT m.roleid FROM up JOIN pg_catalog.pg_auth_members m ON m.member = up.oid AND m.grantor <> m.roleid)
    SELECT coalesce(array_agg(hat), '{}') FROM unnest('{approver,gate,owner,reader,runner,sender}'::text[]) hat
    WHERE to_regrole('pulse_' || hat)::oid IN (SELECT oid FROM up) OR hat = 'owner' AND pg_catalog.pg_has_role(to_regrole(quote_ident(login)), 'pulse_owner', 'MEMBER'));
END $$;

-- answers reports whether the line was written by a person: an approver, and nothing else, then
-- and now. Lines of the owner, who can't log in, came with a copy from another queue.
CREATE FUNCTION answers(line bigint) RETURNS bool LANGUAGE sql STABLE AS $$
  SELECT a.who = 'pulse_owner' OR a.alone AND pulse.hats(a.who) = '{approver}' FROM pulse.audit a WHERE a.seq = $1
$$;

-- nul puts one escape in the place of another. No text here can hold NUL, which a stranger may put
-- into a Message-ID.
CREATE FUNCTION nul(line text, this text, that text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN strpos(line, this) > 0 THEN regexp_replace(line, '(?<!\\)((\\\\)*)\' || this, '\1' || that, 'g') ELSE line END
$$;

-- said returns a line of the log.
CREATE FUNCTION said(line text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$ SELECT pulse.nul(line, '\u0000', '\ufffd')::jsonb $$;
CREATE FUNCTION said(line bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT pulse.said(a.line) FROM pulse.audit a WHERE a.seq = $1); END $$;

-- now returns the time of a commit. It does not lie before the last line of the log, unless the
-- clock is back by an hour: then the log says so (package queue, Clock), as that of any clock.
CREATE FUNCTION now(client timestamptz, log timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
DECLARE c timestamptz := clock_timestamp(); BEGIN RETURN CASE WHEN log < c + interval '1 hour' THEN greatest(c, log) ELSE c END; END $$;

-- most returns for how long a yes, or one that was signed elsewhere, is good at most.
CREATE FUNCTION most(signed bool) RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN signed THEN interval '31 days 1 hour' ELSE interval '24 hours' END $$;

-- stamp writes a time, and quoted plain words, as pulse does.
CREATE FUNCTION stamp(t timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT '"' || to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || rtrim(rtrim(to_char(t AT TIME ZONE 'UTC', '.US'), '0'), '.') || 'Z"'
$$;
CREATE FUNCTION quoted(words text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '"' || regexp_replace(words, '[^ !#-\[\]-~]', '?', 'g') || '"' $$;

-- seconds returns a time of a line in whole seconds, as an entry has it: rounded up or down.
CREATE FUNCTION seconds(t text, up bool) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT lpad(least(greatest(extract(epoch FROM (substr(t, 1, 19) || 'Z')::timestamptz)::bigint + CASE WHEN up AND t LIKE '%.%' THEN 1 ELSE 0 END, 0), 9999999999)::text, 10, '0')
$$;

-- same reports whether two targets are one: an address is in any case, and all else is kept in its
-- form (package address, Spell), in which a capital makes another. The pattern is that of Split.
CREATE FUNCTION same(a text, b text) RETURNS bool LANGUAGE sql IMMUTABLE AS $$
  SELECT a = b OR lower(a COLLATE "C") = lower(b COLLATE "C") AND length(a) < 255
    AND lower(a COLLATE "C") ~ ('^(?=[^@]{1,64}@)[a-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&''*+/=?^_`{|}~-]+)*'
      || '@[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$')
$$;

CREATE FUNCTION sum(bytes bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'sha256:' || encode(sha256(bytes), 'hex') $$;

CREATE FUNCTION put(shelf text, key text, seq bigint, rest text[], bytes bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN INSERT INTO pulse.thing VALUES (shelf, key, seq, rest, bytes) ON CONFLICT ON CONSTRAINT thing_pkey DO UPDATE SET seq = excluded.seq, rest = excluded.rest, bytes = excluded.bytes; END $$;

-- lock locks the queue, so that what is read next stays so until the commit.
CREATE FUNCTION lock(OUT format int, OUT seq bigint, OUT head text, OUT day text, OUT refused int, OUT limited bool, OUT kept int,
    OUT kept_bytes bigint, OUT counts text, OUT now bigint) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT q.format, q.seq, q.head, q.day, q.refused, q.limited, q.kept, q.kept_bytes, q.counts
  INTO format, seq, head, day, refused, limited, kept, kept_bytes, counts FROM pulse.queue q FOR UPDATE;
  now := extract(epoch FROM pulse.now(NULL, NULL)) * 1000000;
END $$;

-- kept returns what is kept under keys, with the line that made it and the login that wrote that: a task, with its state
-- in rest, the things on some shelves, and, under '', the beginning of the last line. It has its caller's rights, and a plan.
CREATE FUNCTION kept(keys text[], shelves text[]) RETURNS TABLE (key text, shelf text, line text, rest text, who name, alone bool) LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  RETURN QUERY SELECT t.key, t.shelf, a.line, array_to_string(t.rest, ' '), a.who, a.alone
    FROM unnest(keys) k, unnest(shelves) s, pulse.thing t, pulse.audit a WHERE (t.shelf, t.key) = (s, k) AND a.seq = t.seq
    UNION ALL SELECT t.id, NULL, a.line, t.state, a.who, a.alone FROM pulse.task t JOIN pulse.audit a USING (seq) WHERE t.id = ANY (keys)
    UNION ALL (SELECT '', NULL, left(a.line, 48), NULL, a.who, a.alone FROM pulse.audit a WHERE '' = ANY (keys) ORDER BY a.seq DESC LIMIT 1);
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

-- starter returns the hat of the logins that start a task.
CREATE FUNCTION starter(t pulse.task) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE t.kind WHEN 'ask' THEN 'runner' ELSE 'sender' END $$;

-- wanted returns how many people have to say yes to a task, by the decision that is in its file.
CREATE FUNCTION wanted(id text) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT coalesce((pulse.said(convert_from(bytes, 'UTF8')) #>> '{decision,count}')::int, 1) FROM pulse.file f WHERE f.id = $1
$$;

-- another reports whether the lines of two yeses may be of two people: of two logins, or of two names
-- of which one is a key's. What a signature proves, the machine checks that starts the task.
CREATE FUNCTION another(one bigint, other bigint) RETURNS bool LANGUAGE sql STABLE AS $$
  SELECT a.who <> b.who OR 'signature' IN (pulse.said(one) #>> '{approval,level}', pulse.said(other) #>> '{approval,level}')
    AND pulse.said(one) #>> '{approval,signer}' IS DISTINCT FROM pulse.said(other) #>> '{approval,signer}'
  FROM pulse.audit a, pulse.audit b WHERE (a.seq, b.seq) = (one, other)
$$;

-- approval checks what a line says about the task's approval, and keeps it. A line of a person
-- may bring a new one. One without a person may sum up grants that the lines before it have
-- spent on this task, one for each target in turn. Any other line may only keep what is there:
-- a yes that is good still is dropped by a person, or by who could have spent it. The first of two yeses
-- lies beside it, as long as the other may be used: one that is left counts for no other run.
CREATE FUNCTION approval(j jsonb, t pulse.task, at bigint, hats text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE a jsonb := j->'approval'; e text := j->>'event'; old pulse.thing; doc jsonb; dest jsonb; person bool := 'approver' = ANY (hats);
BEGIN
  SELECT * INTO old FROM pulse.thing WHERE shelf IN ('approvals', 'spent') AND key = t.id ORDER BY shelf LIMIT 1;
  IF a IS NULL AND e <> 'started' OR e = 'requeued' THEN
    DELETE FROM pulse.thing WHERE shelf IN ('approvals', 'partly') AND key = t.id;
  END IF;
  IF a IS NULL AND e IN ('approved', 'requeued') THEN
    PERFORM pulse.refuse('a yes that nobody gave');
  ELSIF a IS NULL AND old.shelf = 'approvals' AND NOT person AND NOT pulse.starter(t) = ANY (hats) AND (pulse.said(old.seq) #>> '{approval,expires}')::timestamptz > (j->>'time')::timestamptz THEN
    PERFORM pulse.refuse('it drops a yes that this login could not spend');
  ELSIF a IS NULL THEN
    DELETE FROM pulse.thing WHERE shelf = 'spent' AND key = t.id;
    UPDATE pulse.thing SET shelf = 'spent' WHERE shelf = 'approvals' AND key = t.id; -- which only a start has left there
    RETURN;
  ELSIF a->>'task' IS DISTINCT FROM t.id OR a->>'digest' IS DISTINCT FROM t.digest OR a->>'action' IS DISTINCT FROM t.action THEN
    PERFORM pulse.refuse('an approval of something else');
  ELSIF e IN ('approved', 'requeued', 'partly') THEN
    SELECT pulse.said(convert_from(bytes, 'UTF8')) INTO doc FROM pulse.file WHERE id = t.id;
    dest := '[]'::jsonb || coalesce(doc #> '{request,target}', '[]'); -- it may be a string
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
            AND (NOT g ? 'target' OR pulse.same(g->>'target', dest->>(i - 1)::int)))) THEN
      PERFORM pulse.refuse('a yes that no person gave');
    ELSIF e = 'approved' AND pulse.wanted(t.id) > 1 AND NOT coalesce((SELECT pulse.another(p.seq, at) FROM pulse.thing p WHERE (p.shelf, p.key) = ('partly', t.id)), false) THEN
      PERFORM pulse.refuse('a second yes without the first one of another person');
    END IF;
    PERFORM pulse.put(CASE e WHEN 'partly' THEN 'partly' ELSE 'approvals' END, t.id, at, NULL, NULL);
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
CREATE FUNCTION waited(yes bigint, upto timestamptz) RETURNS interval LANGUAGE plpgsql STABLE AS $$
DECLARE since timestamptz := pulse.said(yes)->>'time'; at timestamptz; total interval := '0 s'; j jsonb;
BEGIN
  FOR j IN SELECT pulse.said(a.line) FROM pulse.audit a ORDER BY a.seq DESC LOOP
    at := least(upto, (j->>'time')::timestamptz);
    EXIT WHEN at < since - interval '86401 s';
    IF j->>'event' = 'started' AND j->>'kind' = 'effect' THEN
      total := total + greatest(interval '0 s', least(upto, at + interval '86401 s') - greatest(at, since));
      upto := at;
    END IF;
  END LOOP;
  RETURN least(total, interval '31 days');
END $$;

-- start checks that a task may start now: hold, role, the day's starts, and for what reaches the
-- outside a person's yes, which it spends for good.
CREATE FUNCTION start(j jsonb, t pulse.task, at bigint, hats text[], host text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE held bool; spent bool; yes jsonb; given bigint; first bigint; ago bigint := floor(extract(epoch FROM (j->>'time')::timestamptz)) - 86400;
BEGIN
  SELECT q.held, q.max_per_day IS NOT NULL AND q.max_per_day <= (
    SELECT count(*) FROM pulse.start s WHERE s.at > ago AND substr(s.entry, 86, 1) = left(t.kind, 1)) FROM pulse.queue q INTO held, spent;
  IF held THEN
    PERFORM pulse.refuse('the queue is on hold');
  ELSIF NOT pulse.starter(t) = ANY (hats) THEN
    PERFORM pulse.refuse(format('this login may not start what is of kind %s', t.kind));
  ELSIF spent THEN
    PERFORM pulse.refuse(format('as many of kind %s were started within a day as queue.max_per_day lets', t.kind));
  ELSIF pulse.outward(t) THEN
    SELECT seq, pulse.said(seq)->'approval' INTO given, yes FROM pulse.thing WHERE (shelf, key) = ('approvals', t.id);
    IF NOT coalesce(((yes->>'expires')::timestamptz > (j->>'time')::timestamptz OR (yes->>'expires')::timestamptz + pulse.waited(given, (j->>'time')::timestamptz) > (j->>'time')::timestamptz) AND (pulse.answers(given) OR (
        SELECT bool_and(pulse.answers(n.seq)) FROM jsonb_array_elements(yes->'grants') g JOIN pulse.nonce n ON n.nonce = g->>'id')), false) THEN
      PERFORM pulse.refuse('it reaches the outside, and no person said yes');
    END IF;
    SELECT seq INTO first FROM pulse.thing WHERE (shelf, key) = ('partly', t.id);
    IF pulse.wanted(t.id) > 1 AND NOT coalesce(pulse.answers(first) AND pulse.another(first, given)
        AND (pulse.said(first) #>> '{approval,expires}')::timestamptz + pulse.waited(given, (j->>'time')::timestamptz) > (j->>'time')::timestamptz, false) THEN
      PERFORM pulse.refuse('it reaches the outside, and only one person said yes');
    END IF;
    INSERT INTO pulse.nonce SELECT DISTINCT y->>'nonce', at FROM (VALUES (yes), (pulse.said(first)->'approval')) v(y) WHERE y->>'level' = 'signature' AND NOT y ? 'grants';
  END IF;
  DELETE FROM pulse.start s WHERE s.at < ago - 86400 AND NOT EXISTS (SELECT FROM pulse.thing c, pulse.said(c.seq) k WHERE c.shelf = 'clock'
    AND k->>'event' = 'clock_jumped' AND (k->>'time')::timestamptz > (j->>'time')::timestamptz - interval '1 hour'); -- a clock that is wrong forgets no start
  INSERT INTO pulse.run VALUES (at, t.id, session_user, host, clock_timestamp() + interval '120 s')
  ON CONFLICT ON CONSTRAINT run_task_key DO UPDATE -- of a run that was cancelled, and whose end nobody has noted
  SET fence = excluded.fence, who = excluded.who, host = excluded.host, until = excluded.until;
END $$;

-- ends checks that a login may end a run: it is the one that it holds, and has taken the
-- fence to it; or nobody holds it any more, and then nobody knows what came of an effect. Before
-- the lease is over, only what has the locks of a run knows that.
CREATE FUNCTION ends(j jsonb, t pulse.task, fence bigint, host text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r pulse.run;
BEGIN
  IF j->>'event' = 'cancelled' THEN
    RETURN; -- its machine learns it by the next beat, and says when the worker has ended
  END IF;
  DELETE FROM pulse.run WHERE run.task = t.id RETURNING * INTO r;
  IF fence <> 0 AND (r.fence IS DISTINCT FROM fence OR r.who <> session_user) THEN
    RAISE EXCEPTION 'task %: this run was taken back', t.id USING ERRCODE = 'PU001';
  ELSIF fence = 0 AND ((r.who <> session_user OR r.host <> host) AND r.until > clock_timestamp()
      OR j->>'event' NOT IN ('restarted', 'undecided', 'gave_up', 'parked', 'broke')
      OR pulse.outward(t) AND j->>'event' <> 'broke' AND NOT coalesce(j->>'event' = 'undecided' AND j->>'reason' = 'effect_unknown'
        AND (j->>'restarts')::bigint > coalesce((pulse.said(t.seq)->>'restarts')::bigint, 0), false)) THEN
    PERFORM pulse.refuse('it is the run of another machine');
  ELSIF j->>'event' = 'restored' THEN
    DELETE FROM pulse.nonce WHERE seq = t.seq;
  END IF;
END $$;

-- goes checks how often a line says that an ask was started again. continued counts one of the two: once
-- what an ask waited for has ended, or because a person wants it done otherwise; requeued begins anew.
CREATE FUNCTION goes(e text, t pulse.task, was jsonb, j jsonb, hats text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE further int := pulse.counted('continues', was, j); again int := pulse.counted('revisions', was, j);
BEGIN
  IF e = 'continued' THEN
    IF t.kind <> 'ask' THEN
      PERFORM pulse.refuse('an effect that goes on');
    ELSIF further = 0 AND again = 1 AND 'approver' = ANY (hats) THEN
      RETURN;
    ELSIF further <> 1 OR again <> 0 OR (was->>'reason' = 'awaits_effects') IS NOT TRUE THEN
      PERFORM pulse.refuse('an ask that does not wait for its effects');
    ELSIF EXISTS (SELECT FROM pulse.thing o WHERE (o.shelf, o.key) = ('outbox', t.id))
        OR EXISTS (SELECT FROM pulse.task o WHERE o.entry IS NOT NULL AND pulse.outward(o) AND pulse.said(o.added)->>'parent' = t.id) THEN
      PERFORM pulse.refuse('an ask whose effects have not ended');
    END IF;
  ELSIF e = 'requeued' AND j ?| '{continues,revisions}' OR e <> 'requeued' AND (further <> 0 OR again <> 0) THEN
    PERFORM pulse.refuse('a task that was started again less or more often than it was');
  END IF;
END $$;

-- counted returns by how much a line counts more than the one before.
CREATE FUNCTION counted(m text, was jsonb, j jsonb) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce((j->>m)::int, 0) - coalesce((was->>m)::int, 0)
$$;

-- origin returns who sent a task, by a line about it.
CREATE FUNCTION origin(j jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN jsonb_build_array(j->'sender', j->'trust', j->'source', j->'uid', j->'message_id'); END $$;

-- move carries out a line that moves a task. Who sent it, and how far that was proven, is what
-- the line says that added it.
CREATE FUNCTION move(j jsonb, at bigint, fence bigint, hats text[], host text, blob bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE t pulse.task; was jsonb; m text; e text := j->>'event'; src text := coalesce(j->>'from', ''); dst text := coalesce(j->>'to', ''); fresh int := (src = 'running')::int;
BEGIN
  SELECT * INTO t FROM pulse.task WHERE id = j->>'task';
  was := pulse.said(t.seq);
  IF t.state IS DISTINCT FROM src OR t.added > at THEN
    RAISE EXCEPTION 'task % is in %, not in %', j->>'task', coalesce(t.state, 'no state'), src USING ERRCODE = 'PU001';
  ELSIF NOT EXISTS (SELECT FROM pulse.legal l WHERE l.event = e AND l.from_state = src AND l.to_state = dst) THEN
    PERFORM pulse.refuse(format('%s from %s to %s', e, src, dst));
  END IF;
  IF src = 'running' THEN
    PERFORM pulse.ends(j, t, fence, host); -- first: what was taken back is no forgery
  END IF;
  IF e NOT IN ('broke', 'cancelled') AND NOT coalesce(j->>'digest' = t.digest AND j->>'kind' = t.kind AND j->>'action' = t.action, false) THEN
    PERFORM pulse.refuse('a line about another task file');
  ELSIF dst IN ('scheduled', 'awaiting_review', 'running') AND pulse.origin(j) <> pulse.origin(pulse.said(t.added)) THEN
    PERFORM pulse.refuse('a line about a task that another one sent');
  END IF;
  FOREACH m IN ARRAY '{attempts,deferred,restarts}'::text[] LOOP
    IF dst <> '' AND e <> 'broke' AND NOT pulse.counted(m, was, j) BETWEEN 0 AND fresh
        AND NOT (coalesce((j->>m)::int, 0) = 0 AND (e IN ('requeued', 'extracted', 'continued') OR e = 'approved' AND t.kind = 'ask')) THEN
      PERFORM pulse.refuse('a task that was started less or more often than it was');
    END IF;
  END LOOP;
  IF j ? 'not_before' AND j->'not_before' IS DISTINCT FROM was->'not_before'
      AND NOT (e IN ('retried', 'restored') AND (j->>'not_before')::timestamptz < (j->>'time')::timestamptz + interval '25 hours') OR j->'told' <> coalesce(was->'told', 'null') THEN
    PERFORM pulse.refuse('a task that is put off for too long, or that a person was told of');
  ELSIF e = 'carried_out' AND (t.kind <> 'effect' OR t.action <> 'write_local') THEN
    PERFORM pulse.refuse('an effect that is not on the queue itself');
  END IF;
  IF dst NOT IN ('', 'corrupt') THEN
    PERFORM pulse.goes(e, t, was, j, hats);
  END IF;
  IF e = 'started' THEN
    PERFORM pulse.start(j, t, at, hats, host);
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
  IF j ? 'result' THEN
    PERFORM pulse.staged(pulse.shelf(j), t.id, at, j->>'result', blob);
  END IF;
  IF src = 'running' AND (e = 'extracted' OR NOT j ? 'result') THEN
    DELETE FROM pulse.thing WHERE shelf = 'results' AND key = t.id;
  END IF;
  PERFORM pulse.approval(j, t, at, hats);
  t.state := dst; t.entry := pulse.entry(j, t);
  UPDATE pulse.task SET seq = at, state = dst, entry = t.entry, n = CASE WHEN e IN ('requeued', 'continued') THEN at ELSE n END WHERE id = t.id;
  IF e = 'started' THEN
    INSERT INTO pulse.start VALUES (at, floor(extract(epoch FROM (j->>'time')::timestamptz)), t.entry);
  END IF;
END $$;

-- entry returns what a line makes of a task that is open: 128 bytes, as package entry writes them.
CREATE FUNCTION entry(j jsonb, t pulse.task) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE mail bool := t.kind = 'ask' AND j ?| '{source,message_id}'; told bool := t.state = 'awaiting_review' AND j ? 'told';
BEGIN
  RETURN CASE WHEN t.state IN ('scheduled', 'awaiting_review', 'running') THEN concat_ws(' ', left(t.state, 1), t.id, substr(t.digest, 8, 32), rpad(t.action, 16), left(t.kind, 1),
      CASE WHEN j->>'trust' = 'external_verified' THEN CASE WHEN mail THEN 'x' ELSE 'X' END WHEN mail THEN 'm' ELSE '-' END,
      left(encode(sha256(convert_to(lower(coalesce(j->>'sender', '') COLLATE "C"), 'UTF8')), 'hex'), 16), pulse.seconds(coalesce(j->>'since', j->>'time'), false))
    || CASE WHEN told THEN '!' || pulse.seconds(j->>'told', false) WHEN j ? 'not_before' THEN CASE WHEN j->>'event' IN ('added', 'approved') THEN '+' ELSE ' ' END || pulse.seconds(j->>'not_before', true)
      ELSE ' 0000000000' END || E'\n' END;
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
CREATE FUNCTION note(j jsonb, at bigint, hats text[], host text, blob bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE e text := j->>'event'; id text := j->>'task'; old pulse.thing; was jsonb; t pulse.task; words text[];
BEGIN
  IF j ? 'to' OR EXISTS (SELECT FROM pulse.legal l WHERE l.event = e) THEN
    PERFORM pulse.refuse('a line that moves a task, or does not');
  END IF;
  IF e IN ('granted', 'session_opened') THEN
    IF coalesce(j #> '{grant,any}' = 'true', false) = coalesce(j->'grant' ? 'target', true) OR e = 'session_opened' AND NOT (
        (j #>> '{session,max}')::int > 0 AND j #> '{session,left}' = j #> '{session,max}' AND (j #>> '{session,opened}')::timestamptz < (j #>> '{session,expires}')::timestamptz) THEN
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
    SELECT * INTO old FROM pulse.thing WHERE (shelf, key) = ('sessions', j #>> '{session,id}');
    was := pulse.said(old.seq)->'session';
    IF was IS NULL OR was - 'left' IS DISTINCT FROM (j->'session') - 'left'
        OR (was->>'left')::int - (CASE e WHEN 'session_used' THEN 1 ELSE 0 END) IS DISTINCT FROM (j #>> '{session,left}')::int THEN
      PERFORM pulse.refuse('a session that is not there, or with other uses left');
    ELSIF e = 'session_ended' AND NOT 'approver' = ANY (hats) AND (was->>'expires')::timestamptz > (j->>'time')::timestamptz + interval '5 minutes' THEN
      PERFORM pulse.refuse('a session that is not over');
    ELSIF e = 'session_ended' OR (j #>> '{session,left}')::int = 0 AND was->>'level' <> 'signature' THEN
      DELETE FROM pulse.thing WHERE shelf = 'sessions' AND key = old.key;
    ELSE
      PERFORM pulse.put('sessions', old.key, at, NULL, NULL);
    END IF;
  ELSIF e = 'labelled' THEN
    SELECT array_agg(x->>'label') INTO words FROM jsonb_array_elements(j->'labels') x;
    SELECT * INTO old FROM pulse.thing WHERE (shelf, key) = ('labels', id);
    IF NOT coalesce(old.rest <@ words, true) OR words IS DISTINCT FROM (SELECT array_agg(DISTINCT x ORDER BY x) FROM unnest(words) x) OR words IS NULL THEN
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
  ELSIF e = 'partly' THEN
    SELECT * INTO t FROM pulse.task WHERE task.id = j->>'task' AND added < at AND state = 'awaiting_review';
    IF NOT FOUND THEN
      RAISE EXCEPTION 'task % does not wait for a yes', id USING ERRCODE = 'PU001';
    ELSIF NOT j ? 'approval' OR j->'digest' IS DISTINCT FROM to_jsonb(t.digest) THEN
      PERFORM pulse.refuse('a yes that nobody gave');
    END IF;
    PERFORM pulse.approval(j, t, at, hats);
  ELSIF e = 'resurfaced' THEN
    SELECT * INTO t FROM pulse.task WHERE task.id = j->>'task' AND added < at AND state = j->>'state' AND state IN ('scheduled', 'awaiting_review', 'completed');
    was := pulse.said(t.seq);
    IF was IS NULL THEN
      RAISE EXCEPTION 'task % is not there any more', id USING ERRCODE = 'PU001';
    ELSIF EXISTS (SELECT FROM unnest('{kind,action,digest,attempts,deferred,restarts,continues,revisions,not_before,reason,sender,trust,source,uid,message_id}'::text[]) m WHERE j->m IS DISTINCT FROM was->m) THEN
      PERFORM pulse.refuse('a task that was another before');
    END IF;
    UPDATE pulse.task SET seq = at, entry = pulse.entry(j, t) WHERE task.id = t.id;
  ELSIF e = 'ended' THEN
    DELETE FROM pulse.run USING pulse.task WHERE run.task = j->>'task' AND run.who = session_user AND run.host = note.host AND task.id = run.task AND task.state <> 'running';
  ELSIF e = 'finding' THEN
    id := left(encode(sha256(convert_to(format('%s %s', j #>> '{finding,code}', j #>> '{finding,about}'), 'UTF8')), 'hex'), 32);
    IF NOT j ? 'finding' OR strpos(j #>> '{finding,about}', U&'\FFFD') > 0 THEN
      PERFORM pulse.refuse('a finding that nobody can find');
    ELSIF j #>> '{finding,what}' = 'closed' THEN
      DELETE FROM pulse.thing WHERE shelf = 'findings' AND key = id;
    ELSE
      PERFORM pulse.put('findings', id, at, NULL, NULL);
    END IF;
  ELSIF e = 'held' THEN
    UPDATE pulse.queue SET held = true;
    PERFORM pulse.put('hold', '', at, NULL, NULL);
  ELSIF e = 'released' THEN
    UPDATE pulse.queue SET held = false;
    DELETE FROM pulse.thing WHERE shelf = 'hold';
  ELSIF e IN ('clock_jumped', 'clock_confirmed') THEN
    PERFORM pulse.put('clock', '', at, NULL, NULL);
    IF e = 'clock_jumped' THEN -- what was started by a clock that was ahead counts as started now
      UPDATE pulse.start s SET at = floor(extract(epoch FROM (j->>'time')::timestamptz)) WHERE s.at > extract(epoch FROM (j->>'time')::timestamptz);
    END IF;
  END IF;
END $$;

-- aside carries out what a line says about proposals and positions.
CREATE FUNCTION aside(j jsonb, at bigint, blob bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE ids text[]; sums text[]; text text := convert_from(blob, 'UTF8');
BEGIN
  IF jsonb_array_length(j->'proposed') > 0 THEN
    SELECT array_agg(p->>'id' ORDER BY o), array_agg(p->>'digest' ORDER BY o) INTO ids, sums FROM jsonb_array_elements(j->'proposed') WITH ORDINALITY x(p, o);
    IF right(text, 1) <> E'\n' OR sums IS DISTINCT FROM (
        SELECT array_agg(pulse.sum(convert_to(l, 'UTF8')) ORDER BY o) FROM unnest(string_to_array(left(text, -1), E'\n')) WITH ORDINALITY x(l, o)) THEN
      PERFORM pulse.refuse('proposals of other digests');
    END IF;
    PERFORM pulse.put('outbox', j->>'task', at, ids, blob);
  ELSIF j ? 'parent' AND j->>'event' <> 'noted' THEN
    DELETE FROM pulse.thing WHERE (shelf, key) = ('outbox', j->>'parent') AND rest <@ ARRAY[j->>'task'];
    UPDATE pulse.thing SET rest = array_remove(rest, j->>'task') WHERE (shelf, key) = ('outbox', j->>'parent');
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(j->'positions') p WHERE strpos(p->>'source', U&'\FFFD') > 0) THEN
    PERFORM pulse.refuse('a source that nobody can find');
  ELSIF j ? 'positions' THEN
    INSERT INTO pulse.thing SELECT 'positions', encode(substr(sha256(convert_to(p->>'source', 'UTF8')), 1, 16), 'hex'), at
    FROM jsonb_array_elements(j->'positions') p ON CONFLICT ON CONSTRAINT thing_pkey DO UPDATE SET seq = excluded.seq;
  END IF;
END $$;

-- adds carries out the asks that lines add, all at once.
CREATE FUNCTION adds(js jsonb[], base bigint, shelves text[], keys text[], blobs bytea[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE bad text;
BEGIN
  SELECT j->>'task' INTO bad FROM unnest(js) j JOIN pulse.thing p ON p.shelf = 'pruned' AND p.key = j->>'task' WHERE j->>'event' = 'added' LIMIT 1;
  IF bad IS NOT NULL THEN
    RAISE EXCEPTION 'task % was there already', bad USING ERRCODE = 'PU001';
  END IF;
  WITH new AS (
    SELECT j->>'task' AS id, base + i AS at, j->>'to' AS state, j->>'kind' AS kind, j->>'action' AS act, j->>'digest' AS digest, j->>'known_as' AS known_as, j, b.bytes,
      NOT j ?| '{from,told,deferred,continues,revisions}' AND j->'attempts' = '0' AND j->'restarts' = '0' AND EXISTS (SELECT FROM pulse.legal l WHERE l.event = 'added' AND l.to_state = j->>'to')
        AND NOT (j->>'kind' = 'effect' AND j->>'action' IN ('external_send', 'destructive', 'code_or_computer') AND j->>'to' <> 'awaiting_review')
        AND pulse.sum(b.bytes) = j->>'digest' AS fine
    FROM unnest(js) WITH ORDINALITY l(j, i)
    LEFT JOIN (SELECT * FROM unnest(shelves, keys, blobs) x(shelf, key, bytes)) b ON b.shelf = j->>'to' AND b.key = j->>'task'
    WHERE j->>'event' = 'added'),
  files AS (INSERT INTO pulse.file SELECT id, CASE WHEN fine THEN bytes END FROM new),
  taken AS (INSERT INTO pulse.thing SELECT 'names', known_as, at FROM new WHERE known_as IS NOT NULL)
  INSERT INTO pulse.task SELECT id, at, at, at, state, kind, act, digest, pulse.entry(j, (id, at, at, at, state, kind, act, digest, NULL)::pulse.task) FROM new;
EXCEPTION
  WHEN unique_violation THEN RAISE EXCEPTION 'a task was there already' USING ERRCODE = 'PU001';
END $$;

-- jumped returns what the line of a clock says that jumped, or that a person vouches for: from which
-- line, and what is known of the clocks before (package queue, clockAt).
CREATE FUNCTION jumped(e text, at timestamptz, before jsonb[]) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE j jsonb; was text; high text; last timestamptz; step interval;
BEGIN
  j := coalesce(CASE WHEN before[1]->>'event' = 'clock_jumped' THEN before[1] END, (SELECT pulse.said(t.seq) FROM pulse.thing t WHERE t.shelf = 'clock'), '{}');
  IF e = 'clock_confirmed' THEN
    RETURN jsonb_build_object('since', (j->'since')::text, 'before', (j->'before')::text, 'began', (j->'began')::text);
  END IF;
  was := coalesce(before[cardinality(before)], (SELECT pulse.said(q.seq) FROM pulse.queue q))->>'time';
  last := was;
  step := at - last;
  high := coalesce(j->>'before', j->>'since');
  IF (j->>'event' = 'clock_jumped' AND last - (j->>'time')::timestamptz < interval '1 hour' OR last < high::timestamptz AND at > high::timestamptz - interval '1 hour') IS NOT TRUE THEN
    high := NULL;
  END IF;
  IF NOT coalesce(step < -interval '1 hour' OR step > interval '48 hours'
      OR last < high::timestamptz AND step > interval '1 hour' AND at > high::timestamptz - interval '1 hour', false) THEN
    PERFORM pulse.refuse('a clock that did not jump');
  END IF;
  RETURN jsonb_build_object('since', '"' || was || '"', 'before', '"' || high || '"',
    'began', CASE WHEN at < last THEN pulse.stamp(at) ELSE (j->'began')::text END);
END $$;

-- corrects reports whether a line adds an effect in the place of one that a person denied in the line before.
CREATE FUNCTION corrects(j jsonb, before jsonb) RETURNS bool LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(j @> '{"kind": "effect", "to": "awaiting_review"}'
    AND before @> jsonb_build_object('event', 'denied', 'kind', 'effect', 'reason', 'corrected as ' || (j->>'task'))
    AND (j->'parent') IS NOT DISTINCT FROM (SELECT pulse.said(t.added)->'parent' FROM pulse.task t WHERE t.id = before->>'task'), false);
END $$;

-- made returns the line that a client wants to write, as the log has it: time, login, what was
-- proven of it, and the chain are the server's. before holds those that it comes after in this commit; may the
-- events that this login may write.
CREATE FUNCTION made(raw text, j jsonb, before jsonb[], last bool, prev text, at timestamptz, hats text[], may text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE e text := j->>'event'; line text; was jsonb; person jsonb; yes jsonb; word text; own jsonb;
  kind text := CASE WHEN e IN ('approved', 'requeued', 'partly') THEN 'approval' WHEN e = 'granted' THEN 'grant' WHEN e = 'session_opened' THEN 'session' END;
  level text := CASE WHEN hats = '{approver}' THEN 'user' ELSE 'terminal' END; long interval;
BEGIN
  yes := j->kind;
  word := CASE kind WHEN 'session' THEN 'opened' ELSE 'given' END;
  long := (yes->>'expires')::timestamptz - (yes->>word)::timestamptz;
  IF jsonb_typeof(yes->'grants') = 'array' THEN
    SELECT CASE WHEN bool_or(g->>'level' = 'terminal') THEN 'terminal' WHEN bool_or(g->>'level' = 'user') THEN 'user' ELSE 'signature' END,
      jsonb_build_object('by', pulse.quoted(string_agg(format('grant %s of %s', g->>'id', g->>'by'), ', ' ORDER BY o)))
    INTO level, person FROM jsonb_array_elements(yes->'grants') WITH ORDINALITY x(g, o);
    person := person || jsonb_build_object('level', format('"%s"', level), word, pulse.stamp(at));
  ELSIF yes->>'level' = 'signature' THEN
    person := jsonb_build_object('by', pulse.quoted(session_user));
  ELSIF yes IS NOT NULL THEN
    person := jsonb_build_object('by', pulse.quoted(session_user), 'level', format('"%s"', level), word, pulse.stamp(at),
      'expires', pulse.stamp(at + CASE WHEN long > pulse.most(false) THEN pulse.most(false) ELSE long END));
  END IF;
  own := jsonb_build_object('line', jsonb_build_object('time', pulse.stamp(at), 'prev', format('"%s"', prev), 'more', CASE WHEN NOT last THEN 'true' END,
    'level', CASE WHEN kind IS NOT NULL OR j ? 'level' AND 'approver' = ANY (hats) THEN format('"%s"', level) END));
  IF e <> 'closed' OR coalesce(j->>'by' !~ '^task [0-9a-f]{32}$', true) THEN
    own := jsonb_set(own, '{line,by}', to_jsonb(pulse.quoted(session_user)));
  END IF;
  IF e IN ('clock_jumped', 'clock_confirmed') THEN
    own := jsonb_set(own, '{line}', own->'line' || pulse.jumped(e, at, before));
  ELSIF e = 'resurfaced' THEN
    SELECT x INTO was FROM unnest(before) WITH ORDINALITY u(x, o) WHERE x->>'task' = j->>'task' AND x ? 'to' ORDER BY o DESC LIMIT 1;
    was := coalesce(was, (SELECT pulse.said(t.seq) FROM pulse.task t WHERE t.id = j->>'task'));
    own := jsonb_set(own, '{line}', own->'line' || jsonb_build_object('told', pulse.stamp(at), 'since', to_json(coalesce(was->>'since', was->>'time'))::text));
  END IF;
  line := pulse.form('@line', pulse.nul(raw, '\u0000', '\ufdd0')::json, own || CASE WHEN person IS NULL THEN '{}' ELSE jsonb_build_object(kind, person) END);
  IF line IS NULL OR octet_length(line) > 4194304
      OR (e = ANY (may)) IS NOT TRUE OR j ? 'positions' AND NOT 'gate' = ANY (hats)
      OR e = 'added' AND NOT 'gate' = ANY (hats) AND NOT pulse.corrects(j, before[cardinality(before)])
      OR yes->>'level' = 'signature' AND (yes->>'expires')::timestamptz - at > pulse.most(true) OR kind = 'session' AND yes->>'level' = 'signature' AND long > pulse.most(false)
      OR j ?& '{attempts,restarts}' <> (j ? 'to' OR e = 'resurfaced') OR j ? 'said' AND NOT j ? 'exit' OR j @> '{"uid": 0}'
      OR j ? 'state' AND e <> 'resurfaced' OR j ? 'known_as' AND e <> 'added' OR j ? 'labels' AND e <> 'labelled' OR j ? 'finding' AND e <> 'finding'
      OR j ? 'since' AND e NOT IN ('resurfaced', 'clock_jumped', 'clock_confirmed') OR j ?| '{before,began}' AND e NOT IN ('clock_jumped', 'clock_confirmed')
      OR j ? 'grant' AND e NOT IN ('granted', 'revoked', 'consumed') OR j ? 'session' AND e NOT IN ('session_opened', 'session_used', 'session_ended')
      OR j ? 'proposed' AND e NOT IN ('finished', 'retried', 'gave_up', 'restarted', 'parked') OR j ? 'parent' AND e NOT IN ('added', 'refused', 'settled', 'noted')
      OR j ? 'approval' AND e NOT IN ('approved', 'requeued', 'partly', 'started', 'extracted', 'retried', 'restarted', 'restored')
      OR j ? 'result' AND e NOT IN ('finished', 'extracted', 'retried', 'gave_up', 'restarted', 'undecided', 'restored', 'parked', 'carried_out', 'pruned')
      OR j ?| '{attempts,deferred,restarts,continues,revisions,not_before,told}' AND NOT (j ? 'to' OR e = 'resurfaced') THEN
    PERFORM pulse.refuse(format('no such line may be written by %s: %s', session_user, coalesce(e, '?')));
  END IF;
  RETURN pulse.nul(line, '\ufdd0', '\u0000');
END $$;

-- commit is the only way to change a queue: lines for the log, which it returns as it wrote them, what was
-- staged with them, and how many refusals are only counted. The caller has called lock in this transaction,
-- and has seen so many lines. mark is with the last of the lines from then on.
CREATE FUNCTION commit(seen bigint, lines text[], fences bigint[], unlisted int, shelves text[], keys text[], blobs bytea[], host text, mark bigint)
RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET standard_conforming_strings = on
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
  q pulse.queue; js jsonb[] := '{}'; log text[] := '{}'; n int := coalesce(cardinality(lines), 0); hats text[]; j jsonb; e text; i int;
  blob bytea; dims text := '[1:' || n || ']'; at timestamptz; tip text; about text; added bool := false; may text[];
BEGIN
  SELECT * INTO q FROM pulse.queue FOR UPDATE;
  hats := pulse.hats(session_user);
  tip := q.head;
  IF 'owner' = ANY (hats) THEN
    PERFORM pulse.refuse('this login could change the past');
  ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM pulse.refuse('a picture in which a login may have a role that it lost');
  ELSIF q.format <> 2 OR n > 0 AND (array_dims(lines), array_dims(fences)) IS DISTINCT FROM (dims, dims)
      OR NOT coalesce(unlisted BETWEEN 0 AND 10000 AND octet_length(host) < 256, false) OR unlisted > 0 AND NOT 'gate' = ANY (hats) THEN
    PERFORM pulse.refuse('arguments that no client gives');
  ELSIF array_position(fences, NULL) > 0 OR EXISTS (SELECT FROM unnest(blobs) b WHERE octet_length(b) > 134217728) THEN -- who reads them needs as much memory
    PERFORM pulse.refuse('arguments that no client gives');
  ELSIF seen IS DISTINCT FROM q.seq THEN
    RAISE EXCEPTION 'the log is longer than this command has seen' USING ERRCODE = 'PU001';
  END IF;
  may := ARRAY(SELECT m.event FROM pulse.may m WHERE m.hat = ANY (hats));
  at := pulse.now((pulse.said(lines[1])->>'time')::timestamptz, (pulse.said(q.seq)->>'time')::timestamptz);
  FOR i IN 1 .. n LOOP
    j := pulse.said(lines[i]); about := set_config('pulse.task', j->>'task', true);
    log[i] := pulse.made(lines[i], j, js, i = n, tip, at, hats, may);
    js[i] := pulse.said(log[i]);
    tip := pulse.sum(convert_to(log[i], 'UTF8'));
    added := added OR js[i]->>'event' = 'added';
  END LOOP;
  IF added THEN
    PERFORM pulse.adds(js, q.seq, shelves, keys, blobs);
  END IF;
  INSERT INTO pulse.audit SELECT q.seq + o, line, session_user, hats = '{approver}', CASE o WHEN n THEN mark END FROM unnest(log) WITH ORDINALITY x(line, o);
  FOR i IN 1 .. n LOOP
    j := js[i]; e := j->>'event'; about := set_config('pulse.task', j->>'task', true);
    IF e <> 'added' THEN
      IF cardinality(blobs) > 0 THEN
        SELECT x.b INTO blob FROM unnest(shelves, keys, blobs) x(s, k, b) WHERE x.k = j->>'task' AND x.s = pulse.shelf(j);
      END IF;
      IF j ? 'from' THEN
        PERFORM pulse.move(j, q.seq + i, fences[i], hats, host, blob);
      ELSE
        PERFORM pulse.note(j, q.seq + i, hats, host, blob);
      END IF;
    END IF;
    IF j ?| '{proposed,parent,positions}' THEN
      PERFORM pulse.aside(j, q.seq + i, (SELECT x.b FROM unnest(shelves, keys, blobs) x(s, k, b) WHERE x.s = 'outbox' AND x.k = j->>'task'));
    END IF;
    IF e = 'added' AND NOT 'gate' = ANY (hats) AND pulse.wanted(j->>'task') < pulse.wanted(js[i - 1]->>'task') THEN
      PERFORM pulse.refuse('a correction to which fewer people have to say yes');
    END IF;
  END LOOP;
  PERFORM pulse.account(q, js, unlisted, tip);
  RETURN log;
END $$;

-- shelf returns where the bytes of a line's digest were staged.
CREATE FUNCTION shelf(j jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE j->>'event' WHEN 'refused' THEN 'refused' WHEN 'extracted' THEN 'extracts' WHEN 'carried_out' THEN 'drafts' ELSE 'results' END
$$;

-- account counts what the lines changed, and moves the head of the log.
CREATE FUNCTION account(q pulse.queue, js jsonb[], unlisted int, tip text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE j jsonb;
BEGIN
  FOREACH j IN ARRAY js LOOP
    IF j->>'event' IN ('refused', 'limited') THEN
      IF q.day <> substr(j->>'time', 1, 10) THEN q.day := substr(j->>'time', 1, 10); q.refused := 0; q.limited := false; END IF;
      q.refused := q.refused + CASE j->>'event' WHEN 'refused' THEN 1 ELSE 0 END;
      q.limited := q.limited OR j->>'event' = 'limited';
    END IF;
    q.counts := q.counts || CASE WHEN j ? 'from' THEN jsonb_build_object(j->>'from', coalesce((q.counts->>(j->>'from'))::bigint, 0) - 1) ELSE '{}' END;
    q.counts := q.counts || CASE WHEN j ? 'to' THEN jsonb_build_object(j->>'to', coalesce((q.counts->>(j->>'to'))::bigint, 0) + 1) ELSE '{}' END;
  END LOOP;
  UPDATE pulse.queue SET seq = q.seq + cardinality(js), head = tip, day = q.day, refused = q.refused + unlisted, limited = q.limited, counts = q.counts;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pulse FROM PUBLIC;
GRANT USAGE ON SCHEMA pulse TO pulse_gate, pulse_runner, pulse_sender, pulse_approver, pulse_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA pulse TO pulse_gate, pulse_runner, pulse_sender, pulse_approver;
GRANT SELECT ON queue, audit, task, start, run, nonce, may, legal, member TO pulse_reader;
GRANT SELECT (shelf, key, seq, rest) ON thing TO pulse_reader;
GRANT SELECT (id) ON file TO pulse_reader;
GRANT EXECUTE ON FUNCTION lock, touch, beat, commit TO pulse_gate, pulse_runner, pulse_sender, pulse_approver;
GRANT EXECUTE ON FUNCTION hats, kept, pulse.now(timestamptz, timestamptz) TO pulse_gate, pulse_runner, pulse_sender, pulse_approver, pulse_reader;
