-- Premium proxies: sub-users, their traffic as an account in bytes, what lets them in, and where they leave from.
-- Times are milliseconds since 1970 in UTC. Traffic is bytes.

-- A login is never given to a second sub-user, not even after its first one is deleted. The password is sealed with a key
-- outside the database; nodes are given its digest.
CREATE TABLE subusers (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  login TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  is_default BIGINT NOT NULL CHECK (is_default IN (0, 1)),
  password BYTEA NOT NULL,
  digest BYTEA NOT NULL,
  blocked_at BIGINT,
  deleted_at BIGINT CHECK (deleted_at IS NULL OR is_default = 0),
  -- Who gets what nodes give back after the deletion, and the order that says so.
  heir_id TEXT CHECK ((deleted_at IS NULL) = (heir_id IS NULL)),
  closing_order TEXT CHECK ((deleted_at IS NULL) = (closing_order IS NULL)),
  day_bytes BIGINT CHECK (day_bytes >= 0),
  month_bytes BIGINT CHECK (month_bytes >= 0),
  total_bytes BIGINT CHECK (total_bytes >= 0),
  tunnels BIGINT CHECK (tunnels > 0),
  keep_hosts BIGINT NOT NULL CHECK (keep_hosts IN (0, 1)),
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX subusers_one_default ON subusers (customer_id) WHERE is_default = 1;
CREATE INDEX subusers_of_customer ON subusers (customer_id, id);
CREATE INDEX subusers_by_change ON subusers (changed_at, id);

-- What a sub-user has in a pool: free to use (`balance`), set aside for nodes (`aside`), and carried by a node beyond both
-- (`owed`), which only happens when a lease has lapsed and is paid from what other nodes give back.
CREATE TABLE traffic_accounts (
  subuser_id TEXT NOT NULL REFERENCES subusers (id),
  pool TEXT NOT NULL,
  balance BIGINT NOT NULL CHECK (balance >= 0),
  aside BIGINT NOT NULL CHECK (aside >= 0),
  owed BIGINT NOT NULL CHECK (owed >= 0 AND (owed = 0 OR balance = 0)),
  used BIGINT NOT NULL CHECK (used >= 0),
  seq BIGINT NOT NULL CHECK (seq >= 0),
  head BYTEA NOT NULL,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (subuser_id, pool)
);

-- One movement of bytes. `amount`, `aside` and `owed` are what it changed; the sums after it stand beside them. Every one names
-- an order or a node's boot. No foreign key: the account's row is locked and updated by the same transaction.
CREATE TABLE traffic_movements (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN
    ('bought', 'moved_in', 'moved_out', 'leased', 'returned', 'lapsed', 'used', 'forgiven', 'expired', 'refunded')),
  amount BIGINT NOT NULL,
  aside BIGINT NOT NULL,
  owed BIGINT NOT NULL,
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
  aside_after BIGINT NOT NULL CHECK (aside_after >= 0),
  owed_after BIGINT NOT NULL CHECK (owed_after >= 0),
  order_id TEXT,
  node TEXT,
  boot TEXT,
  at BIGINT NOT NULL,
  hash BYTEA NOT NULL,
  PRIMARY KEY (subuser_id, pool, seq),
  CHECK (order_id IS NOT NULL OR (node IS NOT NULL AND boot IS NOT NULL)),
  CHECK (CASE kind
    WHEN 'bought' THEN amount > 0 AND aside = 0 AND owed = 0
    WHEN 'moved_in' THEN amount > 0 AND aside = 0 AND owed = 0
    WHEN 'moved_out' THEN amount < 0 AND aside = 0 AND owed = 0
    WHEN 'leased' THEN amount < 0 AND aside = -amount AND owed = 0
    WHEN 'returned' THEN amount > 0 AND aside = -amount AND owed = 0
    WHEN 'lapsed' THEN amount > 0 AND aside = -amount AND owed = 0
    WHEN 'forgiven' THEN amount = 0 AND aside = 0 AND owed < 0
    WHEN 'expired' THEN amount < 0 AND aside = 0 AND owed = 0
    WHEN 'refunded' THEN amount < 0 AND aside = 0 AND owed = 0
    ELSE amount <= 0 AND aside <= 0
  END)
);
CREATE INDEX traffic_movements_of_order ON traffic_movements (order_id) WHERE order_id IS NOT NULL;

-- Which order the bytes of an account came from, and until when they are good. What is used is taken from the lot that ends
-- first. The lots of an account sum to its balance and what is set aside of it.
CREATE TABLE traffic_lots (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  order_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  size BIGINT NOT NULL CHECK (size > 0),
  rest BIGINT NOT NULL CHECK (rest >= 0 AND rest <= size),
  PRIMARY KEY (subuser_id, pool, order_id)
);
CREATE INDEX traffic_lots_in_turn ON traffic_lots (subuser_id, pool, expires_at, order_id) WHERE rest > 0;
CREATE INDEX traffic_lots_of_order ON traffic_lots (order_id);
CREATE INDEX traffic_lots_by_end ON traffic_lots (expires_at) WHERE rest > 0;

