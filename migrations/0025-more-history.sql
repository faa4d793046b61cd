-- Outages of proxies cannot be computed from other rows where no time was given for them: they have a history. What a node last said of a range,
-- and how it stands besides its last word, which changes seldom, have their latest version.
-- @sqlite
CREATE VIEW proxy_outages_kept AS SELECT proxy_id, from_at,
    QUOTE(until_at) || ',' || QUOTE(cause) || ',' || QUOTE(given) || ',' ||
    QUOTE(expires_before) || ',' || QUOTE(expires_after) AS content
  FROM proxy_outages;
CREATE VIEW stock_trials_noted AS SELECT node_id, range_id,
    QUOTE(problems) || ',' || QUOTE(seen_as) || ',' || QUOTE(changed_at) AS content
  FROM stock_trials;
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
CREATE VIEW nodes_standing_noted AS SELECT id, NULLIF(
    QUOTE(relayed) || ',' || QUOTE(stopping_boot) || ',' || QUOTE(most_ports) || ',' ||
    QUOTE(drained_at) || ',' || QUOTE(changed_at), 'NULL,NULL,NULL,NULL,0') AS content
  FROM nodes;
CREATE TRIGGER nodes_standing_since AFTER UPDATE OF
  relayed, stopping_boot, most_ports, drained_at, changed_at ON nodes
WHEN
  OLD.relayed IS NOT NEW.relayed OR OLD.stopping_boot IS NOT NEW.stopping_boot OR
  OLD.most_ports IS NOT NEW.most_ports OR OLD.drained_at IS NOT NEW.drained_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('nodes, standing', NEW.id, 0, (SELECT content FROM nodes_standing_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE VIEW row_contents_outages AS
  SELECT 'proxy_outages' AS of_table, CAST(proxy_id AS TEXT) || ' ' || CAST(from_at AS TEXT) AS row_key, 1 AS kept, content
  FROM proxy_outages_kept
  UNION ALL SELECT 'stock_trials', node_id || ' ' || CAST(range_id AS TEXT), 0, content
  FROM stock_trials_noted
  UNION ALL SELECT 'nodes, standing', id, 0, content
  FROM nodes_standing_noted;
-- @postgres
CREATE VIEW row_contents_outages AS
  SELECT 'proxy_outages' AS of_table, CAST(proxy_id AS text) || ' ' || CAST(from_at AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{until_at,cause,given,expires_before,expires_after}') AS content
  FROM proxy_outages AS each
  UNION ALL SELECT 'stock_trials', node_id || ' ' || CAST(range_id AS text), 0,
    row_content(to_jsonb(each), '{problems,seen_as,changed_at}')
  FROM stock_trials AS each
  UNION ALL SELECT 'nodes, standing', id, 0,
    NULLIF(row_content(to_jsonb(each), '{relayed,stopping_boot,most_ports,drained_at,changed_at}'), 'NULL,NULL,NULL,NULL,''0''')
  FROM nodes AS each;
CREATE TRIGGER proxy_outages_kept AFTER INSERT OR UPDATE ON proxy_outages
FOR EACH ROW EXECUTE FUNCTION note_row (
  'proxy_outages', 'kept', '{proxy_id,from_at}', '{until_at,cause,given,expires_before,expires_after}', '', '{}');
CREATE TRIGGER stock_trials_noted AFTER INSERT OR DELETE OR UPDATE OF problems, seen_as, changed_at ON stock_trials
FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock_trials', 'latest', '{node_id,range_id}', '{problems,seen_as,changed_at}', '', '{}');
CREATE TRIGGER nodes_standing AFTER UPDATE OF relayed, stopping_boot, most_ports, drained_at, changed_at ON nodes FOR EACH ROW
WHEN (OLD.relayed IS DISTINCT FROM NEW.relayed OR OLD.stopping_boot IS DISTINCT FROM NEW.stopping_boot OR
  OLD.most_ports IS DISTINCT FROM NEW.most_ports OR OLD.drained_at IS DISTINCT FROM NEW.drained_at OR OLD.changed_at <> NEW.changed_at)
EXECUTE FUNCTION note_row (
  'nodes, standing', 'latest', '{id}', '{relayed,stopping_boot,most_ports,drained_at,changed_at}',
  'NULL,NULL,NULL,NULL,''0''', '{}');
-- @both

-- What is there already is its own first version.
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents_outages WHERE content IS NOT NULL;

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
