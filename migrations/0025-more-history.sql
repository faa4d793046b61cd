-- Outages of proxies cannot be computed from other rows where no time was given for them: they have a history. What a node last said of a range
-- has its latest version, and a node's last word tells all that a report or a command writes beside it.
-- @sqlite
CREATE VIEW proxy_outages_kept AS SELECT proxy_id, from_at,
    QUOTE(until_at) || ',' || QUOTE(cause) || ',' || QUOTE(given) || ',' ||
    QUOTE(expires_before) || ',' || QUOTE(expires_after) AS content
  FROM proxy_outages;
CREATE VIEW stock_trials_noted AS SELECT node_id, range_id,
    QUOTE(problems) || ',' || QUOTE(seen_as) || ',' || QUOTE(changed_at) AS content
  FROM stock_trials;
CREATE VIEW row_contents_outages AS
  SELECT 'proxy_outages' AS of_table, CAST(proxy_id AS TEXT) || ' ' || CAST(from_at AS TEXT) AS row_key, 1 AS kept, content
  FROM proxy_outages_kept
  UNION ALL SELECT 'stock_trials', node_id || ' ' || CAST(range_id AS TEXT), 0, content
  FROM stock_trials_noted;
CREATE TRIGGER proxy_outages_kept_at_first AFTER INSERT ON proxy_outages
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'proxy_outages', CAST(NEW.proxy_id AS TEXT) || ' ' || CAST(NEW.from_at AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history WHERE of_table = 'proxy_outages'
      AND row_key = CAST(NEW.proxy_id AS TEXT) || ' ' || CAST(NEW.from_at AS TEXT)), 0) + 1, content
  FROM proxy_outages_kept WHERE proxy_id = NEW.proxy_id AND from_at = NEW.from_at;
END;
CREATE TRIGGER proxy_outages_kept_since AFTER UPDATE ON proxy_outages
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'proxy_outages', CAST(NEW.proxy_id AS TEXT) || ' ' || CAST(NEW.from_at AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history WHERE of_table = 'proxy_outages'
      AND row_key = CAST(NEW.proxy_id AS TEXT) || ' ' || CAST(NEW.from_at AS TEXT)), 0) + 1, content
  FROM proxy_outages_kept WHERE proxy_id = NEW.proxy_id AND from_at = NEW.from_at;
