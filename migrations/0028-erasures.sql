-- Whose personal data was erased, when, and on whose word. While `finished_at` is null the history behind the rows is still being blanked.
CREATE TABLE erasures (
  customer_id TEXT PRIMARY KEY,
  asked_by TEXT NOT NULL CHECK (asked_by IN ('customer', 'operator')),
  at BIGINT NOT NULL,
  finished_at BIGINT CHECK (finished_at >= at)
);
CREATE INDEX erasures_open ON erasures (customer_id) WHERE finished_at IS NULL;

-- What an erasure made of the versions of rows that a checkpoint covers: their digest before and after it, and how many contents it took away. The
-- checkpoint itself stays as it was made, so what was kept of it elsewhere stays true.
CREATE TABLE checkpoint_amendments (
  checkpoint BIGINT NOT NULL REFERENCES checkpoints (number),
  number BIGINT NOT NULL CHECK (number > 0),
  customer_id TEXT NOT NULL REFERENCES erasures (customer_id),
  versions BIGINT NOT NULL CHECK (versions >= 0),
  digest_before BYTEA NOT NULL,
  digest_after BYTEA NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (checkpoint, number)
);

-- Entries of the audit log whose request was shortened to what tells of nobody. `seal` covers the entry as it is now and the hash that it had,
-- which goes on standing in the chain.
CREATE TABLE audit_redactions (
  seq BIGINT PRIMARY KEY REFERENCES audit_log (seq),
  customer_id TEXT NOT NULL REFERENCES erasures (customer_id),
  seal BYTEA NOT NULL,
  at BIGINT NOT NULL
);

-- History is blanked and the audit log shortened by an erasure alone; nothing else of them ever changes.
-- @sqlite
DROP TRIGGER row_history_stays;
CREATE TRIGGER row_history_stays BEFORE UPDATE ON row_history
WHEN OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS NOT OLD.content OR NEW.version <> OLD.version
  OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key)
  AND NOT (NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.checkpoint IS OLD.checkpoint
    AND (NEW.row_key = OLD.row_key OR (OLD.of_table LIKE 'whitelist_entries%' AND NEW.row_key LIKE '% erased %'))
    AND (NEW.content IS OLD.content OR (OLD.content IS NOT NULL AND NEW.content = 'erased'))
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL))
BEGIN
  SELECT RAISE(ABORT, 'history is never changed');
END;
DROP TRIGGER audit_log_stays;
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
WHEN NEW.seq <> OLD.seq OR NEW.at <> OLD.at OR NEW.operator_id IS NOT OLD.operator_id OR NEW.name <> OLD.name
  OR NEW.role <> OLD.role OR NEW.action <> OLD.action OR NEW.source IS NOT OLD.source OR NEW.hash <> OLD.hash
  OR NOT EXISTS (SELECT 1 FROM audit_redactions WHERE seq = OLD.seq)
  OR NOT EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never changed');
END;
CREATE TRIGGER erasures_remain BEFORE DELETE ON erasures
BEGIN
  SELECT RAISE(ABORT, 'erasures are never forgotten');
END;
CREATE TRIGGER checkpoint_amendments_stay BEFORE UPDATE ON checkpoint_amendments
BEGIN
  SELECT RAISE(ABORT, 'amendments are never changed');
END;
CREATE TRIGGER checkpoint_amendments_remain BEFORE DELETE ON checkpoint_amendments
BEGIN
  SELECT RAISE(ABORT, 'amendments are never deleted');
END;
CREATE TRIGGER audit_redactions_remain BEFORE DELETE ON audit_redactions
BEGIN
  SELECT RAISE(ABORT, 'redactions are never deleted');
END;
CREATE VIEW row_contents_erasures AS
  SELECT 'erasures' AS of_table, customer_id AS row_key, 1 AS kept,
    QUOTE(asked_by) || ',' || QUOTE(at) || ',' || QUOTE(finished_at) AS content
  FROM erasures
  UNION ALL SELECT 'checkpoint_amendments' AS of_table, CAST(checkpoint AS TEXT) || ' ' || CAST(number AS TEXT) AS row_key, 1 AS kept,
    QUOTE(customer_id) || ',' || QUOTE(versions) || ',' || QUOTE(digest_before) || ',' || QUOTE(digest_after) || ',' || QUOTE(at) AS content
  FROM checkpoint_amendments
  UNION ALL SELECT 'audit_redactions' AS of_table, CAST(seq AS TEXT) AS row_key, 1 AS kept,
    QUOTE(customer_id) || ',' || QUOTE(seal) || ',' || QUOTE(at) AS content
  FROM audit_redactions;
CREATE TRIGGER erasures_kept_at_first AFTER INSERT ON erasures
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('erasures', NEW.customer_id, 1,
    QUOTE(NEW.asked_by) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.finished_at));
