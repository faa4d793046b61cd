-- What `verify` cannot compute from other rows is written down twice: once in its row, and here by the database
-- itself, whichever statement changes the row. A row that was changed behind the shop's back says something else than
-- this does.
--
-- Settings and facts are kept for good, version after version, and each checkpoint digests the versions that are new
-- since the one before it: `checkpoint` says which. What changes all the time (when a node was last heard of) has one
-- version, number 0, the latest. `content` is the row's columns as literals; none means that there is nothing to tell:
-- the row is gone, or as it began. Sealed texts are not copied, only whether there is one: what is erased is erased.
CREATE TABLE row_history (
  of_table TEXT NOT NULL,
  row_key TEXT NOT NULL,
  version BIGINT NOT NULL CHECK (version >= 0),
  content TEXT,
  checkpoint BIGINT CHECK (checkpoint IS NULL OR version > 0),
  PRIMARY KEY (of_table, row_key, version)
);
CREATE INDEX row_history_by_checkpoint ON row_history (checkpoint, of_table, row_key, version);

-- How many versions a checkpoint covers beside the accounts, and their digest. Older checkpoints have neither.
ALTER TABLE checkpoints ADD COLUMN versions BIGINT CHECK (versions >= 0);
ALTER TABLE checkpoints ADD COLUMN versions_digest BYTEA CHECK ((versions_digest IS NULL) = (versions IS NULL));

-- @sqlite
CREATE VIEW shop_kept AS SELECT one,
    QUOTE(mode) || ',' || QUOTE(opened_at) AS content
  FROM shop;
CREATE VIEW migrations_kept AS SELECT name,
    QUOTE(checksum) || ',' || QUOTE(applied_at) AS content
  FROM migrations;
CREATE VIEW customers_kept AS SELECT id,
    QUOTE(name) || ',' || QUOTE(created_at) || ',' || QUOTE(blocked_at) AS content
  FROM customers;
CREATE VIEW tokens_kept AS SELECT id,
    QUOTE(customer_id) || ',' || QUOTE(digest) || ',' || QUOTE(hint) || ',' ||
    QUOTE(name) || ',' || QUOTE(scopes) || ',' || QUOTE(allowed_from) || ',' ||
    QUOTE(cap_kopecks) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' ||
    QUOTE(revoked_at) AS content
  FROM tokens;
CREATE VIEW catalogues_kept AS SELECT version,
    QUOTE(text) || ',' || QUOTE(applied_at) AS content
  FROM catalogues;
CREATE VIEW nodes_kept AS SELECT id,
    QUOTE(kind) || ',' || QUOTE(name) || ',' || QUOTE(location) || ',' ||
    QUOTE(country_code) || ',' || QUOTE(city) || ',' || QUOTE(endpoint_host) || ',' ||
    QUOTE(endpoint_port) || ',' || QUOTE(public_key) || ',' ||
    CASE WHEN private_key IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(state) || ',' ||
    QUOTE(created_at) || ',' || QUOTE(key_digest) || ',' || QUOTE(key_expires_at) || ',' ||
    QUOTE(key_used_at) || ',' || QUOTE(secret_digest) || ',' || QUOTE(joined_at) || ',' ||
    QUOTE(link_mbit) AS content
  FROM nodes;
CREATE VIEW exits_kept AS SELECT id,
    QUOTE(pool) || ',' || QUOTE(kind) || ',' || QUOTE(host) || ',' || QUOTE(port) || ',' ||
    CASE WHEN credentials IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(country) || ',' ||
    QUOTE(state) || ',' || QUOTE(city) || ',' || QUOTE(zip) || ',' || QUOTE(asn) || ',' ||
    QUOTE(drained_at) || ',' || QUOTE(created_at) || ',' || QUOTE(changed_at) AS content
  FROM exits;
CREATE VIEW stock_prefixes_kept AS SELECT prefix,
    QUOTE(country) || ',' || QUOTE(ipv) || ',' || QUOTE(added_at) || ',' || QUOTE(retired_at) AS content
  FROM stock_prefixes;
CREATE VIEW subusers_kept AS SELECT id,
    QUOTE(customer_id) || ',' || QUOTE(login) || ',' || QUOTE(name) || ',' ||
    QUOTE(is_default) || ',' || QUOTE(digest) || ',' || QUOTE(blocked_at) || ',' ||
    QUOTE(deleted_at) || ',' || QUOTE(heir_id) || ',' || QUOTE(closing_order) || ',' ||
    QUOTE(day_bytes) || ',' || QUOTE(month_bytes) || ',' || QUOTE(total_bytes) || ',' ||
    QUOTE(tunnels) || ',' || QUOTE(keep_hosts) || ',' || QUOTE(created_at) AS content
  FROM subusers;
CREATE VIEW whitelist_entries_kept AS SELECT subuser_id, prefix,
    QUOTE(comment) || ',' || QUOTE(created_at) AS content
  FROM whitelist_entries;
CREATE VIEW gateway_ports_kept AS SELECT port,
    QUOTE(subuser_id) || ',' || QUOTE(parameters) || ',' || QUOTE(ttl_minutes) || ',' ||
    QUOTE(session) || ',' || QUOTE(created_at) AS content
  FROM gateway_ports;
CREATE VIEW vpn_subscriptions_kept AS SELECT uuid,
    QUOTE(customer_id) || ',' || QUOTE(device_limit) || ',' || QUOTE(speed_mbit) || ',' ||
    QUOTE(auto_renew_months) || ',' || QUOTE(renew_token_id) || ',' || QUOTE(link_digest) || ',' ||
    QUOTE(created_at) || ',' || QUOTE(disabled_at) || ',' || QUOTE(swept_at) || ',' || QUOTE(deleted_at) AS content
  FROM vpn_subscriptions;
CREATE VIEW vpn_peers_kept AS SELECT id,
    QUOTE(subscription_uuid) || ',' || QUOTE(name) || ',' || QUOTE(public_key) || ',' ||
    QUOTE(own_key) || ',' || QUOTE(ipv4) || ',' || QUOTE(ipv6) || ',' || QUOTE(location) || ',' ||
    QUOTE(created_at) || ',' || QUOTE(removed_at) AS content
  FROM vpn_peers;
CREATE VIEW proxies_kept AS SELECT id,
    NULLIF(
    QUOTE(port_type) || ',' || QUOTE(comment) || ',' || QUOTE(renew_period) || ',' || QUOTE(renew_token_id),
    '''http'','''',NULL,NULL') AS content
  FROM proxies;
