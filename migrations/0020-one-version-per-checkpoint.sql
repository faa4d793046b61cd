-- Histories of rows that customers change for free. A version that no checkpoint covers yet is replaced in place, so that
-- a row has at most one new version per checkpoint, however often it changes. All other histories keep every version.
CREATE VIEW replaced_histories (of_table) AS
SELECT 'proxies' UNION ALL SELECT 'proxies, entrance' UNION ALL SELECT 'subusers' UNION ALL SELECT 'whitelist_entries'
UNION ALL SELECT 'gateway_ports' UNION ALL SELECT 'gateway_ports_resting' UNION ALL SELECT 'vpn_subscriptions'
UNION ALL SELECT 'vpn_peers' UNION ALL SELECT 'vpn_peers, node';
-- The versions that the next checkpoint covers.
CREATE INDEX row_history_unstamped ON row_history (of_table, row_key, version) WHERE checkpoint IS NULL AND version > 0;
-- @sqlite
CREATE TRIGGER row_history_replace BEFORE INSERT ON row_history
WHEN NEW.version > 1 AND NEW.checkpoint IS NULL AND NEW.of_table IN (SELECT of_table FROM replaced_histories)
  AND EXISTS (SELECT 1 FROM row_history WHERE of_table = NEW.of_table AND row_key = NEW.row_key
    AND version = NEW.version - 1 AND checkpoint IS NULL)
BEGIN
  UPDATE row_history SET content = NEW.content
  WHERE of_table = NEW.of_table AND row_key = NEW.row_key AND version = NEW.version - 1;
  SELECT RAISE(IGNORE);
END;
DROP TRIGGER row_history_append_only;
CREATE TRIGGER row_history_append_only BEFORE UPDATE ON row_history
WHEN OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS NOT OLD.content OR NEW.version <> OLD.version
  OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key)
  AND NOT (NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.checkpoint IS OLD.checkpoint
    AND (NEW.row_key = OLD.row_key OR (OLD.of_table LIKE 'whitelist_entries%' AND NEW.row_key LIKE '% erased %'))
    AND (NEW.content IS OLD.content OR (OLD.content IS NOT NULL AND NEW.content = 'erased'))
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL))
  AND NOT (NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.row_key = OLD.row_key
    AND OLD.checkpoint IS NULL AND NEW.checkpoint IS NULL
    AND OLD.of_table IN (SELECT of_table FROM replaced_histories)
    AND NOT EXISTS (SELECT 1 FROM row_history AS later WHERE later.of_table = OLD.of_table
      AND later.row_key = OLD.row_key AND later.version > OLD.version))
BEGIN SELECT RAISE(ABORT, 'history is never changed'); END;
-- @postgres
-- Waits for a checkpoint that is stamping the version before; the new version then gets its own row.
CREATE FUNCTION replace_version() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NEW.of_table IN (SELECT of_table FROM replaced_histories) THEN
    UPDATE row_history SET content = NEW.content
    WHERE of_table = NEW.of_table AND row_key = NEW.row_key AND version = NEW.version - 1 AND checkpoint IS NULL;
    IF FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER row_history_replace BEFORE INSERT ON row_history FOR EACH ROW
WHEN (NEW.version > 1 AND NEW.checkpoint IS NULL) EXECUTE FUNCTION replace_version();
CREATE OR REPLACE FUNCTION refuse_unless_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.checkpoint IS NOT DISTINCT FROM OLD.checkpoint
    AND (NEW.row_key = OLD.row_key OR (OLD.of_table LIKE 'whitelist_entries%' AND NEW.row_key LIKE '% erased %'))
    AND (NEW.content IS NOT DISTINCT FROM OLD.content OR (OLD.content IS NOT NULL AND NEW.content = 'erased'))
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL) THEN
    RETURN NEW;
  END IF;
  IF NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.row_key = OLD.row_key
    AND OLD.checkpoint IS NULL AND NEW.checkpoint IS NULL
    AND OLD.of_table IN (SELECT of_table FROM replaced_histories)
    AND NOT EXISTS (SELECT 1 FROM row_history AS later WHERE later.of_table = OLD.of_table
      AND later.row_key = OLD.row_key AND later.version > OLD.version) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'row_history is append-only' USING ERRCODE = '23000';
END
$$;
-- @both