-- The boot of a node that holds its leases, and each line of leases: a node's boot and what it carries for.
CREATE TABLE usage_nodes (
  node TEXT PRIMARY KEY,
  boot TEXT NOT NULL,
  since BIGINT NOT NULL
);
ALTER TABLE usage_boots ADD COLUMN closed_at BIGINT;

-- `granted` less what came back, lapsed and was settled is what is set aside now. `counted` is the largest count reported, of
-- which `settled`, `late` and `quarantined` have been dealt with; the rest waits to be settled from what is set aside.
CREATE TABLE usage_leases (
  node TEXT NOT NULL,
  boot TEXT NOT NULL,
  subject TEXT NOT NULL,
  turn BIGINT NOT NULL CHECK (turn >= 0),
  granted BIGINT NOT NULL CHECK (granted >= 0),
  returned BIGINT NOT NULL CHECK (returned >= 0),
  lapsed BIGINT NOT NULL CHECK (lapsed >= 0),
  settled BIGINT NOT NULL CHECK (settled >= 0),
  late BIGINT NOT NULL CHECK (late >= 0),
  claimable BIGINT NOT NULL CHECK (claimable >= 0 AND claimable + late <= lapsed),
  quarantined BIGINT NOT NULL CHECK (quarantined >= 0),
  counted BIGINT NOT NULL CHECK (counted >= settled + late + quarantined),
  aside BIGINT NOT NULL CHECK (aside = granted - returned - lapsed - settled
    AND aside >= counted - settled - late - quarantined),
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (node, boot, subject)
);
CREATE INDEX usage_leases_of_subject ON usage_leases (subject) WHERE aside > 0;
CREATE INDEX usage_leases_open ON usage_leases (node, boot) WHERE aside > 0;
CREATE INDEX usage_leases_quarantined ON usage_leases (changed_at) WHERE quarantined > 0;

-- What was carried, by the hour; and where to, while the sub-user wants that kept.
CREATE TABLE traffic_hours (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  hour BIGINT NOT NULL CHECK (hour % 3600000 = 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  PRIMARY KEY (subuser_id, pool, hour)
);
CREATE TABLE traffic_hosts (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  hour BIGINT NOT NULL CHECK (hour % 3600000 = 0),
  host TEXT NOT NULL,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  PRIMARY KEY (subuser_id, pool, hour, host)
);
CREATE INDEX traffic_hosts_by_age ON traffic_hosts (hour);

-- Addresses that need no password. The same address may stand with two sub-users: the port tells them apart.
CREATE TABLE whitelist_entries (
  subuser_id TEXT NOT NULL REFERENCES subusers (id),
  prefix TEXT NOT NULL,
  comment TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT,
  PRIMARY KEY (subuser_id, prefix)
);

-- A port means one sub-user and one set of parameters, for good.
CREATE TABLE gateway_ports (
  port BIGINT PRIMARY KEY CHECK (port BETWEEN 1 AND 65535),
  subuser_id TEXT NOT NULL REFERENCES subusers (id),
  parameters TEXT NOT NULL,
  ttl_minutes BIGINT NOT NULL CHECK (ttl_minutes >= 0),
  session TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE (subuser_id, parameters, ttl_minutes, session)
);
CREATE TABLE gateway_port_next (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  next BIGINT NOT NULL
);

-- Where traffic leaves to the world: a local address, or an upstream proxy whose credentials are sealed.
CREATE TABLE exits (
  id TEXT PRIMARY KEY,
  pool TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('local', 'http', 'socks5')),
  host TEXT NOT NULL,
  port BIGINT CHECK ((kind = 'local') = (port IS NULL) AND (port IS NULL OR port BETWEEN 1 AND 65535)),
  credentials BYTEA CHECK (kind <> 'local' OR credentials IS NULL),
  country TEXT NOT NULL CHECK (LENGTH(country) = 2),
  state TEXT NOT NULL,
  city TEXT NOT NULL,
  zip TEXT NOT NULL,
  asn BIGINT CHECK (asn BETWEEN 1 AND 4294967295),
  drained_at BIGINT,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);
CREATE INDEX exits_of_pool ON exits (pool, id);
CREATE INDEX exits_by_change ON exits (changed_at, id);

-- Bytes that have moved stay moved, as money does.
-- @sqlite
CREATE TRIGGER traffic_movements_stay BEFORE UPDATE ON traffic_movements
BEGIN
  SELECT RAISE(ABORT, 'movements of traffic are never changed');
END;
CREATE TRIGGER traffic_movements_remain BEFORE DELETE ON traffic_movements
BEGIN
  SELECT RAISE(ABORT, 'movements of traffic are never deleted');
END;
-- @postgres
CREATE TRIGGER traffic_movements_stay BEFORE UPDATE OR DELETE ON traffic_movements
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER traffic_movements_remain BEFORE TRUNCATE ON traffic_movements
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