CREATE VIEW leases_kept AS SELECT place_id, started_at,
    CASE WHEN ended_at IS NOT NULL THEN
    QUOTE(ended_at) || ',' || QUOTE(proxy_id)
    END AS content
  FROM leases;
CREATE VIEW stock_kept AS SELECT id,
    NULLIF(
    QUOTE(retiring),
    '0') AS content
  FROM stock;
CREATE VIEW counters_noted AS SELECT name,
    QUOTE(next) AS content
  FROM counters;
CREATE VIEW gateway_port_next_noted AS SELECT one,
    QUOTE(next) AS content
  FROM gateway_port_next;
CREATE VIEW nodes_noted AS SELECT id,
    QUOTE(version) || ',' || QUOTE(last_seen_at) || ',' || QUOTE(boot) || ',' ||
    QUOTE(tunnels) || ',' || QUOTE(lag_ms) || ',' || QUOTE(carried) AS content
  FROM nodes;
CREATE VIEW usage_boots_noted AS SELECT node, boot,
    QUOTE(last_at) || ',' || QUOTE(closed_at) AS content
  FROM usage_boots;
CREATE VIEW usage_nodes_noted AS SELECT node,
    QUOTE(boot) || ',' || QUOTE(since) AS content
  FROM usage_nodes;
CREATE VIEW usage_budgets_noted AS SELECT node, purpose,
    NULLIF(
    QUOTE(refused) || ',' || QUOTE(refused_at),
    '0,NULL') AS content
  FROM usage_budgets;
CREATE VIEW whitelist_entries_noted AS SELECT subuser_id, prefix,
    NULLIF(
    QUOTE(last_used_at),
    'NULL') AS content
  FROM whitelist_entries;
CREATE VIEW subusers_noted AS SELECT id,
    QUOTE(changed_at) AS content
  FROM subusers;
CREATE VIEW vpn_peers_noted AS SELECT id,
    QUOTE(last_handshake_at) || ',' || QUOTE(changed_at) AS content
  FROM vpn_peers;
CREATE VIEW vpn_subscriptions_noted AS SELECT uuid,
    NULLIF(
    QUOTE(renew_after) || ',' || QUOTE(renew_problem),
    '0,NULL') AS content
  FROM vpn_subscriptions;
CREATE VIEW vpn_addresses_noted AS SELECT ipv4,
    NULLIF(
    QUOTE(free_at),
    '0') AS content
  FROM vpn_addresses;
CREATE VIEW proxies_noted AS SELECT id,
    CASE WHEN renew_tried_at IS NULL AND changed_at = started_at THEN NULL ELSE
    QUOTE(renew_tried_at) || ',' || QUOTE(changed_at)
    END AS content
  FROM proxies;
CREATE VIEW stock_noted AS SELECT id,
    NULLIF(
    QUOTE(rest_until),
    'NULL') AS content
  FROM stock;
CREATE VIEW row_contents AS
  SELECT 'shop' AS of_table, CAST(one AS TEXT) AS row_key, 1 AS kept, content
    FROM shop_kept
  UNION ALL SELECT 'migrations', CAST(name AS TEXT), 1, content
    FROM migrations_kept
  UNION ALL SELECT 'customers', CAST(id AS TEXT), 1, content
    FROM customers_kept
  UNION ALL SELECT 'tokens', CAST(id AS TEXT), 1, content
    FROM tokens_kept
  UNION ALL SELECT 'catalogues', CAST(version AS TEXT), 1, content
    FROM catalogues_kept
  UNION ALL SELECT 'nodes', CAST(id AS TEXT), 1, content
    FROM nodes_kept
  UNION ALL SELECT 'exits', CAST(id AS TEXT), 1, content
    FROM exits_kept
  UNION ALL SELECT 'stock_prefixes', CAST(prefix AS TEXT), 1, content
    FROM stock_prefixes_kept
  UNION ALL SELECT 'subusers', CAST(id AS TEXT), 1, content
    FROM subusers_kept
  UNION ALL SELECT 'whitelist_entries', CAST(subuser_id AS TEXT) || ' ' || CAST(prefix AS TEXT), 1, content
    FROM whitelist_entries_kept
  UNION ALL SELECT 'gateway_ports', CAST(port AS TEXT), 1, content
    FROM gateway_ports_kept
  UNION ALL SELECT 'vpn_subscriptions', CAST(uuid AS TEXT), 1, content
    FROM vpn_subscriptions_kept
  UNION ALL SELECT 'vpn_peers', CAST(id AS TEXT), 1, content
    FROM vpn_peers_kept
  UNION ALL SELECT 'proxies', CAST(id AS TEXT), 1, content
    FROM proxies_kept
  UNION ALL SELECT 'leases', CAST(place_id AS TEXT) || ' ' || CAST(started_at AS TEXT), 1, content
    FROM leases_kept
  UNION ALL SELECT 'stock', CAST(id AS TEXT), 1, content
    FROM stock_kept
  UNION ALL SELECT 'counters', CAST(name AS TEXT), 0, content
    FROM counters_noted
  UNION ALL SELECT 'gateway_port_next', CAST(one AS TEXT), 0, content
    FROM gateway_port_next_noted
  UNION ALL SELECT 'nodes, last word', CAST(id AS TEXT), 0, content
    FROM nodes_noted
  UNION ALL SELECT 'usage_boots', CAST(node AS TEXT) || ' ' || CAST(boot AS TEXT), 0, content
    FROM usage_boots_noted
  UNION ALL SELECT 'usage_nodes', CAST(node AS TEXT), 0, content
    FROM usage_nodes_noted
  UNION ALL SELECT 'usage_budgets, refused', CAST(node AS TEXT) || ' ' || CAST(purpose AS TEXT), 0, content
    FROM usage_budgets_noted
  UNION ALL SELECT 'whitelist_entries, last use', CAST(subuser_id AS TEXT) || ' ' || CAST(prefix AS TEXT), 0, content
    FROM whitelist_entries_noted
  UNION ALL SELECT 'subusers, last change', CAST(id AS TEXT), 0, content
    FROM subusers_noted
  UNION ALL SELECT 'vpn_peers, last change', CAST(id AS TEXT), 0, content
    FROM vpn_peers_noted
  UNION ALL SELECT 'vpn_subscriptions, renewal', CAST(uuid AS TEXT), 0, content
    FROM vpn_subscriptions_noted
  UNION ALL SELECT 'vpn_addresses', CAST(ipv4 AS TEXT), 0, content
    FROM vpn_addresses_noted
  UNION ALL SELECT 'proxies, last change', CAST(id AS TEXT), 0, content
    FROM proxies_noted
  UNION ALL SELECT 'stock, rest', CAST(id AS TEXT), 0, content
    FROM stock_noted;
