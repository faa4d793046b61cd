-- What an operator was told under a key, which addresses he has put into quarantine, where exits and devices stand, whose key a gateway shows to
-- others, and who swapped an address last cannot be computed from other rows: they have a history.
-- @sqlite
CREATE VIEW row_contents_operators AS
  SELECT 'operator_answers' AS of_table, key AS row_key, 1 AS kept,
    QUOTE(request) || ',' || QUOTE(answer) || ',' || QUOTE(at) AS content
  FROM operator_answers
  UNION ALL SELECT 'stock, quarantine', CAST(id AS TEXT), 1, NULLIF(QUOTE(quarantined), '0') FROM stock
  UNION ALL SELECT 'stock_prefixes, quarantine', prefix, 1, NULLIF(QUOTE(quarantined), '0') FROM stock_prefixes
  UNION ALL SELECT 'nodes, hop key', CAST(id AS TEXT), 1, NULLIF(QUOTE(hop_key), 'NULL') FROM nodes
  UNION ALL SELECT 'exits, node', CAST(id AS TEXT), 1, NULLIF(QUOTE(node_id) || ',' || QUOTE(offers), 'NULL,NULL') FROM exits
  UNION ALL SELECT 'vpn_peers, node', CAST(id AS TEXT), 1, NULLIF(QUOTE(node_id), 'NULL') FROM vpn_peers
  UNION ALL SELECT 'proxies, swap', CAST(id AS TEXT), 1, NULLIF(QUOTE(replaced_by), 'NULL') FROM proxies;
CREATE TRIGGER operator_answers_at_first AFTER INSERT ON operator_answers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operator_answers', NEW.key, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operator_answers' AND row_key = NEW.key), 0) + 1,
    QUOTE(NEW.request) || ',' || QUOTE(NEW.answer) || ',' || QUOTE(NEW.at));
END;
CREATE TRIGGER operator_answers_since AFTER UPDATE OF request, answer, at ON operator_answers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operator_answers', NEW.key, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operator_answers' AND row_key = NEW.key), 0) + 1,
    QUOTE(NEW.request) || ',' || QUOTE(NEW.answer) || ',' || QUOTE(NEW.at));
