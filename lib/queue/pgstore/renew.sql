-- What init --upgrade does after functions.sql: until then, the entry of a task was the client's
-- word, and its action any word. One of more letters than fit is written as package queue does (Short).
UPDATE pulse.task t SET entry = pulse.entry(pulse.said(t.seq), t) WHERE entry IS NOT NULL;
UPDATE pulse.task SET entry = overlay(entry PLACING left(action, 7) || '~' || left(encode(sha256(convert_to(action, 'UTF8')), 'hex'), 8) FROM 69 FOR 16)
  WHERE entry IS NOT NULL AND length(action) > 16;