CREATE TRIGGER shop_kept_at_first AFTER INSERT ON shop
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'shop', CAST(NEW.one AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'shop'
        AND row_key = CAST(NEW.one AS TEXT)), 0) + 1, content
  FROM shop_kept WHERE one = NEW.one;
END;
CREATE TRIGGER shop_kept_since AFTER UPDATE OF
  mode, opened_at ON shop
WHEN
  OLD.mode IS NOT NEW.mode OR OLD.opened_at IS NOT NEW.opened_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'shop', CAST(NEW.one AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'shop'
        AND row_key = CAST(NEW.one AS TEXT)), 0) + 1, content
  FROM shop_kept WHERE one = NEW.one;
END;
CREATE TRIGGER migrations_kept_at_first AFTER INSERT ON migrations
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'migrations', CAST(NEW.name AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'migrations'
        AND row_key = CAST(NEW.name AS TEXT)), 0) + 1, content
  FROM migrations_kept WHERE name = NEW.name;
END;
CREATE TRIGGER migrations_kept_since AFTER UPDATE OF
  checksum, applied_at ON migrations
WHEN
  OLD.checksum IS NOT NEW.checksum OR OLD.applied_at IS NOT NEW.applied_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'migrations', CAST(NEW.name AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'migrations'
        AND row_key = CAST(NEW.name AS TEXT)), 0) + 1, content
  FROM migrations_kept WHERE name = NEW.name;
END;
CREATE TRIGGER customers_kept_at_first AFTER INSERT ON customers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'customers', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'customers'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM customers_kept WHERE id = NEW.id;
END;
CREATE TRIGGER customers_kept_since AFTER UPDATE OF
  name, created_at, blocked_at ON customers
WHEN
  OLD.name IS NOT NEW.name OR OLD.created_at IS NOT NEW.created_at OR
  OLD.blocked_at IS NOT NEW.blocked_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'customers', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'customers'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM customers_kept WHERE id = NEW.id;
END;
CREATE TRIGGER tokens_kept_at_first AFTER INSERT ON tokens
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'tokens', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'tokens'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM tokens_kept WHERE id = NEW.id;
END;
CREATE TRIGGER tokens_kept_since AFTER UPDATE OF
  customer_id, digest, hint, name, scopes, allowed_from, cap_kopecks, created_at, expires_at,
  revoked_at ON tokens
WHEN
  OLD.customer_id IS NOT NEW.customer_id OR OLD.digest IS NOT NEW.digest OR
  OLD.hint IS NOT NEW.hint OR OLD.name IS NOT NEW.name OR OLD.scopes IS NOT NEW.scopes OR
  OLD.allowed_from IS NOT NEW.allowed_from OR OLD.cap_kopecks IS NOT NEW.cap_kopecks OR
  OLD.created_at IS NOT NEW.created_at OR OLD.expires_at IS NOT NEW.expires_at OR
  OLD.revoked_at IS NOT NEW.revoked_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'tokens', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'tokens'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM tokens_kept WHERE id = NEW.id;
END;
CREATE TRIGGER catalogues_kept_at_first AFTER INSERT ON catalogues
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'catalogues', CAST(NEW.version AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'catalogues'
        AND row_key = CAST(NEW.version AS TEXT)), 0) + 1, content
  FROM catalogues_kept WHERE version = NEW.version;
END;
CREATE TRIGGER catalogues_kept_since AFTER UPDATE OF
  text, applied_at ON catalogues
WHEN
  OLD.text IS NOT NEW.text OR OLD.applied_at IS NOT NEW.applied_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'catalogues', CAST(NEW.version AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'catalogues'
        AND row_key = CAST(NEW.version AS TEXT)), 0) + 1, content
  FROM catalogues_kept WHERE version = NEW.version;
END;
CREATE TRIGGER nodes_kept_at_first AFTER INSERT ON nodes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'nodes', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'nodes'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM nodes_kept WHERE id = NEW.id;
END;
CREATE TRIGGER nodes_kept_since AFTER UPDATE OF
  kind, name, location, country_code, city, endpoint_host, endpoint_port, public_key, private_key,
  state, created_at, key_digest, key_expires_at, key_used_at, secret_digest, joined_at, link_mbit ON nodes
WHEN
  OLD.kind IS NOT NEW.kind OR OLD.name IS NOT NEW.name OR OLD.location IS NOT NEW.location OR
  OLD.country_code IS NOT NEW.country_code OR OLD.city IS NOT NEW.city OR
  OLD.endpoint_host IS NOT NEW.endpoint_host OR OLD.endpoint_port IS NOT NEW.endpoint_port OR
  OLD.public_key IS NOT NEW.public_key OR OLD.private_key IS NOT NEW.private_key OR
  OLD.state IS NOT NEW.state OR OLD.created_at IS NOT NEW.created_at OR
  OLD.key_digest IS NOT NEW.key_digest OR OLD.key_expires_at IS NOT NEW.key_expires_at OR
  OLD.key_used_at IS NOT NEW.key_used_at OR OLD.secret_digest IS NOT NEW.secret_digest OR
  OLD.joined_at IS NOT NEW.joined_at OR OLD.link_mbit IS NOT NEW.link_mbit
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'nodes', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'nodes'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM nodes_kept WHERE id = NEW.id;
END;
CREATE TRIGGER exits_kept_at_first AFTER INSERT ON exits
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'exits', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'exits'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM exits_kept WHERE id = NEW.id;
END;
CREATE TRIGGER exits_kept_since AFTER UPDATE OF
  pool, kind, host, port, credentials, country, state, city, zip, asn, drained_at, created_at,
  changed_at ON exits
WHEN
  OLD.pool IS NOT NEW.pool OR OLD.kind IS NOT NEW.kind OR OLD.host IS NOT NEW.host OR
  OLD.port IS NOT NEW.port OR OLD.credentials IS NOT NEW.credentials OR
  OLD.country IS NOT NEW.country OR OLD.state IS NOT NEW.state OR OLD.city IS NOT NEW.city OR
  OLD.zip IS NOT NEW.zip OR OLD.asn IS NOT NEW.asn OR OLD.drained_at IS NOT NEW.drained_at OR
  OLD.created_at IS NOT NEW.created_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'exits', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'exits'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM exits_kept WHERE id = NEW.id;