END;
CREATE TRIGGER erasures_kept_since AFTER UPDATE OF
  asked_by, at, finished_at ON erasures
WHEN OLD.asked_by IS NOT NEW.asked_by
  OR OLD.at IS NOT NEW.at
  OR OLD.finished_at IS NOT NEW.finished_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('erasures', NEW.customer_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'erasures' AND row_key = NEW.customer_id), 0) + 1,
    QUOTE(NEW.asked_by) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.finished_at));
END;
CREATE TRIGGER checkpoint_amendments_kept_at_first AFTER INSERT ON checkpoint_amendments
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('checkpoint_amendments', CAST(NEW.checkpoint AS TEXT) || ' ' || CAST(NEW.number AS TEXT), 1,
    QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.versions) || ',' || QUOTE(NEW.digest_before) || ',' || QUOTE(NEW.digest_after) || ',' || QUOTE(NEW.at));
END;
CREATE TRIGGER audit_redactions_kept_at_first AFTER INSERT ON audit_redactions
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('audit_redactions', CAST(NEW.seq AS TEXT), 1,
    QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.seal) || ',' || QUOTE(NEW.at));
END;
CREATE TRIGGER audit_redactions_kept_since AFTER UPDATE OF
  customer_id, seal, at ON audit_redactions
WHEN OLD.customer_id IS NOT NEW.customer_id
  OR OLD.seal IS NOT NEW.seal
  OR OLD.at IS NOT NEW.at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('audit_redactions', CAST(NEW.seq AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'audit_redactions' AND row_key = CAST(NEW.seq AS TEXT)), 0) + 1,
    QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.seal) || ',' || QUOTE(NEW.at));
END;
-- @postgres
CREATE FUNCTION refuse_unless_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.checkpoint IS NOT DISTINCT FROM OLD.checkpoint
    AND (NEW.row_key = OLD.row_key OR (OLD.of_table LIKE 'whitelist_entries%' AND NEW.row_key LIKE '% erased %'))
    AND (NEW.content IS NOT DISTINCT FROM OLD.content OR (OLD.content IS NOT NULL AND NEW.content = 'erased'))
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'row_history is append-only' USING ERRCODE = '23000';
END
$$;
DROP TRIGGER row_history_stays ON row_history;
CREATE TRIGGER row_history_stays BEFORE UPDATE ON row_history FOR EACH ROW
WHEN (OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS DISTINCT FROM OLD.content
  OR NEW.version <> OLD.version OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key))
EXECUTE FUNCTION refuse_unless_erased();
CREATE FUNCTION refuse_unless_redacted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.operator_id IS NOT DISTINCT FROM OLD.operator_id AND NEW.name = OLD.name
    AND NEW.role = OLD.role AND NEW.action = OLD.action AND NEW.source IS NOT DISTINCT FROM OLD.source AND NEW.hash = OLD.hash
    AND EXISTS (SELECT 1 FROM audit_redactions WHERE seq = OLD.seq)
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = '23000';
END
$$;
DROP TRIGGER audit_log_stays ON audit_log;
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_unless_redacted();
CREATE TRIGGER erasures_remain BEFORE DELETE ON erasures FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoint_amendments_stay BEFORE UPDATE OR DELETE ON checkpoint_amendments
FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_redactions_remain BEFORE DELETE ON audit_redactions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE VIEW row_contents_erasures AS
  SELECT 'erasures' AS of_table, customer_id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{asked_by,at,finished_at}') AS content
  FROM erasures AS each
  UNION ALL SELECT 'checkpoint_amendments' AS of_table, CAST(checkpoint AS text) || ' ' || CAST(number AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,versions,digest_before,digest_after,at}') AS content
  FROM checkpoint_amendments AS each
  UNION ALL SELECT 'audit_redactions' AS of_table, CAST(seq AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,seal,at}') AS content
  FROM audit_redactions AS each;
CREATE TRIGGER erasures_kept AFTER INSERT OR UPDATE OF
  asked_by, at, finished_at ON erasures
FOR EACH ROW EXECUTE FUNCTION note_row (
  'erasures', 'kept', '{customer_id}', '{asked_by,at,finished_at}', '', '{}');
CREATE TRIGGER checkpoint_amendments_kept AFTER INSERT ON checkpoint_amendments
FOR EACH ROW EXECUTE FUNCTION note_row (
  'checkpoint_amendments', 'kept', '{checkpoint,number}', '{customer_id,versions,digest_before,digest_after,at}', '', '{}');
CREATE TRIGGER audit_redactions_kept AFTER INSERT OR UPDATE OF
  customer_id, seal, at ON audit_redactions
FOR EACH ROW EXECUTE FUNCTION note_row (
  'audit_redactions', 'kept', '{seq}', '{customer_id,seal,at}', '', '{}');
-- @both
