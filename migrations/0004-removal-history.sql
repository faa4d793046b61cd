-- Made by "npm run schema" from tools/schema/histories.ts and the CHECKs of 0001-baseline.sql. Do not edit.
-- @sqlite
CREATE VIEW row_contents_removal_history (of_table, row_key, kept, content) AS
SELECT 'nodes, removal', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(removed_at) FROM nodes AS each WHERE removed_at IS NOT NULL
UNION ALL SELECT 'exits, removal', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(removed_at) FROM exits AS each WHERE removed_at IS NOT NULL;
CREATE TRIGGER nodes_removal_history_update AFTER UPDATE OF removed_at ON nodes WHEN (OLD.removed_at) IS NOT (NEW.removed_at)
BEGIN INSERT INTO row_changes VALUES ('nodes, removal', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.removed_at IS NOT NULL THEN QUOTE(NEW.removed_at) END); END;
CREATE TRIGGER exits_removal_history_update AFTER UPDATE OF removed_at ON exits WHEN (OLD.removed_at) IS NOT (NEW.removed_at)
BEGIN INSERT INTO row_changes VALUES ('exits, removal', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.removed_at IS NOT NULL THEN QUOTE(NEW.removed_at) END); END;
-- @postgres
CREATE VIEW row_contents_removal_history (of_table, row_key, kept, content) AS
SELECT 'nodes, removal', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{removed_at}') FROM nodes AS each WHERE removed_at IS NOT NULL
UNION ALL SELECT 'exits, removal', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{removed_at}') FROM exits AS each WHERE removed_at IS NOT NULL;
CREATE TRIGGER nodes_removal_history AFTER UPDATE OF removed_at ON nodes FOR EACH ROW EXECUTE FUNCTION note_row('nodes, removal', 'kept', '{id}', '{removed_at}', 'NULL');
CREATE TRIGGER exits_removal_history AFTER UPDATE OF removed_at ON exits FOR EACH ROW EXECUTE FUNCTION note_row('exits, removal', 'kept', '{id}', '{removed_at}', 'NULL');
-- @both
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents_removal_history;
