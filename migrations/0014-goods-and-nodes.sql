-- What is sold is carried by a node. The operator's wish, what nodes have seen, and the fact that sales go by.

-- Addresses that belong together: a prefix, and the nodes that it is on, by id with spaces between; none named: any gateway that
-- proves that it can use it. Ranges of places that are written out do not overlap. While an import runs its range is
-- `coming` and nobody is told of it; one that was split or emptied is `gone`.
CREATE TABLE stock_ranges (
  id BIGINT PRIMARY KEY CHECK (id > 0),
  prefix TEXT NOT NULL,
  homes TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('coming', 'in', 'gone')),
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX stock_ranges_once ON stock_ranges (prefix) WHERE state <> 'gone';
CREATE INDEX stock_ranges_by_change ON stock_ranges (changed_at, id);
CREATE INDEX stock_ranges_coming ON stock_ranges (created_at) WHERE state = 'coming';

-- What each node last said of each range: which of its addresses it can use, as runs of (first, how many), what is wrong with
-- the others, and who the shop saw when the node called from one of them, where that was somebody else.
CREATE TABLE stock_trials (
  node_id TEXT NOT NULL,
  range_id BIGINT NOT NULL REFERENCES stock_ranges (id),
  served TEXT NOT NULL,
  problems TEXT NOT NULL,
  seen_as TEXT,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (node_id, range_id)
);
CREATE INDEX stock_trials_of_range ON stock_trials (range_id);

-- The node that carries a place, or a block: one that has it among its runs, and none while there is no such node.
ALTER TABLE stock ADD COLUMN range_id BIGINT;
ALTER TABLE stock ADD COLUMN carrier TEXT CHECK (carrier IS NULL OR range_id IS NOT NULL);
ALTER TABLE stock_prefixes ADD COLUMN carrier TEXT;
CREATE INDEX stock_of_range ON stock (range_id);

-- The run of a node that was told to stop: while it is the last one heard of, nothing of the node is sold.
ALTER TABLE nodes ADD COLUMN stopping_boot TEXT;

-- An address is sold once, whichever product sells it: what is in stock is no exit, and what is an exit is not in stock. One
-- that is retired there or drained here is free for the other.
CREATE INDEX exits_by_host ON exits (host) WHERE kind = 'local';

-- @sqlite
CREATE TRIGGER stock_of_one_product BEFORE INSERT ON stock
WHEN EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'the address is an exit');
END;
CREATE TRIGGER stock_of_one_product_again BEFORE UPDATE OF state ON stock
WHEN OLD.state = 'retired' AND NEW.state <> 'retired'
  AND EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'the address is an exit');
END;
CREATE TRIGGER exits_of_one_product BEFORE INSERT ON exits
WHEN NEW.kind = 'local' AND NEW.drained_at IS NULL
  AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.host AND state <> 'retired')
BEGIN
  SELECT RAISE(ABORT, 'the address is in stock');
END;
CREATE TRIGGER exits_of_one_product_again BEFORE UPDATE OF kind, host, drained_at ON exits
WHEN NEW.kind = 'local' AND NEW.drained_at IS NULL
  AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.host AND state <> 'retired')
BEGIN
  SELECT RAISE(ABORT, 'the address is in stock');
END;
CREATE VIEW stock_ranges_kept AS SELECT id,
    QUOTE(prefix) || ',' || QUOTE(homes) || ',' || QUOTE(state) || ',' || QUOTE(created_at) || ',' || QUOTE(changed_at) AS content
  FROM stock_ranges;
CREATE VIEW row_contents_ranges AS
  SELECT 'stock_ranges' AS of_table, CAST(id AS TEXT) AS row_key, 1 AS kept, content FROM stock_ranges_kept;
CREATE TRIGGER stock_ranges_kept_at_first AFTER INSERT ON stock_ranges
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'stock_ranges', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'stock_ranges' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM stock_ranges_kept WHERE id = NEW.id;
END;
CREATE TRIGGER stock_ranges_kept_since AFTER UPDATE OF prefix, homes, state, created_at, changed_at ON stock_ranges
WHEN OLD.prefix IS NOT NEW.prefix OR OLD.homes IS NOT NEW.homes OR OLD.state IS NOT NEW.state
  OR OLD.created_at IS NOT NEW.created_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'stock_ranges', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'stock_ranges' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM stock_ranges_kept WHERE id = NEW.id;
END;
-- @postgres
-- Whoever adds to stock shares the lock and whoever adds an exit has it alone: neither passes by what the other has not committed.
CREATE FUNCTION refuse_exit_as_stock() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1953526895, 15);
  IF EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL) THEN
    RAISE EXCEPTION 'the address is an exit' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE FUNCTION refuse_stock_as_exit() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1953526895, 15);
  IF EXISTS (SELECT 1 FROM stock WHERE address = NEW.host AND state <> 'retired') THEN
    RAISE EXCEPTION 'the address is in stock' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER stock_of_one_product BEFORE INSERT ON stock FOR EACH ROW EXECUTE FUNCTION refuse_exit_as_stock();
CREATE TRIGGER stock_of_one_product_again BEFORE UPDATE OF state ON stock FOR EACH ROW
WHEN (OLD.state = 'retired' AND NEW.state <> 'retired') EXECUTE FUNCTION refuse_exit_as_stock();
CREATE TRIGGER exits_of_one_product BEFORE INSERT OR UPDATE OF kind, host, drained_at ON exits FOR EACH ROW
WHEN (NEW.kind = 'local' AND NEW.drained_at IS NULL) EXECUTE FUNCTION refuse_stock_as_exit();
CREATE VIEW row_contents_ranges AS
  SELECT 'stock_ranges' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{prefix,homes,state,created_at,changed_at}') AS content
  FROM stock_ranges AS each;
CREATE TRIGGER stock_ranges_kept AFTER
  INSERT OR UPDATE OF prefix, homes, state, created_at, changed_at ON stock_ranges
FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock_ranges', 'kept', '{id}', '{prefix,homes,state,created_at,changed_at}', '', '{}');
