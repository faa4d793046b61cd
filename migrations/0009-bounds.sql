-- When the lease before has ended: the next one begins no sooner, even if the clock was set back in between. Kept with the place, so that a
-- sale need not look through its past.
ALTER TABLE stock ADD COLUMN free_from BIGINT NOT NULL DEFAULT 0;
UPDATE stock SET free_from = COALESCE((SELECT MAX(ended_at) FROM leases WHERE leases.place_id = stock.id), 0);

-- Which token has set a thing to renew by itself: the renewal is that token's spending, within its cap. Null without a token, and for what was
-- set before this was kept.
ALTER TABLE proxies ADD COLUMN renew_token_id TEXT;
ALTER TABLE vpn_subscriptions ADD COLUMN renew_token_id TEXT;

-- What a node's network carries at most, against which its claims are judged.
ALTER TABLE nodes ADD COLUMN link_mbit BIGINT NOT NULL DEFAULT 10000 CHECK (link_mbit BETWEEN 1 AND 1000000);

-- What was believed of a count. The count itself is what the node claims, which may be anything: only what is believed is ever summed.
ALTER TABLE usage_counts ADD COLUMN believed_received BIGINT NOT NULL DEFAULT 0
  CHECK (believed_received BETWEEN 0 AND 9000000000000000 AND believed_received <= received);
ALTER TABLE usage_counts ADD COLUMN believed_sent BIGINT NOT NULL DEFAULT 0
  CHECK (believed_sent BETWEEN 0 AND 9000000000000000 AND believed_sent <= sent);
UPDATE usage_counts SET believed_received = CASE WHEN received < 8000000000000000 THEN received ELSE 8000000000000000 END,
  believed_sent = CASE WHEN sent < 8000000000000000 THEN sent ELSE 8000000000000000 END;

-- How many bytes more a node can have carried by now, what it claimed beyond that, and when it last did. Where bytes went is told to customers
-- and not billed; it has a budget of its own.
CREATE TABLE usage_budgets (
  node TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('carried', 'hosts')),
  rest BIGINT NOT NULL CHECK (rest BETWEEN 0 AND 9000000000000000),
  at BIGINT NOT NULL,
  refused BIGINT NOT NULL CHECK (refused BETWEEN 0 AND 9000000000000000),
  refused_at BIGINT,
  PRIMARY KEY (node, purpose)
);
INSERT INTO usage_budgets (node, purpose, rest, at, refused, refused_at)
  SELECT node, 'carried', 0, MAX(last_at), 0, NULL FROM usage_boots GROUP BY node;

-- Sums stay exact: whatever is reported, no device and no subscription passes what a JSON number holds.
-- @sqlite
CREATE TRIGGER vpn_peers_stay_exact BEFORE UPDATE OF received, sent ON vpn_peers
WHEN NEW.received + NEW.sent > 9000000000000000 OR typeof(NEW.received) <> 'integer' OR typeof(NEW.sent) <> 'integer'
BEGIN
  SELECT RAISE(ABORT, 'a device has carried more than can be counted');
END;
CREATE TRIGGER vpn_subscriptions_stay_exact BEFORE UPDATE OF received, sent ON vpn_subscriptions
WHEN NEW.received + NEW.sent > 9000000000000000 OR typeof(NEW.received) <> 'integer' OR typeof(NEW.sent) <> 'integer'
BEGIN
  SELECT RAISE(ABORT, 'a subscription has carried more than can be counted');
END;
-- @postgres
ALTER TABLE vpn_peers ADD CONSTRAINT vpn_peers_stay_exact CHECK (received + sent <= 9000000000000000) NOT VALID;
ALTER TABLE vpn_subscriptions ADD CONSTRAINT vpn_subscriptions_stay_exact CHECK (received + sent <= 9000000000000000) NOT VALID;
-- @both

-- Bytes that a node's false claims took are restored. SQLite changes a check only by writing the table anew; its rows stay as they are.
-- @sqlite
DROP TRIGGER traffic_movements_stay;
DROP TRIGGER traffic_movements_remain;
ALTER TABLE traffic_movements RENAME TO traffic_movements_before;
DROP INDEX traffic_movements_of_order;
CREATE TABLE traffic_movements (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN
    ('bought', 'moved_in', 'moved_out', 'leased', 'returned', 'lapsed', 'used', 'forgiven', 'expired', 'refunded', 'restored')),
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
    WHEN 'restored' THEN amount >= 0 AND aside = 0 AND owed <= 0 AND amount > owed
    ELSE amount <= 0 AND aside <= 0
  END)
);
INSERT INTO traffic_movements SELECT * FROM traffic_movements_before;
DROP TABLE traffic_movements_before;
CREATE INDEX traffic_movements_of_order ON traffic_movements (order_id) WHERE order_id IS NOT NULL;
CREATE TRIGGER traffic_movements_stay BEFORE UPDATE ON traffic_movements
BEGIN
  SELECT RAISE(ABORT, 'movements of traffic are never changed');
END;
CREATE TRIGGER traffic_movements_remain BEFORE DELETE ON traffic_movements
BEGIN
  SELECT RAISE(ABORT, 'movements of traffic are never deleted');
END;
-- @postgres
ALTER TABLE traffic_movements DROP CONSTRAINT traffic_movements_kind_check;
ALTER TABLE traffic_movements ADD CONSTRAINT traffic_movements_kind_check CHECK (kind IN
  ('bought', 'moved_in', 'moved_out', 'leased', 'returned', 'lapsed', 'used', 'forgiven', 'expired', 'refunded', 'restored'));
ALTER TABLE traffic_movements DROP CONSTRAINT traffic_movements_check1;
ALTER TABLE traffic_movements ADD CONSTRAINT traffic_movements_check1 CHECK (CASE kind
  WHEN 'bought' THEN amount > 0 AND aside = 0 AND owed = 0
  WHEN 'moved_in' THEN amount > 0 AND aside = 0 AND owed = 0
  WHEN 'moved_out' THEN amount < 0 AND aside = 0 AND owed = 0
  WHEN 'leased' THEN amount < 0 AND aside = -amount AND owed = 0
  WHEN 'returned' THEN amount > 0 AND aside = -amount AND owed = 0
  WHEN 'lapsed' THEN amount > 0 AND aside = -amount AND owed = 0
  WHEN 'forgiven' THEN amount = 0 AND aside = 0 AND owed < 0
  WHEN 'expired' THEN amount < 0 AND aside = 0 AND owed = 0
  WHEN 'refunded' THEN amount < 0 AND aside = 0 AND owed = 0
  WHEN 'restored' THEN amount >= 0 AND aside = 0 AND owed <= 0 AND amount > owed
  ELSE amount <= 0 AND aside <= 0
END);
-- @both