END;
CREATE TRIGGER operator_answers_at_last AFTER DELETE ON operator_answers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operator_answers', OLD.key, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operator_answers' AND row_key = OLD.key), 0) + 1, NULL);
END;
CREATE TRIGGER stock_quarantine_since AFTER UPDATE OF quarantined ON stock WHEN OLD.quarantined IS NOT NEW.quarantined
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock, quarantine', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'stock, quarantine' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.quarantined), '0'));
END;
CREATE TRIGGER stock_prefixes_quarantine_since AFTER UPDATE OF quarantined ON stock_prefixes
WHEN OLD.quarantined IS NOT NEW.quarantined
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock_prefixes, quarantine', NEW.prefix, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'stock_prefixes, quarantine' AND row_key = NEW.prefix), 0) + 1, NULLIF(QUOTE(NEW.quarantined), '0'));
END;
CREATE TRIGGER nodes_hop_key_at_first AFTER INSERT ON nodes WHEN NEW.hop_key IS NOT NULL
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('nodes, hop key', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'nodes, hop key' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.hop_key), 'NULL'));
END;
CREATE TRIGGER nodes_hop_key_since AFTER UPDATE OF hop_key ON nodes WHEN OLD.hop_key IS NOT NEW.hop_key
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('nodes, hop key', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'nodes, hop key' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.hop_key), 'NULL'));
END;
CREATE TRIGGER exits_node_at_first AFTER INSERT ON exits WHEN NEW.node_id IS NOT NULL OR NEW.offers IS NOT NULL
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('exits, node', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'exits, node' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.node_id) || ',' || QUOTE(NEW.offers), 'NULL,NULL'));
END;
CREATE TRIGGER exits_node_since AFTER UPDATE OF node_id, offers ON exits WHEN OLD.node_id IS NOT NEW.node_id OR OLD.offers IS NOT NEW.offers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('exits, node', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'exits, node' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.node_id) || ',' || QUOTE(NEW.offers), 'NULL,NULL'));
END;
CREATE TRIGGER vpn_peers_node_at_first AFTER INSERT ON vpn_peers WHEN NEW.node_id IS NOT NULL
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('vpn_peers, node', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'vpn_peers, node' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.node_id), 'NULL'));
END;
CREATE TRIGGER vpn_peers_node_since AFTER UPDATE OF node_id ON vpn_peers WHEN OLD.node_id IS NOT NEW.node_id
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('vpn_peers, node', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'vpn_peers, node' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.node_id), 'NULL'));
END;
CREATE TRIGGER proxies_swap_at_first AFTER INSERT ON proxies WHEN NEW.replaced_by IS NOT NULL
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('proxies, swap', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'proxies, swap' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.replaced_by), 'NULL'));
END;
CREATE TRIGGER proxies_swap_since AFTER UPDATE OF replaced_by ON proxies WHEN OLD.replaced_by IS NOT NEW.replaced_by
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('proxies, swap', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'proxies, swap' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.replaced_by), 'NULL'));
END;
-- @postgres
CREATE VIEW row_contents_operators AS
  SELECT 'operator_answers' AS of_table, key AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{request,answer,at}') AS content
  FROM operator_answers AS each
  UNION ALL SELECT 'stock, quarantine', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{quarantined}'), '''0''')
  FROM stock AS each
  UNION ALL SELECT 'stock_prefixes, quarantine', prefix, 1, NULLIF(row_content(to_jsonb(each), '{quarantined}'), '''0''')
  FROM stock_prefixes AS each
  UNION ALL SELECT 'nodes, hop key', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{hop_key}'), 'NULL')
  FROM nodes AS each
  UNION ALL SELECT 'exits, node', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{node_id,offers}'), 'NULL,NULL')
  FROM exits AS each
  UNION ALL SELECT 'vpn_peers, node', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{node_id}'), 'NULL')
  FROM vpn_peers AS each
  UNION ALL SELECT 'proxies, swap', CAST(id AS text), 1, NULLIF(row_content(to_jsonb(each), '{replaced_by}'), 'NULL')
  FROM proxies AS each;
CREATE TRIGGER operator_answers_kept AFTER INSERT OR DELETE OR UPDATE OF request, answer, at ON operator_answers
FOR EACH ROW EXECUTE FUNCTION note_row ('operator_answers', 'kept', '{key}', '{request,answer,at}', '', '{}');
CREATE TRIGGER stock_quarantine AFTER UPDATE OF quarantined ON stock
FOR EACH ROW EXECUTE FUNCTION note_row ('stock, quarantine', 'kept', '{id}', '{quarantined}', '''0''', '{}');
CREATE TRIGGER stock_prefixes_quarantine AFTER UPDATE OF quarantined ON stock_prefixes
FOR EACH ROW EXECUTE FUNCTION note_row ('stock_prefixes, quarantine', 'kept', '{prefix}', '{quarantined}', '''0''', '{}');
CREATE TRIGGER nodes_hop_key_at_first AFTER INSERT ON nodes FOR EACH ROW WHEN (NEW.hop_key IS NOT NULL)
EXECUTE FUNCTION note_row ('nodes, hop key', 'kept', '{id}', '{hop_key}', 'NULL', '{}');
CREATE TRIGGER nodes_hop_key_since AFTER UPDATE OF hop_key ON nodes FOR EACH ROW WHEN (OLD.hop_key IS DISTINCT FROM NEW.hop_key)
EXECUTE FUNCTION note_row ('nodes, hop key', 'kept', '{id}', '{hop_key}', 'NULL', '{}');
CREATE TRIGGER exits_node_at_first AFTER INSERT ON exits FOR EACH ROW WHEN (NEW.node_id IS NOT NULL OR NEW.offers IS NOT NULL)
EXECUTE FUNCTION note_row ('exits, node', 'kept', '{id}', '{node_id,offers}', 'NULL,NULL', '{}');
CREATE TRIGGER exits_node_since AFTER UPDATE OF node_id, offers ON exits FOR EACH ROW WHEN (OLD.node_id IS DISTINCT FROM NEW.node_id OR OLD.offers IS DISTINCT FROM NEW.offers)
EXECUTE FUNCTION note_row ('exits, node', 'kept', '{id}', '{node_id,offers}', 'NULL,NULL', '{}');
CREATE TRIGGER vpn_peers_node_at_first AFTER INSERT ON vpn_peers FOR EACH ROW WHEN (NEW.node_id IS NOT NULL)
EXECUTE FUNCTION note_row ('vpn_peers, node', 'kept', '{id}', '{node_id}', 'NULL', '{}');
CREATE TRIGGER vpn_peers_node_since AFTER UPDATE OF node_id ON vpn_peers FOR EACH ROW WHEN (OLD.node_id IS DISTINCT FROM NEW.node_id)
EXECUTE FUNCTION note_row ('vpn_peers, node', 'kept', '{id}', '{node_id}', 'NULL', '{}');
CREATE TRIGGER proxies_swap_at_first AFTER INSERT ON proxies FOR EACH ROW WHEN (NEW.replaced_by IS NOT NULL)
EXECUTE FUNCTION note_row ('proxies, swap', 'kept', '{id}', '{replaced_by}', 'NULL', '{}');
CREATE TRIGGER proxies_swap_since AFTER UPDATE OF replaced_by ON proxies FOR EACH ROW WHEN (OLD.replaced_by IS DISTINCT FROM NEW.replaced_by)
EXECUTE FUNCTION note_row ('proxies, swap', 'kept', '{id}', '{replaced_by}', 'NULL', '{}');
-- @both

-- What is there already is its own first version.
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents_operators WHERE content IS NOT NULL;
