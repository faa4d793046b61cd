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
-- @both
