-- Price lists, each kept for ever, because orders were priced with them.
CREATE TABLE catalogues (
  version BIGINT PRIMARY KEY CHECK (version > 0),
  text TEXT NOT NULL,
  applied_at BIGINT NOT NULL
);

-- Numbers that are given out in blocks, so that a sale does not wait for another one's number.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  next BIGINT NOT NULL
);

-- @sqlite
CREATE TRIGGER catalogues_stay BEFORE UPDATE ON catalogues
BEGIN
  SELECT RAISE(ABORT, 'price lists are never changed');
END;
CREATE TRIGGER catalogues_remain BEFORE DELETE ON catalogues
BEGIN
  SELECT RAISE(ABORT, 'price lists are never deleted');
END;
-- @postgres
CREATE TRIGGER catalogues_stay BEFORE UPDATE OR DELETE ON catalogues FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER catalogues_remain BEFORE TRUNCATE ON catalogues FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