END;
CREATE TRIGGER stock_prefixes_kept_at_first AFTER INSERT ON stock_prefixes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'stock_prefixes', CAST(NEW.prefix AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'stock_prefixes'
        AND row_key = CAST(NEW.prefix AS TEXT)), 0) + 1, content
  FROM stock_prefixes_kept WHERE prefix = NEW.prefix;
END;
CREATE TRIGGER stock_prefixes_kept_since AFTER UPDATE OF
  country, ipv, added_at, retired_at ON stock_prefixes
WHEN
  OLD.country IS NOT NEW.country OR OLD.ipv IS NOT NEW.ipv OR OLD.added_at IS NOT NEW.added_at OR
  OLD.retired_at IS NOT NEW.retired_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'stock_prefixes', CAST(NEW.prefix AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'stock_prefixes'
        AND row_key = CAST(NEW.prefix AS TEXT)), 0) + 1, content
  FROM stock_prefixes_kept WHERE prefix = NEW.prefix;
END;
CREATE TRIGGER subusers_kept_at_first AFTER INSERT ON subusers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'subusers', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'subusers'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM subusers_kept WHERE id = NEW.id;
END;
CREATE TRIGGER subusers_kept_since AFTER UPDATE OF
  customer_id, login, name, is_default, digest, blocked_at, deleted_at, heir_id, closing_order,
  day_bytes, month_bytes, total_bytes, tunnels, keep_hosts, created_at ON subusers
WHEN
  OLD.customer_id IS NOT NEW.customer_id OR OLD.login IS NOT NEW.login OR
  OLD.name IS NOT NEW.name OR OLD.is_default IS NOT NEW.is_default OR
  OLD.digest IS NOT NEW.digest OR OLD.blocked_at IS NOT NEW.blocked_at OR
  OLD.deleted_at IS NOT NEW.deleted_at OR OLD.heir_id IS NOT NEW.heir_id OR
  OLD.closing_order IS NOT NEW.closing_order OR OLD.day_bytes IS NOT NEW.day_bytes OR
  OLD.month_bytes IS NOT NEW.month_bytes OR OLD.total_bytes IS NOT NEW.total_bytes OR
  OLD.tunnels IS NOT NEW.tunnels OR OLD.keep_hosts IS NOT NEW.keep_hosts OR
  OLD.created_at IS NOT NEW.created_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'subusers', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'subusers'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM subusers_kept WHERE id = NEW.id;
END;
CREATE TRIGGER whitelist_entries_kept_at_first AFTER INSERT ON whitelist_entries
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'whitelist_entries', CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'whitelist_entries'
        AND row_key = CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT)), 0) + 1, content
  FROM whitelist_entries_kept WHERE subuser_id = NEW.subuser_id AND prefix = NEW.prefix;
END;
CREATE TRIGGER whitelist_entries_kept_since AFTER UPDATE OF
  comment, created_at ON whitelist_entries
WHEN
  OLD.comment IS NOT NEW.comment OR OLD.created_at IS NOT NEW.created_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'whitelist_entries', CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'whitelist_entries'
        AND row_key = CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT)), 0) + 1, content
  FROM whitelist_entries_kept WHERE subuser_id = NEW.subuser_id AND prefix = NEW.prefix;
END;
CREATE TRIGGER whitelist_entries_kept_at_last AFTER DELETE ON whitelist_entries
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'whitelist_entries', CAST(OLD.subuser_id AS TEXT) || ' ' || CAST(OLD.prefix AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'whitelist_entries'
        AND row_key = CAST(OLD.subuser_id AS TEXT) || ' ' || CAST(OLD.prefix AS TEXT)), 0) + 1, NULL;
END;
CREATE TRIGGER gateway_ports_kept_at_first AFTER INSERT ON gateway_ports
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'gateway_ports', CAST(NEW.port AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'gateway_ports'
        AND row_key = CAST(NEW.port AS TEXT)), 0) + 1, content
  FROM gateway_ports_kept WHERE port = NEW.port;
END;
CREATE TRIGGER gateway_ports_kept_since AFTER UPDATE OF
  subuser_id, parameters, ttl_minutes, session, created_at ON gateway_ports
WHEN
  OLD.subuser_id IS NOT NEW.subuser_id OR OLD.parameters IS NOT NEW.parameters OR
  OLD.ttl_minutes IS NOT NEW.ttl_minutes OR OLD.session IS NOT NEW.session OR
  OLD.created_at IS NOT NEW.created_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'gateway_ports', CAST(NEW.port AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'gateway_ports'
        AND row_key = CAST(NEW.port AS TEXT)), 0) + 1, content
  FROM gateway_ports_kept WHERE port = NEW.port;
END;
CREATE TRIGGER vpn_subscriptions_kept_at_first AFTER INSERT ON vpn_subscriptions
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'vpn_subscriptions', CAST(NEW.uuid AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'vpn_subscriptions'
        AND row_key = CAST(NEW.uuid AS TEXT)), 0) + 1, content
  FROM vpn_subscriptions_kept WHERE uuid = NEW.uuid;
END;
CREATE TRIGGER vpn_subscriptions_kept_since AFTER UPDATE OF
  customer_id, device_limit, speed_mbit, auto_renew_months, renew_token_id, link_digest, created_at,
  disabled_at, swept_at, deleted_at ON vpn_subscriptions
WHEN
  OLD.customer_id IS NOT NEW.customer_id OR OLD.device_limit IS NOT NEW.device_limit OR
  OLD.speed_mbit IS NOT NEW.speed_mbit OR OLD.auto_renew_months IS NOT NEW.auto_renew_months OR
  OLD.renew_token_id IS NOT NEW.renew_token_id OR OLD.link_digest IS NOT NEW.link_digest OR OLD.created_at IS NOT NEW.created_at OR
  OLD.disabled_at IS NOT NEW.disabled_at OR OLD.swept_at IS NOT NEW.swept_at OR
  OLD.deleted_at IS NOT NEW.deleted_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'vpn_subscriptions', CAST(NEW.uuid AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'vpn_subscriptions'
        AND row_key = CAST(NEW.uuid AS TEXT)), 0) + 1, content
  FROM vpn_subscriptions_kept WHERE uuid = NEW.uuid;
END;
CREATE TRIGGER vpn_peers_kept_at_first AFTER INSERT ON vpn_peers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'vpn_peers', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'vpn_peers'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM vpn_peers_kept WHERE id = NEW.id;
END;
CREATE TRIGGER vpn_peers_kept_since AFTER UPDATE OF
  subscription_uuid, name, public_key, own_key, ipv4, ipv6, location, created_at, removed_at ON vpn_peers
