-- Whoever puts scattered addresses in stock makes a range of each, a hundred thousand in one command, and each has two versions before the first of
-- them is sold. What a version says is taken from the row at hand, without a look at the table, and a new row's is its first. A range is never deleted
-- and its number never given twice: one that came back would be refused here.
-- @sqlite
DROP TRIGGER stock_ranges_kept_at_first;
DROP TRIGGER stock_ranges_kept_since;
CREATE TRIGGER stock_ranges_kept_at_first AFTER INSERT ON stock_ranges
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_ranges', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.prefix) || ',' || QUOTE(NEW.homes) || ',' ||
    QUOTE(NEW.state) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at));
END;
CREATE TRIGGER stock_ranges_kept_since AFTER UPDATE OF prefix, homes, state, created_at, changed_at ON stock_ranges
WHEN OLD.prefix IS NOT NEW.prefix OR OLD.homes IS NOT NEW.homes OR OLD.state IS NOT NEW.state
  OR OLD.created_at IS NOT NEW.created_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_ranges', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'stock_ranges' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    QUOTE(NEW.prefix) || ',' || QUOTE(NEW.homes) || ',' ||
    QUOTE(NEW.state) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at));
END;
DROP TRIGGER stock_trials_noted_at_first;
DROP TRIGGER stock_trials_noted_since;
CREATE TRIGGER stock_trials_noted_at_first AFTER INSERT ON stock_trials
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_trials', NEW.node_id || ' ' || CAST(NEW.range_id AS TEXT), 0,
    QUOTE(NEW.problems) || ',' || QUOTE(NEW.seen_as) || ',' || QUOTE(NEW.changed_at))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER stock_trials_noted_since AFTER UPDATE OF problems, seen_as, changed_at ON stock_trials
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_trials', NEW.node_id || ' ' || CAST(NEW.range_id AS TEXT), 0,
    QUOTE(NEW.problems) || ',' || QUOTE(NEW.seen_as) || ',' || QUOTE(NEW.changed_at))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
-- @postgres
CREATE FUNCTION note_range() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  told text := quote_nullable(NEW.prefix) || ',' || quote_nullable(NEW.homes) || ',' || quote_nullable(NEW.state) || ',' ||
    quote_nullable(NEW.created_at) || ',' || quote_nullable(NEW.changed_at);
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_ranges', CAST(NEW.id AS text), CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'stock_ranges' AND row_key = CAST(NEW.id AS text)), 0) + 1 END, told);
  RETURN NULL;
END
$$;
DROP TRIGGER stock_ranges_kept ON stock_ranges;
CREATE TRIGGER stock_ranges_kept_at_first AFTER INSERT ON stock_ranges FOR EACH ROW EXECUTE FUNCTION note_range();
CREATE TRIGGER stock_ranges_kept_since AFTER UPDATE OF prefix, homes, state, created_at, changed_at ON stock_ranges FOR EACH ROW
WHEN (OLD.prefix <> NEW.prefix OR OLD.homes <> NEW.homes OR OLD.state <> NEW.state
  OR OLD.created_at <> NEW.created_at OR OLD.changed_at <> NEW.changed_at)
EXECUTE FUNCTION note_range();
CREATE FUNCTION note_trial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_trials', NEW.node_id || ' ' || NEW.range_id, 0,
    quote_nullable(NEW.problems) || ',' || quote_nullable(NEW.seen_as) || ',' || quote_nullable(NEW.changed_at))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  RETURN NULL;
END
$$;
DROP TRIGGER stock_trials_noted ON stock_trials;
CREATE TRIGGER stock_trials_noted AFTER INSERT OR UPDATE OF problems, seen_as, changed_at ON stock_trials
FOR EACH ROW EXECUTE FUNCTION note_trial();
CREATE TRIGGER stock_trials_noted_at_last AFTER DELETE ON stock_trials FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock_trials', 'latest', '{node_id,range_id}', '{problems,seen_as,changed_at}', '', '{}');
-- @both
