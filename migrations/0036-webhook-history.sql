-- Made by "npm run schema" from tools/schema/histories.ts and the CHECKs of 0001-baseline.sql. Do not edit.
-- @sqlite
CREATE VIEW row_contents_webhook_history (of_table, row_key, kept, content) AS
SELECT 'webhooks', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(url) || ',' || QUOTE(events) || ',' || CASE WHEN old_secrets IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(old_until) || ',' || QUOTE(state) || ',' || QUOTE(problem) || ',' || QUOTE(created_at) FROM webhooks AS each;
CREATE TRIGGER webhooks_history_insert AFTER INSERT ON webhooks
BEGIN INSERT INTO row_changes VALUES ('webhooks', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.url) || ',' || QUOTE(NEW.events) || ',' || CASE WHEN NEW.old_secrets IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.old_until) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.problem) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER webhooks_history_update AFTER UPDATE OF customer_id, url, events, old_secrets, old_until, state, problem, created_at ON webhooks WHEN (OLD.customer_id, OLD.url, OLD.events, OLD.old_secrets, OLD.old_until, OLD.state, OLD.problem, OLD.created_at) IS NOT (NEW.customer_id, NEW.url, NEW.events, NEW.old_secrets, NEW.old_until, NEW.state, NEW.problem, NEW.created_at)
BEGIN INSERT INTO row_changes VALUES ('webhooks', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.url) || ',' || QUOTE(NEW.events) || ',' || CASE WHEN NEW.old_secrets IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.old_until) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.problem) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER webhooks_history_delete AFTER DELETE ON webhooks
BEGIN INSERT INTO row_changes VALUES ('webhooks', CAST(OLD.id AS TEXT), 1, NULL); END;
-- @postgres
CREATE VIEW row_contents_webhook_history (of_table, row_key, kept, content) AS
SELECT 'webhooks', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,url,events,"?old_secrets",old_until,state,problem,created_at}') FROM webhooks AS each;
CREATE TRIGGER webhooks_history AFTER INSERT OR UPDATE OF customer_id, url, events, old_secrets, old_until, state, problem, created_at OR DELETE ON webhooks FOR EACH ROW EXECUTE FUNCTION note_row('webhooks', 'kept', '{id}', '{customer_id,url,events,"?old_secrets",old_until,state,problem,created_at}');
-- @both
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents_webhook_history;