WHEN
  OLD.subscription_uuid IS NOT NEW.subscription_uuid OR OLD.name IS NOT NEW.name OR
  OLD.public_key IS NOT NEW.public_key OR OLD.own_key IS NOT NEW.own_key OR
  OLD.ipv4 IS NOT NEW.ipv4 OR OLD.ipv6 IS NOT NEW.ipv6 OR OLD.location IS NOT NEW.location OR
  OLD.created_at IS NOT NEW.created_at OR OLD.removed_at IS NOT NEW.removed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'vpn_peers', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'vpn_peers'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM vpn_peers_kept WHERE id = NEW.id;
END;
CREATE TRIGGER proxies_kept_since AFTER UPDATE OF
  port_type, comment, renew_period, renew_token_id ON proxies
WHEN
  OLD.port_type IS NOT NEW.port_type OR OLD.comment IS NOT NEW.comment OR
  OLD.renew_period IS NOT NEW.renew_period OR OLD.renew_token_id IS NOT NEW.renew_token_id
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'proxies', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'proxies'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM proxies_kept WHERE id = NEW.id;
END;
CREATE TRIGGER leases_kept_since AFTER UPDATE OF
  ended_at, proxy_id ON leases
WHEN
  OLD.ended_at IS NOT NEW.ended_at OR OLD.proxy_id IS NOT NEW.proxy_id
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'leases', CAST(NEW.place_id AS TEXT) || ' ' || CAST(NEW.started_at AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'leases'
        AND row_key = CAST(NEW.place_id AS TEXT) || ' ' || CAST(NEW.started_at AS TEXT)), 0) + 1, content
  FROM leases_kept WHERE place_id = NEW.place_id AND started_at = NEW.started_at;
END;
CREATE TRIGGER stock_kept_since AFTER UPDATE OF
  retiring ON stock
