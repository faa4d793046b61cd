-- How a dedicated proxy is entered besides its name and password: in both protocols at once, and by where somebody comes from, at a port that
-- stands for this one proxy. `sources` are addresses with a space between them.
ALTER TABLE proxies ADD COLUMN both_protocols BIGINT NOT NULL DEFAULT 0 CHECK (both_protocols IN (0, 1));
ALTER TABLE proxies ADD COLUMN sources TEXT NOT NULL DEFAULT '';
ALTER TABLE proxies ADD COLUMN entry_port BIGINT CHECK (entry_port BETWEEN 1024 AND 65535);
CREATE UNIQUE INDEX proxies_by_entry_port ON proxies (entry_port) WHERE entry_port IS NOT NULL;

-- Ports that stood for somebody and rest before they stand for somebody else.
CREATE TABLE gateway_ports_resting (
  port BIGINT PRIMARY KEY CHECK (port BETWEEN 1024 AND 65535),
  since BIGINT NOT NULL
);
CREATE INDEX gateway_ports_resting_in_turn ON gateway_ports_resting (since, port);

-- @sqlite
CREATE VIEW row_contents_entrances AS
  SELECT 'proxies, entrance' AS of_table, CAST(id AS TEXT) AS row_key, 1 AS kept, NULLIF(
    QUOTE(both_protocols) || ',' || QUOTE(sources) || ',' || QUOTE(entry_port), '0,'''',NULL') AS content
  FROM proxies
  UNION ALL SELECT 'gateway_ports_resting', CAST(port AS TEXT), 1, QUOTE(since) FROM gateway_ports_resting;
CREATE TRIGGER proxies_entrance_since AFTER UPDATE OF both_protocols, sources, entry_port ON proxies
WHEN OLD.both_protocols IS NOT NEW.both_protocols OR OLD.sources IS NOT NEW.sources OR OLD.entry_port IS NOT NEW.entry_port
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('proxies, entrance', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'proxies, entrance' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(
    QUOTE(NEW.both_protocols) || ',' || QUOTE(NEW.sources) || ',' || QUOTE(NEW.entry_port), '0,'''',NULL'));
END;
CREATE TRIGGER gateway_ports_resting_at_first AFTER INSERT ON gateway_ports_resting
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('gateway_ports_resting', CAST(NEW.port AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'gateway_ports_resting' AND row_key = CAST(NEW.port AS TEXT)), 0) + 1, QUOTE(NEW.since));
END;
CREATE TRIGGER gateway_ports_resting_at_last AFTER DELETE ON gateway_ports_resting
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('gateway_ports_resting', CAST(OLD.port AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'gateway_ports_resting' AND row_key = CAST(OLD.port AS TEXT)), 0) + 1, NULL);
END;
-- @postgres
CREATE VIEW row_contents_entrances AS
  SELECT 'proxies, entrance' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{both_protocols,sources,entry_port}'), '''0'','''',NULL') AS content
  FROM proxies AS each
  UNION ALL SELECT 'gateway_ports_resting', CAST(port AS text), 1, row_content(to_jsonb(each), '{since}')
  FROM gateway_ports_resting AS each;
CREATE TRIGGER proxies_entrance AFTER UPDATE OF both_protocols, sources, entry_port ON proxies
FOR EACH ROW EXECUTE FUNCTION note_row (
  'proxies, entrance', 'kept', '{id}', '{both_protocols,sources,entry_port}', '''0'','''',NULL', '{}');
CREATE TRIGGER gateway_ports_resting_kept AFTER INSERT OR DELETE ON gateway_ports_resting
FOR EACH ROW EXECUTE FUNCTION note_row ('gateway_ports_resting', 'kept', '{port}', '{since}', '', '{}');
-- @both