END;
CREATE TRIGGER stock_trials_noted_at_first AFTER INSERT ON stock_trials
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_trials', NEW.node_id || ' ' || CAST(NEW.range_id AS TEXT), 0,
    (SELECT content FROM stock_trials_noted WHERE node_id = NEW.node_id AND range_id = NEW.range_id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER stock_trials_noted_since AFTER UPDATE OF problems, seen_as, changed_at ON stock_trials
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_trials', NEW.node_id || ' ' || CAST(NEW.range_id AS TEXT), 0,
    (SELECT content FROM stock_trials_noted WHERE node_id = NEW.node_id AND range_id = NEW.range_id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER stock_trials_noted_at_last AFTER DELETE ON stock_trials
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_trials', OLD.node_id || ' ' || CAST(OLD.range_id AS TEXT), 0, NULL)
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
DROP VIEW nodes_noted;
CREATE VIEW nodes_noted AS SELECT id,
    QUOTE(version) || ',' || QUOTE(last_seen_at) || ',' || QUOTE(boot) || ',' ||
    QUOTE(tunnels) || ',' || QUOTE(lag_ms) || ',' || QUOTE(carried) || ',' ||
    QUOTE(relayed) || ',' || QUOTE(stopping_boot) || ',' || QUOTE(most_ports) || ',' ||
    QUOTE(drained_at) || ',' || QUOTE(changed_at) AS content
  FROM nodes;
DROP TRIGGER nodes_noted_since;
CREATE TRIGGER nodes_noted_since AFTER UPDATE OF
  version, last_seen_at, boot, tunnels, lag_ms, carried, relayed, stopping_boot, most_ports, drained_at, changed_at ON nodes
WHEN
  OLD.version IS NOT NEW.version OR OLD.last_seen_at IS NOT NEW.last_seen_at OR
  OLD.boot IS NOT NEW.boot OR OLD.tunnels IS NOT NEW.tunnels OR OLD.lag_ms IS NOT NEW.lag_ms OR
  OLD.carried IS NOT NEW.carried OR OLD.relayed IS NOT NEW.relayed OR
  OLD.stopping_boot IS NOT NEW.stopping_boot OR OLD.most_ports IS NOT NEW.most_ports OR
  OLD.drained_at IS NOT NEW.drained_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('nodes, last word', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM nodes_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
-- @postgres
CREATE VIEW row_contents_outages AS
  SELECT 'proxy_outages' AS of_table, CAST(proxy_id AS text) || ' ' || CAST(from_at AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{until_at,cause,given,expires_before,expires_after}') AS content
  FROM proxy_outages AS each
  UNION ALL SELECT 'stock_trials', node_id || ' ' || CAST(range_id AS text), 0,
    row_content(to_jsonb(each), '{problems,seen_as,changed_at}')
  FROM stock_trials AS each;
CREATE TRIGGER proxy_outages_kept AFTER INSERT OR UPDATE ON proxy_outages
FOR EACH ROW EXECUTE FUNCTION note_row (
  'proxy_outages', 'kept', '{proxy_id,from_at}', '{until_at,cause,given,expires_before,expires_after}', '', '{}');
CREATE TRIGGER stock_trials_noted AFTER INSERT OR DELETE OR UPDATE OF problems, seen_as, changed_at ON stock_trials
FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock_trials', 'latest', '{node_id,range_id}', '{problems,seen_as,changed_at}', '', '{}');
CREATE OR REPLACE FUNCTION note_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content) VALUES ('nodes, last word', NEW.id, 0,
    quote_nullable(NEW.version) || ',' || quote_nullable(NEW.last_seen_at) || ',' || quote_nullable(NEW.boot) || ',' ||
    quote_nullable(NEW.tunnels) || ',' || quote_nullable(NEW.lag_ms) || ',' || quote_nullable(NEW.carried) || ',' ||
    quote_nullable(NEW.relayed) || ',' || quote_nullable(NEW.stopping_boot) || ',' || quote_nullable(NEW.most_ports) || ',' ||
    quote_nullable(NEW.drained_at) || ',' || quote_nullable(NEW.changed_at))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  RETURN NULL;
END
$$;
DROP TRIGGER nodes_noted ON nodes;
CREATE TRIGGER nodes_noted AFTER INSERT OR UPDATE OF
  version, last_seen_at, boot, tunnels, lag_ms, carried, relayed, stopping_boot, most_ports, drained_at, changed_at ON nodes
FOR EACH ROW EXECUTE FUNCTION note_node ();
-- The one line of the view that says what a node's last word is; the others stay as they were written.
DO $$
DECLARE
  before text := pg_get_viewdef('row_contents'::regclass);
  told text := '{version,last_seen_at,boot,tunnels,lag_ms,carried';
BEGIN
  IF position(told || '}' IN before) = 0 THEN RAISE EXCEPTION 'row_contents does not tell a node''s last word'; END IF;
  EXECUTE 'CREATE OR REPLACE VIEW row_contents AS ' ||
    replace(before, told || '}', told || ',relayed,stopping_boot,most_ports,drained_at,changed_at}');
END
$$;
-- @both

-- What is there already is its own first version.
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents_outages WHERE content IS NOT NULL;
UPDATE row_history SET content = (SELECT content FROM row_contents AS now
    WHERE now.of_table = row_history.of_table AND now.row_key = row_history.row_key)
WHERE of_table = 'nodes, last word' AND version = 0;

-- A digest of what an event says; for those that were told before this was kept, what they say.
-- @sqlite
ALTER TABLE events ADD COLUMN digest BYTEA NOT NULL DEFAULT X'';
DROP TRIGGER events_stay;
UPDATE events SET digest = CAST(customer_id || ' ' || seq || ' ' || type || ' ' || at || ' ' ||
  COALESCE(order_id, '-') || ' ' || COALESCE(subject, '-') || ' ' || data AS BLOB);
CREATE TRIGGER events_stay BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'events are never changed');
END;
-- @postgres
ALTER TABLE events ADD COLUMN digest BYTEA NOT NULL DEFAULT '';
ALTER TABLE events DISABLE TRIGGER events_stay;
UPDATE events SET digest = convert_to(customer_id || ' ' || seq || ' ' || type || ' ' || at || ' ' ||
  COALESCE(order_id, '-') || ' ' || COALESCE(subject, '-') || ' ' || data, 'UTF8');
ALTER TABLE events ENABLE TRIGGER events_stay;
-- @both

-- What changes with every report of a node has no history: a number that follows from its figures stands beside them (`db/checksum.ts`).
ALTER TABLE usage_counts ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE usage_counts SET checksum = ((received % 4294967291) * 3 + (sent % 4294967291) * 5 +
  (believed_received % 4294967291) * 7 + (believed_sent % 4294967291) * 11 + (updated_at % 4294967291) * 13) % 4294967291;
ALTER TABLE usage_budgets ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE usage_budgets SET checksum = ((rest % 4294967291) * 3 + (at % 4294967291) * 5 +
  CASE purpose WHEN 'hosts' THEN 7 ELSE 0 END) % 4294967291;
ALTER TABLE usage_leases ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE usage_leases SET checksum = ((turn % 4294967291) * 3 + (granted % 4294967291) * 5 + (returned % 4294967291) * 7 +
  (lapsed % 4294967291) * 11 + (settled % 4294967291) * 13 + (late % 4294967291) * 17 + (claimable % 4294967291) * 19 +
  (quarantined % 4294967291) * 23 + (counted % 4294967291) * 29 + (aside % 4294967291) * 31 +
  (changed_at % 4294967291) * 37) % 4294967291;
ALTER TABLE traffic_hours ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE traffic_hours SET checksum = ((hour % 4294967291) * 3 + (received % 4294967291) * 5 + (sent % 4294967291) * 7) % 4294967291;
ALTER TABLE traffic_hosts ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE traffic_hosts SET checksum = ((hour % 4294967291) * 3 + (received % 4294967291) * 5 + (sent % 4294967291) * 7) % 4294967291;
ALTER TABLE exit_counts ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE exit_counts SET checksum = ((received % 4294967291) * 3 + (sent % 4294967291) * 5) % 4294967291;
ALTER TABLE exit_days ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
UPDATE exit_days SET checksum = ((day % 4294967291) * 3 + (received % 4294967291) * 5 + (sent % 4294967291) * 7) % 4294967291;