WHEN
  OLD.retiring IS NOT NEW.retiring
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  SELECT 'stock', CAST(NEW.id AS TEXT),
    COALESCE((SELECT MAX(version) FROM row_history
      WHERE of_table = 'stock'
        AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, content
  FROM stock_kept WHERE id = NEW.id;
END;
CREATE TRIGGER counters_noted_at_first AFTER INSERT ON counters
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('counters', CAST(NEW.name AS TEXT), 0,
    (SELECT content FROM counters_noted WHERE name = NEW.name))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER counters_noted_since AFTER UPDATE OF
  next ON counters
WHEN
  OLD.next IS NOT NEW.next
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('counters', CAST(NEW.name AS TEXT), 0,
    (SELECT content FROM counters_noted WHERE name = NEW.name))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER gateway_port_next_noted_at_first AFTER INSERT ON gateway_port_next
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('gateway_port_next', CAST(NEW.one AS TEXT), 0,
    (SELECT content FROM gateway_port_next_noted WHERE one = NEW.one))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER gateway_port_next_noted_since AFTER UPDATE OF
  next ON gateway_port_next
WHEN
  OLD.next IS NOT NEW.next
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('gateway_port_next', CAST(NEW.one AS TEXT), 0,
    (SELECT content FROM gateway_port_next_noted WHERE one = NEW.one))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER nodes_noted_at_first AFTER INSERT ON nodes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('nodes, last word', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM nodes_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER nodes_noted_since AFTER UPDATE OF
  version, last_seen_at, boot, tunnels, lag_ms, carried ON nodes
WHEN
  OLD.version IS NOT NEW.version OR OLD.last_seen_at IS NOT NEW.last_seen_at OR
  OLD.boot IS NOT NEW.boot OR OLD.tunnels IS NOT NEW.tunnels OR OLD.lag_ms IS NOT NEW.lag_ms OR
  OLD.carried IS NOT NEW.carried
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('nodes, last word', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM nodes_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER usage_boots_noted_at_first AFTER INSERT ON usage_boots
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('usage_boots', CAST(NEW.node AS TEXT) || ' ' || CAST(NEW.boot AS TEXT), 0,
    (SELECT content FROM usage_boots_noted WHERE node = NEW.node AND boot = NEW.boot))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER usage_boots_noted_since AFTER UPDATE OF
  last_at, closed_at ON usage_boots
WHEN
  OLD.last_at IS NOT NEW.last_at OR OLD.closed_at IS NOT NEW.closed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('usage_boots', CAST(NEW.node AS TEXT) || ' ' || CAST(NEW.boot AS TEXT), 0,
    (SELECT content FROM usage_boots_noted WHERE node = NEW.node AND boot = NEW.boot))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER usage_nodes_noted_at_first AFTER INSERT ON usage_nodes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('usage_nodes', CAST(NEW.node AS TEXT), 0,
    (SELECT content FROM usage_nodes_noted WHERE node = NEW.node))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER usage_nodes_noted_since AFTER UPDATE OF
  boot, since ON usage_nodes
WHEN
  OLD.boot IS NOT NEW.boot OR OLD.since IS NOT NEW.since
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('usage_nodes', CAST(NEW.node AS TEXT), 0,
    (SELECT content FROM usage_nodes_noted WHERE node = NEW.node))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER usage_budgets_noted_since AFTER UPDATE OF
  refused, refused_at ON usage_budgets
WHEN
  OLD.refused IS NOT NEW.refused OR OLD.refused_at IS NOT NEW.refused_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('usage_budgets, refused', CAST(NEW.node AS TEXT) || ' ' || CAST(NEW.purpose AS TEXT), 0,
    (SELECT content FROM usage_budgets_noted WHERE node = NEW.node AND purpose = NEW.purpose))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER whitelist_entries_noted_since AFTER UPDATE OF
  last_used_at ON whitelist_entries
WHEN
  OLD.last_used_at IS NOT NEW.last_used_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('whitelist_entries, last use', CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT), 0,
    (SELECT content FROM whitelist_entries_noted WHERE subuser_id = NEW.subuser_id AND prefix = NEW.prefix))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER whitelist_entries_noted_at_last AFTER DELETE ON whitelist_entries
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('whitelist_entries, last use', CAST(OLD.subuser_id AS TEXT) || ' ' || CAST(OLD.prefix AS TEXT), 0,
    NULL)
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER subusers_noted_at_first AFTER INSERT ON subusers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('subusers, last change', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM subusers_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER subusers_noted_since AFTER UPDATE OF
  changed_at ON subusers
WHEN
  OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('subusers, last change', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM subusers_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER vpn_peers_noted_at_first AFTER INSERT ON vpn_peers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('vpn_peers, last change', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM vpn_peers_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER vpn_peers_noted_since AFTER UPDATE OF
  last_handshake_at, changed_at ON vpn_peers
WHEN
  OLD.last_handshake_at IS NOT NEW.last_handshake_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('vpn_peers, last change', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM vpn_peers_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER vpn_subscriptions_noted_since AFTER UPDATE OF
  renew_after, renew_problem ON vpn_subscriptions
WHEN
  OLD.renew_after IS NOT NEW.renew_after OR OLD.renew_problem IS NOT NEW.renew_problem
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('vpn_subscriptions, renewal', CAST(NEW.uuid AS TEXT), 0,
    (SELECT content FROM vpn_subscriptions_noted WHERE uuid = NEW.uuid))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER vpn_addresses_noted_since AFTER UPDATE OF
  free_at ON vpn_addresses
WHEN
  OLD.free_at IS NOT NEW.free_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('vpn_addresses', CAST(NEW.ipv4 AS TEXT), 0,
    (SELECT content FROM vpn_addresses_noted WHERE ipv4 = NEW.ipv4))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER proxies_noted_since AFTER UPDATE OF
  renew_tried_at, changed_at ON proxies
WHEN
  OLD.renew_tried_at IS NOT NEW.renew_tried_at OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('proxies, last change', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM proxies_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER stock_noted_since AFTER UPDATE OF
  rest_until ON stock
WHEN
  OLD.rest_until IS NOT NEW.rest_until
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock, rest', CAST(NEW.id AS TEXT), 0,
    (SELECT content FROM stock_noted WHERE id = NEW.id))
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
CREATE TRIGGER row_history_stays BEFORE UPDATE ON row_history
WHEN OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS NOT OLD.content OR NEW.version <> OLD.version
  OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key)
BEGIN
  SELECT RAISE(ABORT, 'history is never changed');
END;
CREATE TRIGGER row_history_remains BEFORE DELETE ON row_history
BEGIN
  SELECT RAISE(ABORT, 'history is never deleted');
END;
-- @postgres
-- Columns of a row as literals. One that begins with `?` tells only whether there is something.
CREATE FUNCTION row_content(whole jsonb, columns text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(
    CASE WHEN name LIKE '?%' THEN CASE WHEN whole ->> substr(name, 2) IS NULL THEN 'NULL' ELSE 'sealed' END
      ELSE quote_nullable(whole ->> name) END, ',' ORDER BY place)
  FROM unnest(columns) WITH ORDINALITY AS listed (name, place)
$$;
CREATE VIEW row_contents AS
  SELECT 'shop' AS of_table, CAST(one AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{mode,opened_at}') AS content
  FROM shop AS each
  UNION ALL SELECT 'migrations' AS of_table, CAST(name AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{checksum,applied_at}') AS content
  FROM migrations AS each
  UNION ALL SELECT 'customers' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{name,created_at,blocked_at}') AS content
  FROM customers AS each
  UNION ALL SELECT 'tokens' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,digest,hint,name,scopes,allowed_from,cap_kopecks,
      created_at,expires_at,revoked_at}') AS content
  FROM tokens AS each
  UNION ALL SELECT 'catalogues' AS of_table, CAST(version AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{text,applied_at}') AS content
  FROM catalogues AS each
  UNION ALL SELECT 'nodes' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,name,location,country_code,city,endpoint_host,endpoint_port,
      public_key,"?private_key",state,created_at,key_digest,
      key_expires_at,key_used_at,secret_digest,joined_at,link_mbit}') AS content
  FROM nodes AS each
  UNION ALL SELECT 'exits' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{pool,kind,host,port,"?credentials",country,state,city,zip,asn,
      drained_at,created_at,changed_at}') AS content
  FROM exits AS each
  UNION ALL SELECT 'stock_prefixes' AS of_table, CAST(prefix AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{country,ipv,added_at,retired_at}') AS content
  FROM stock_prefixes AS each
  UNION ALL SELECT 'subusers' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,login,name,is_default,digest,blocked_at,deleted_at,
      heir_id,closing_order,day_bytes,month_bytes,total_bytes,tunnels,
      keep_hosts,created_at}') AS content
  FROM subusers AS each
  UNION ALL SELECT 'whitelist_entries' AS of_table, CAST(subuser_id AS text) || ' ' || CAST(prefix AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{comment,created_at}') AS content
  FROM whitelist_entries AS each
  UNION ALL SELECT 'gateway_ports' AS of_table, CAST(port AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{subuser_id,parameters,ttl_minutes,session,created_at}') AS content
  FROM gateway_ports AS each
  UNION ALL SELECT 'vpn_subscriptions' AS of_table, CAST(uuid AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,device_limit,speed_mbit,auto_renew_months,
      renew_token_id,link_digest,created_at,disabled_at,swept_at,deleted_at}') AS content
  FROM vpn_subscriptions AS each
  UNION ALL SELECT 'vpn_peers' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{subscription_uuid,name,public_key,own_key,ipv4,ipv6,location,
      created_at,removed_at}') AS content
  FROM vpn_peers AS each
  UNION ALL SELECT 'proxies' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{port_type,comment,renew_period,renew_token_id}'),
      '''http'','''',NULL,NULL') AS content
  FROM proxies AS each
  UNION ALL SELECT 'leases' AS of_table, CAST(place_id AS text) || ' ' || CAST(started_at AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    CASE WHEN ended_at IS NOT NULL THEN row_content(to_jsonb(each), '{ended_at,proxy_id}') END AS content
  FROM leases AS each
  UNION ALL SELECT 'stock' AS of_table, CAST(id AS text) AS row_key,
    CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{retiring}'), '''0''') AS content
  FROM stock AS each
  UNION ALL SELECT 'counters', CAST(name AS text), 0,
    row_content(to_jsonb(each), '{next}')
  FROM counters AS each
  UNION ALL SELECT 'gateway_port_next', CAST(one AS text), 0,
    row_content(to_jsonb(each), '{next}')
  FROM gateway_port_next AS each
  UNION ALL SELECT 'nodes, last word', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{version,last_seen_at,boot,tunnels,lag_ms,carried}')
  FROM nodes AS each
  UNION ALL SELECT 'usage_boots', CAST(node AS text) || ' ' || CAST(boot AS text), 0,
    row_content(to_jsonb(each), '{last_at,closed_at}')
  FROM usage_boots AS each
  UNION ALL SELECT 'usage_nodes', CAST(node AS text), 0,
    row_content(to_jsonb(each), '{boot,since}')
  FROM usage_nodes AS each
  UNION ALL SELECT 'usage_budgets, refused', CAST(node AS text) || ' ' || CAST(purpose AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{refused,refused_at}'), '''0'',NULL')
  FROM usage_budgets AS each
  UNION ALL SELECT 'whitelist_entries, last use', CAST(subuser_id AS text) || ' ' || CAST(prefix AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{last_used_at}'), 'NULL')
  FROM whitelist_entries AS each
  UNION ALL SELECT 'subusers, last change', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{changed_at}')
  FROM subusers AS each
  UNION ALL SELECT 'vpn_peers, last change', CAST(id AS text), 0,
    row_content(to_jsonb(each), '{last_handshake_at,changed_at}')
  FROM vpn_peers AS each
  UNION ALL SELECT 'vpn_subscriptions, renewal', CAST(uuid AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{renew_after,renew_problem}'), '''0'',NULL')
  FROM vpn_subscriptions AS each
  UNION ALL SELECT 'vpn_addresses', CAST(ipv4 AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{free_at}'), '''0''')
  FROM vpn_addresses AS each
  UNION ALL SELECT 'proxies, last change', CAST(id AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{renew_tried_at,changed_at}'),
      row_content(to_jsonb(each), '{none,started_at}'))
  FROM proxies AS each
  UNION ALL SELECT 'stock, rest', CAST(id AS text), 0,
    NULLIF(row_content(to_jsonb(each), '{rest_until}'), 'NULL')
  FROM stock AS each;
-- The arguments: the name it goes by, whether versions are kept, the columns of the key, those of the content, and how the
-- content of a row that is as it began reads, or which columns it is then made of. An update that leaves the content as it
-- was is no version.
CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  whole jsonb := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
  named text := (SELECT string_agg(whole ->> name, ' ' ORDER BY place)
    FROM unnest(TG_ARGV[2]::text[]) WITH ORDINALITY AS listed (name, place));
  told text := CASE WHEN TG_OP = 'DELETE' THEN NULL ELSE NULLIF(
    NULLIF(row_content(whole, TG_ARGV[3]::text[]), TG_ARGV[4]), row_content(whole, TG_ARGV[5]::text[])) END;
BEGIN
  IF TG_OP = 'UPDATE' AND row_content(whole, TG_ARGV[3]::text[]) = row_content(to_jsonb(OLD), TG_ARGV[3]::text[]) THEN
    RETURN NULL;
  END IF;
  IF TG_ARGV[1] = 'kept' THEN
    INSERT INTO row_history (of_table, row_key, version, content)
    SELECT TG_ARGV[0], named, COALESCE(MAX(version), 0) + 1, told
    FROM row_history WHERE of_table = TG_ARGV[0] AND row_key = named;
  ELSE
    INSERT INTO row_history AS known (of_table, row_key, version, content) VALUES (TG_ARGV[0], named, 0, told)
    ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER shop_kept AFTER
  INSERT OR UPDATE OF mode, opened_at ON shop
FOR EACH ROW EXECUTE FUNCTION note_row (
  'shop', 'kept', '{one}', '{mode,opened_at}', '', '{}');
CREATE TRIGGER migrations_kept AFTER
  INSERT OR UPDATE OF checksum, applied_at ON migrations
FOR EACH ROW EXECUTE FUNCTION note_row (
  'migrations', 'kept', '{name}', '{checksum,applied_at}', '', '{}');
CREATE TRIGGER customers_kept AFTER
  INSERT OR UPDATE OF name, created_at, blocked_at ON customers
FOR EACH ROW EXECUTE FUNCTION note_row (
  'customers', 'kept', '{id}', '{name,created_at,blocked_at}', '', '{}');
CREATE TRIGGER tokens_kept AFTER
  INSERT OR UPDATE OF customer_id, digest, hint, name, scopes, allowed_from, cap_kopecks,
  created_at, expires_at, revoked_at ON tokens
FOR EACH ROW EXECUTE FUNCTION note_row (
  'tokens', 'kept', '{id}',
  '{customer_id,digest,hint,name,scopes,allowed_from,cap_kopecks,created_at,expires_at,revoked_at}',
  '', '{}');
CREATE TRIGGER catalogues_kept AFTER
  INSERT OR UPDATE OF text, applied_at ON catalogues
FOR EACH ROW EXECUTE FUNCTION note_row (
  'catalogues', 'kept', '{version}', '{text,applied_at}', '', '{}');
CREATE TRIGGER nodes_kept AFTER
  INSERT OR UPDATE OF kind, name, location, country_code, city, endpoint_host, endpoint_port,
  public_key, private_key, state, created_at, key_digest, key_expires_at, key_used_at,
  secret_digest, joined_at, link_mbit ON nodes
FOR EACH ROW EXECUTE FUNCTION note_row (
  'nodes', 'kept', '{id}',
  '{kind,name,location,country_code,city,endpoint_host,endpoint_port,public_key,"?private_key",
    state,created_at,key_digest,key_expires_at,key_used_at,secret_digest,joined_at,link_mbit}',
  '', '{}');
CREATE TRIGGER exits_kept AFTER
  INSERT OR UPDATE OF pool, kind, host, port, credentials, country, state, city, zip, asn,
  drained_at, created_at, changed_at ON exits
FOR EACH ROW EXECUTE FUNCTION note_row (
  'exits', 'kept', '{id}',
  '{pool,kind,host,port,"?credentials",country,state,city,zip,asn,drained_at,created_at,changed_at}',
  '', '{}');
CREATE TRIGGER stock_prefixes_kept AFTER
  INSERT OR UPDATE OF country, ipv, added_at, retired_at ON stock_prefixes
FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock_prefixes', 'kept', '{prefix}', '{country,ipv,added_at,retired_at}', '', '{}');
CREATE TRIGGER subusers_kept AFTER
  INSERT OR UPDATE OF customer_id, login, name, is_default, digest, blocked_at, deleted_at,
  heir_id, closing_order, day_bytes, month_bytes, total_bytes, tunnels, keep_hosts, created_at ON subusers
FOR EACH ROW EXECUTE FUNCTION note_row (
  'subusers', 'kept', '{id}',
  '{customer_id,login,name,is_default,digest,blocked_at,deleted_at,heir_id,closing_order,day_bytes,
    month_bytes,total_bytes,tunnels,keep_hosts,created_at}',
  '', '{}');
CREATE TRIGGER whitelist_entries_kept AFTER
  INSERT OR DELETE OR UPDATE OF comment, created_at ON whitelist_entries
FOR EACH ROW EXECUTE FUNCTION note_row (
  'whitelist_entries', 'kept', '{subuser_id,prefix}', '{comment,created_at}', '', '{}');
CREATE TRIGGER gateway_ports_kept AFTER
  INSERT OR UPDATE OF subuser_id, parameters, ttl_minutes, session, created_at ON gateway_ports
FOR EACH ROW EXECUTE FUNCTION note_row (
  'gateway_ports', 'kept', '{port}', '{subuser_id,parameters,ttl_minutes,session,created_at}', '',
  '{}');
CREATE TRIGGER vpn_subscriptions_kept AFTER
  INSERT OR UPDATE OF customer_id, device_limit, speed_mbit, auto_renew_months, renew_token_id,
  link_digest, created_at, disabled_at, swept_at, deleted_at ON vpn_subscriptions
FOR EACH ROW EXECUTE FUNCTION note_row (
  'vpn_subscriptions', 'kept', '{uuid}',
  '{customer_id,device_limit,speed_mbit,auto_renew_months,renew_token_id,link_digest,created_at,
    disabled_at,swept_at,deleted_at}',
  '', '{}');
CREATE TRIGGER vpn_peers_kept AFTER
  INSERT OR UPDATE OF subscription_uuid, name, public_key, own_key, ipv4, ipv6, location,
  created_at, removed_at ON vpn_peers
FOR EACH ROW EXECUTE FUNCTION note_row (
  'vpn_peers', 'kept', '{id}',
  '{subscription_uuid,name,public_key,own_key,ipv4,ipv6,location,created_at,removed_at}', '', '{}');
CREATE TRIGGER proxies_kept AFTER
  UPDATE OF port_type, comment, renew_period, renew_token_id ON proxies
FOR EACH ROW EXECUTE FUNCTION note_row (
  'proxies', 'kept', '{id}', '{port_type,comment,renew_period,renew_token_id}',
  '''http'','''',NULL,NULL', '{}');
CREATE TRIGGER leases_kept AFTER
  UPDATE OF ended_at, proxy_id ON leases
FOR EACH ROW EXECUTE FUNCTION note_row (
  'leases', 'kept', '{place_id,started_at}', '{ended_at,proxy_id}', '', '{}');
CREATE TRIGGER stock_kept AFTER
  UPDATE OF retiring ON stock
FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock', 'kept', '{id}', '{retiring}', '''0''', '{}');
CREATE TRIGGER counters_noted AFTER
  INSERT OR UPDATE OF next ON counters
FOR EACH ROW EXECUTE FUNCTION note_row (
  'counters', 'latest', '{name}', '{next}', '', '{}');
CREATE TRIGGER gateway_port_next_noted AFTER
  INSERT OR UPDATE OF next ON gateway_port_next
FOR EACH ROW EXECUTE FUNCTION note_row (
  'gateway_port_next', 'latest', '{one}', '{next}', '', '{}');
CREATE TRIGGER nodes_noted AFTER
  INSERT OR UPDATE OF version, last_seen_at, boot, tunnels, lag_ms, carried ON nodes
FOR EACH ROW EXECUTE FUNCTION note_row (
  'nodes, last word', 'latest', '{id}', '{version,last_seen_at,boot,tunnels,lag_ms,carried}', '',
  '{}');
CREATE TRIGGER usage_boots_noted AFTER
  INSERT OR UPDATE OF last_at, closed_at ON usage_boots
FOR EACH ROW EXECUTE FUNCTION note_row (
  'usage_boots', 'latest', '{node,boot}', '{last_at,closed_at}', '', '{}');
CREATE TRIGGER usage_nodes_noted AFTER
  INSERT OR UPDATE OF boot, since ON usage_nodes
FOR EACH ROW EXECUTE FUNCTION note_row (
  'usage_nodes', 'latest', '{node}', '{boot,since}', '', '{}');
CREATE TRIGGER usage_budgets_noted AFTER
  UPDATE OF refused, refused_at ON usage_budgets
FOR EACH ROW EXECUTE FUNCTION note_row (
  'usage_budgets, refused', 'latest', '{node,purpose}', '{refused,refused_at}', '''0'',NULL', '{}');
CREATE TRIGGER whitelist_entries_noted AFTER
  DELETE OR UPDATE OF last_used_at ON whitelist_entries
FOR EACH ROW EXECUTE FUNCTION note_row (
  'whitelist_entries, last use', 'latest', '{subuser_id,prefix}', '{last_used_at}', 'NULL', '{}');
CREATE TRIGGER subusers_noted AFTER
  INSERT OR UPDATE OF changed_at ON subusers
FOR EACH ROW EXECUTE FUNCTION note_row (
  'subusers, last change', 'latest', '{id}', '{changed_at}', '', '{}');
CREATE TRIGGER vpn_peers_noted AFTER
  INSERT OR UPDATE OF last_handshake_at, changed_at ON vpn_peers
FOR EACH ROW EXECUTE FUNCTION note_row (
  'vpn_peers, last change', 'latest', '{id}', '{last_handshake_at,changed_at}', '', '{}');
CREATE TRIGGER vpn_subscriptions_noted AFTER
  UPDATE OF renew_after, renew_problem ON vpn_subscriptions
FOR EACH ROW EXECUTE FUNCTION note_row (
  'vpn_subscriptions, renewal', 'latest', '{uuid}', '{renew_after,renew_problem}', '''0'',NULL',
  '{}');
CREATE TRIGGER vpn_addresses_noted AFTER
  UPDATE OF free_at ON vpn_addresses
FOR EACH ROW EXECUTE FUNCTION note_row (
  'vpn_addresses', 'latest', '{ipv4}', '{free_at}', '''0''', '{}');
CREATE TRIGGER proxies_noted AFTER
  UPDATE OF renew_tried_at, changed_at ON proxies
FOR EACH ROW EXECUTE FUNCTION note_row (
  'proxies, last change', 'latest', '{id}', '{renew_tried_at,changed_at}', '', '{none,started_at}');
CREATE TRIGGER stock_noted AFTER
  UPDATE OF rest_until ON stock
FOR EACH ROW EXECUTE FUNCTION note_row (
  'stock, rest', 'latest', '{id}', '{rest_until}', 'NULL', '{}');
CREATE TRIGGER row_history_stays BEFORE UPDATE ON row_history FOR EACH ROW
WHEN (OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS DISTINCT FROM OLD.content
  OR NEW.version <> OLD.version OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key))
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER row_history_remains BEFORE DELETE ON row_history FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER row_history_stand BEFORE TRUNCATE ON row_history FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- @both

-- What is there already is its own first version.
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents WHERE content IS NOT NULL;
