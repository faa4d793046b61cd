-- The schema of version 0.2.0, for SQLite and PostgreSQL. Times are milliseconds since 1970 in UTC, money is kopecks,
-- traffic is bytes. 0002-history-and-checks.sql has the triggers and functions that are made from a list.
--
-- SQLite makes a table in memory for every IN list of three or more in a CHECK, in each statement: the tables that a
-- sale writes have comparisons instead.

-- Trigger function of append-only tables on PostgreSQL.
-- @postgres
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '23000';
END
$$;
-- @both

-- === The shop ===

-- The shop itself. `key_fingerprint` is of the key that secrets are sealed with; the key does not follow from it.
CREATE TABLE shop (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  mode TEXT NOT NULL CHECK (mode IN ('sandbox', 'production')),
  opened_at BIGINT NOT NULL,
  key_fingerprint BYTEA NOT NULL
);

-- Numbers that are given out in blocks, so that one sale does not wait for the number of another.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  next BIGINT NOT NULL
);

-- Price lists. Each is kept for good: orders were priced with it.
CREATE TABLE catalogues (
  version BIGINT PRIMARY KEY CHECK (version > 0),
  text TEXT NOT NULL,
  applied_at BIGINT NOT NULL
);

-- Price lists are append-only.
-- @sqlite
CREATE TRIGGER catalogues_append_only BEFORE UPDATE ON catalogues
BEGIN SELECT RAISE(ABORT, 'price lists are never changed'); END;
CREATE TRIGGER catalogues_no_delete BEFORE DELETE ON catalogues
BEGIN SELECT RAISE(ABORT, 'price lists are never deleted'); END;
-- @postgres
CREATE TRIGGER catalogues_append_only BEFORE UPDATE OR DELETE ON catalogues
FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER catalogues_no_delete BEFORE TRUNCATE ON catalogues FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- @both

-- === Customers and how they sign in ===

-- Customers. `note` is the operators' own; the customer never sees it.
CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  blocked_at BIGINT,
  note TEXT
);

-- API tokens. A token is known by the digest of its text, which is shown once and not stored. `used_at` is exact to
-- the minute.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  digest BYTEA NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  allowed_from TEXT NOT NULL,
  cap_kopecks BIGINT CHECK (cap_kopecks >= 0),
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  used_at BIGINT,
  used_from TEXT
);
CREATE INDEX tokens_of_customer ON tokens (customer_id, id);

-- What a token with a spending cap has spent, less refunds. Only such tokens have a row.
CREATE TABLE token_spending (
  token_id TEXT PRIMARY KEY,
  spent BIGINT NOT NULL CHECK (spent >= 0)
);

-- How a customer or an operator signs in: a login, an argon2id password, and a sealed second factor, which counts from
-- `totp_since` on. `totp_step` is the last code that was used. `named` is a digest of login and e-mail for the history.
CREATE TABLE identities (
  owner_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'operator')),
  login TEXT NOT NULL,
  email TEXT,
  named BYTEA NOT NULL,
  password TEXT,
  totp BYTEA,
  totp_since BIGINT CHECK (totp_since IS NULL OR totp IS NOT NULL),
  totp_step BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX identities_by_login ON identities (kind, login);

-- Signed-in browsers, known by the digest of the cookie. `opened_by` is an operator who looks at a customer's pages.
CREATE TABLE console_sessions (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'operator')),
  owner_id TEXT NOT NULL,
  digest BYTEA NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  opened_by TEXT CHECK (opened_by IS NULL OR kind = 'customer'),
  source TEXT,
  agent TEXT,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX console_sessions_of_owner ON console_sessions (owner_id, id);
CREATE INDEX console_sessions_by_end ON console_sessions (expires_at);

-- Links that work once: to sign in, to confirm an e-mail address, to set a new password.
CREATE TABLE console_links (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'operator')),
  owner_id TEXT CHECK (owner_id IS NOT NULL OR purpose = 'confirm'),
  purpose TEXT NOT NULL CHECK (purpose IN ('enter', 'confirm', 'reset')),
  digest BYTEA NOT NULL UNIQUE,
  payload TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX console_links_by_end ON console_links (expires_at);
CREATE INDEX console_links_of_owner ON console_links (owner_id);

-- === Money ===

-- The balance of a customer. Below zero is a debt, which only a provider's chargeback makes. The bounds are what a JSON
-- number holds exactly. Triggers advance `revocation_epoch` when the customer is blocked or a token ends: a sale
-- compares it with the value at authentication (ADR 28).
CREATE TABLE accounts (
  customer_id TEXT REFERENCES customers (id),
  balance BIGINT NOT NULL,
  api_spent BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  head BYTEA NOT NULL,
  last_at BIGINT NOT NULL,
  revocation_epoch BIGINT NOT NULL DEFAULT 0,
-- @sqlite
  CHECK (balance BETWEEN -1000000000000000 AND 1000000000000000),
  CHECK (api_spent >= 0),
  CHECK (seq >= 0),
-- @both
  PRIMARY KEY (customer_id)
);

-- One movement of money between a customer's account and an account of the house. Both sides are one row, so a movement
-- that does not sum to zero cannot be written. `amount` has the customer's sign. `key` makes an operator's movement
-- happen once, `reference` is its payment. No foreign key: the same transaction locks and updates the account's row.
CREATE TABLE postings (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  kind TEXT NOT NULL,
  house TEXT NOT NULL,
  amount BIGINT NOT NULL,
  balance_after BIGINT NOT NULL,
  order_id TEXT,
  token_id TEXT,
  refund_of BIGINT,
  note TEXT NOT NULL,
  at BIGINT NOT NULL,
  hash BYTEA NOT NULL,
  key TEXT,
  reference TEXT,
-- @sqlite
  CHECK (seq > 0),
  CHECK (kind = 'charge' OR kind = 'credit' OR kind = 'refund' OR kind = 'debit'),
  CHECK (house LIKE 'funds:%' OR house LIKE 'revenue:%'),
  CHECK (amount <> 0 AND (kind IN ('charge', 'debit')) = (amount < 0)),
  CHECK (balance_after >= 0 OR amount > 0 OR (kind = 'debit' AND house <> 'funds:operator')),
  CHECK (kind IN ('credit', 'debit') OR order_id IS NOT NULL),
  CHECK ((kind = 'refund') = (refund_of IS NOT NULL)),
  CHECK (key IS NULL OR kind IN ('credit', 'debit')),
  CHECK (reference IS NULL OR kind IN ('credit', 'debit')),
-- @both
  PRIMARY KEY (customer_id, seq)
);
CREATE INDEX postings_refunds ON postings (customer_id, refund_of) WHERE refund_of IS NOT NULL;
CREATE UNIQUE INDEX postings_by_key ON postings (key) WHERE key IS NOT NULL;
CREATE INDEX postings_by_reference ON postings (reference) WHERE reference IS NOT NULL;

-- The state of every account's chain at a moment, in one digest, chained in its turn; and the digest of the versions in
-- `row_history` that are new since the checkpoint before it.
CREATE TABLE checkpoints (
  number BIGINT PRIMARY KEY CHECK (number > 0),
  upto BIGINT NOT NULL,
  accounts BIGINT NOT NULL,
  postings BIGINT NOT NULL,
  balances BIGINT NOT NULL,
  digest BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  made_at BIGINT NOT NULL,
  versions BIGINT NOT NULL CHECK (versions >= 0),
  versions_digest BYTEA NOT NULL
);

-- Postings and checkpoints are append-only. The refunds of a charge sum to at most the charge.
-- @sqlite
CREATE TRIGGER postings_append_only BEFORE UPDATE ON postings
BEGIN SELECT RAISE(ABORT, 'postings are never changed'); END;
CREATE TRIGGER postings_no_delete BEFORE DELETE ON postings
BEGIN SELECT RAISE(ABORT, 'postings are never deleted'); END;
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'checkpoints are never changed'); END;
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'checkpoints are never deleted'); END;
CREATE TRIGGER postings_refunded_within AFTER INSERT ON postings
WHEN NEW.kind = 'refund' AND (SELECT SUM(amount) FROM postings
    WHERE customer_id = NEW.customer_id AND refund_of = NEW.refund_of) >
  -COALESCE((SELECT amount FROM postings
    WHERE customer_id = NEW.customer_id AND seq = NEW.refund_of AND kind = 'charge'), 0)
BEGIN SELECT RAISE(ABORT, 'the refunds of a charge exceed the charge'); END;
-- @postgres
CREATE TRIGGER postings_append_only BEFORE UPDATE OR DELETE ON postings FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER postings_no_delete BEFORE TRUNCATE ON postings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_append_only BEFORE UPDATE OR DELETE ON checkpoints
FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_no_delete BEFORE TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- A plan is kept for the life of a connection. Made while the table is small, it would scan the table for ever.
CREATE FUNCTION refuse_excess() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NEW.amount + (SELECT COALESCE(SUM(amount), 0) FROM postings
      WHERE customer_id = NEW.customer_id AND refund_of = NEW.refund_of) >
    -COALESCE((SELECT amount FROM postings
      WHERE customer_id = NEW.customer_id AND seq = NEW.refund_of AND kind = 'charge'), 0) THEN
    RAISE EXCEPTION 'the refunds of a charge exceed the charge' USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER postings_refunded_within BEFORE INSERT ON postings FOR EACH ROW WHEN (NEW.refund_of IS NOT NULL)
EXECUTE FUNCTION refuse_excess();
-- @both
-- Blocking a customer and ending a token advance `revocation_epoch`.
-- @sqlite
CREATE TRIGGER customers_revoked AFTER UPDATE OF blocked_at ON customers WHEN OLD.blocked_at IS NOT NEW.blocked_at
BEGIN UPDATE accounts SET revocation_epoch = revocation_epoch + 1 WHERE customer_id = OLD.id; END;
CREATE TRIGGER tokens_revoked AFTER UPDATE OF customer_id, expires_at, revoked_at ON tokens
WHEN OLD.customer_id IS NOT NEW.customer_id OR OLD.expires_at IS NOT NEW.expires_at
  OR OLD.revoked_at IS NOT NEW.revoked_at
BEGIN UPDATE accounts SET revocation_epoch = revocation_epoch + 1 WHERE customer_id = OLD.customer_id; END;
CREATE TRIGGER tokens_deleted AFTER DELETE ON tokens
BEGIN UPDATE accounts SET revocation_epoch = revocation_epoch + 1 WHERE customer_id = OLD.customer_id; END;
-- @postgres
CREATE FUNCTION advance_revocation_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET revocation_epoch = revocation_epoch + 1 WHERE customer_id = to_jsonb(OLD) ->> TG_ARGV[0];
  RETURN NULL;
END
$$;
CREATE TRIGGER customers_revoked AFTER UPDATE OF blocked_at ON customers FOR EACH ROW
WHEN (OLD.blocked_at IS DISTINCT FROM NEW.blocked_at) EXECUTE FUNCTION advance_revocation_epoch('id');
CREATE TRIGGER tokens_revoked AFTER UPDATE OF customer_id, expires_at, revoked_at ON tokens FOR EACH ROW
WHEN (OLD.customer_id IS DISTINCT FROM NEW.customer_id OR OLD.expires_at IS DISTINCT FROM NEW.expires_at
  OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
EXECUTE FUNCTION advance_revocation_epoch('customer_id');
CREATE TRIGGER tokens_deleted AFTER DELETE ON tokens FOR EACH ROW
EXECUTE FUNCTION advance_revocation_epoch('customer_id');
-- @both

-- === Orders and events ===

-- Purchases. An order is found by its charge; only orders without a price need an index of their own.
CREATE TABLE orders (
  id TEXT,
  customer_id TEXT NOT NULL,
  product TEXT NOT NULL,
  action TEXT NOT NULL,
  price BIGINT NOT NULL,
  charge_seq BIGINT,
  token_id TEXT,
  input TEXT NOT NULL,
  calculation TEXT NOT NULL,
  created_at BIGINT NOT NULL,
-- @sqlite
  CHECK (price >= 0),
  CHECK ((price = 0) = (charge_seq IS NULL)),
-- @both
  PRIMARY KEY (id)
);
CREATE INDEX orders_without_charge ON orders (customer_id, id) WHERE charge_seq IS NULL;

-- The first answer to a request with an Idempotency-Key, sealed. `order_id` is what the key has bought.
CREATE TABLE answers (
  customer_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request BYTEA NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  order_id TEXT,
  PRIMARY KEY (customer_id, key)
);
CREATE INDEX answers_by_age ON answers (created_at);

-- Events of customers, written by the transaction that caused them and deleted after 30 days. `subject` is a proxy's
-- number or a subscription's uuid. `digest` is the digest of the event.
CREATE TABLE events (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  type TEXT NOT NULL,
  at BIGINT NOT NULL,
  order_id TEXT,
  subject TEXT,
  data TEXT NOT NULL,
  digest BYTEA NOT NULL,
  PRIMARY KEY (customer_id, seq)
);
CREATE INDEX events_by_age ON events (at);

-- The number and time of a customer's last event. A writer holds the row until it commits, so that numbers become
-- visible in their order and a reader that continues after the last one misses none.
CREATE TABLE event_numbers (
  customer_id TEXT PRIMARY KEY,
  last BIGINT NOT NULL CHECK (last > 0),
  last_at BIGINT NOT NULL
);

-- An event is never changed.
-- @sqlite
CREATE TRIGGER events_append_only BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
-- @postgres
CREATE TRIGGER events_append_only BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- === Nodes ===

-- Gateways and VPN nodes. An endpoint that is NULL follows the settings. `private_key` is sealed, and only of a node
-- whose keys the shop has made. `key_digest` is of the one-time join key, `secret_digest` of the secret that the node
-- made. `boot` to `total_bytes`, `hop_bytes` and `max_ports` are the node's last report. Nothing of a node is sold while
-- `stopping_boot` is its boot; a node with `drained_at` takes nothing new. `hop_key` signs requests to other gateways.
CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('gateway', 'vpn')),
  name TEXT NOT NULL UNIQUE,
  location TEXT NOT NULL,
  country_code TEXT,
  city TEXT,
  endpoint_host TEXT,
  endpoint_port BIGINT CHECK (endpoint_port BETWEEN 1 AND 65535),
  public_key TEXT UNIQUE CHECK (kind = 'gateway' OR public_key IS NOT NULL),
  private_key BYTEA,
  state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
  version TEXT,
  last_seen_at BIGINT,
  created_at BIGINT NOT NULL,
  key_digest BYTEA,
  key_expires_at BIGINT CHECK ((key_expires_at IS NULL) = (key_digest IS NULL)),
  key_used_at BIGINT CHECK (key_used_at IS NULL OR key_digest IS NOT NULL),
  secret_digest BYTEA,
  joined_at BIGINT CHECK ((joined_at IS NULL) = (secret_digest IS NULL)),
  boot TEXT,
  tunnels BIGINT CHECK (tunnels >= 0),
  lag_ms BIGINT CHECK (lag_ms >= 0),
  total_bytes BIGINT CHECK (total_bytes >= 0),
  link_mbit BIGINT NOT NULL DEFAULT 10000 CHECK (link_mbit BETWEEN 1 AND 1000000),
  stopping_boot TEXT,
  hop_key TEXT,
  changed_at BIGINT NOT NULL DEFAULT 0,
  hop_bytes BIGINT CHECK (hop_bytes >= 0),
  drained_at BIGINT,
  max_ports BIGINT CHECK (max_ports >= 0)
);
CREATE UNIQUE INDEX nodes_by_key ON nodes (key_digest) WHERE key_digest IS NOT NULL;
CREATE UNIQUE INDEX nodes_by_secret ON nodes (secret_digest) WHERE secret_digest IS NOT NULL;
CREATE INDEX nodes_by_change ON nodes (changed_at, id);

-- === Stock ===

-- Addresses that belong together: a prefix, and the ids of the nodes that it is on; none means any gateway that proves
-- it. Ranges of addresses that are written out do not overlap. A range is `coming` while its import runs, and `gone`
-- when it was split or emptied.
CREATE TABLE stock_ranges (
  id BIGINT PRIMARY KEY CHECK (id > 0),
  prefix TEXT NOT NULL,
  node_ids TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('coming', 'in', 'gone')),
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX stock_ranges_once ON stock_ranges (prefix) WHERE state <> 'gone';
CREATE INDEX stock_ranges_by_change ON stock_ranges (changed_at, id);
CREATE INDEX stock_ranges_coming ON stock_ranges (created_at) WHERE state = 'coming';

-- What each node last reported of each range: runs (first, count) of addresses it can use, what is wrong with the
-- others, and the address the shop saw instead. A range without named nodes is sold on a gateway only until
-- `proof_until`, after a call to the shop from `proven_from`.
CREATE TABLE stock_trials (
  node_id TEXT NOT NULL,
  range_id BIGINT NOT NULL REFERENCES stock_ranges (id),
  served TEXT NOT NULL,
  problems TEXT NOT NULL,
  seen_as TEXT,
  changed_at BIGINT NOT NULL,
  proven_from TEXT,
  proven_at BIGINT,
  proof_until BIGINT NOT NULL DEFAULT 0 CHECK (proof_until >= 0),
  PRIMARY KEY (node_id, range_id)
);
CREATE INDEX stock_trials_of_range ON stock_trials (range_id);

-- One slot that can be sold: a dedicated address, or one of the three slots of a shared one. Slots are sold in the
-- order of their ids; an import shuffles its addresses. The next lease begins at `free_from` or later. `serving_node`
-- serves the address, `known_node` is the one that its customer knows of, `lost_at` when a node last lost it.
CREATE TABLE stock (
  id BIGINT PRIMARY KEY,
  address TEXT NOT NULL,
  slot BIGINT NOT NULL,
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL,
  state TEXT NOT NULL,
  rest_until BIGINT,
  retiring BIGINT NOT NULL,
  free_from BIGINT NOT NULL DEFAULT 0,
  range_id BIGINT,
  serving_node TEXT,
  quarantined BIGINT NOT NULL DEFAULT 0,
  lost_at BIGINT,
  known_node TEXT,
-- @sqlite
  CHECK (slot BETWEEN 0 AND 2 AND (ipv = 3 OR slot = 0)),
  CHECK (ipv = 4 OR ipv = 6 OR ipv = 3),
  CHECK (state = 'leased' OR state = 'free' OR state = 'resting' OR state = 'retired'),
  CHECK ((state = 'resting') = (rest_until IS NOT NULL)),
  CHECK (retiring IN (0, 1)),
  CHECK (serving_node IS NULL OR range_id IS NOT NULL),
  CHECK (quarantined IN (0, 1)),
-- @both
  UNIQUE (address, slot)
);
CREATE INDEX stock_free ON stock (country, ipv, id) WHERE state = 'free';
CREATE INDEX stock_resting ON stock (rest_until) WHERE state = 'resting';
CREATE INDEX stock_of_range ON stock (range_id);
CREATE INDEX stock_leased_by_node ON stock (serving_node, id) WHERE state = 'leased';
CREATE INDEX stock_moved ON stock (id)
  WHERE state = 'leased' AND serving_node IS NOT NULL AND (known_node IS NULL OR known_node <> serving_node);

-- Blocks too large to be written out. An address of a block becomes a slot when it is first sold.
CREATE TABLE stock_prefixes (
  prefix TEXT PRIMARY KEY,
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL CHECK (ipv = 6),
  added_at BIGINT NOT NULL,
  retired_at BIGINT,
  serving_node TEXT,
  quarantined BIGINT NOT NULL DEFAULT 0 CHECK (quarantined IN (0, 1))
);

-- Who holds a slot, from when, until when. An open lease has no end, and a slot has at most one open lease.
CREATE TABLE leases (
  slot_id BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT CHECK (ended_at >= started_at),
  proxy_id BIGINT NOT NULL,
  PRIMARY KEY (slot_id, started_at)
);
CREATE UNIQUE INDEX leases_one_open ON leases (slot_id) WHERE ended_at IS NULL;

-- No lease begins before the one before it has ended. An address is dedicated or shared, never both; slot 0 is unique,
-- so two imports at once cannot both begin.
-- @sqlite
CREATE TRIGGER leases_no_overlap BEFORE INSERT ON leases
WHEN EXISTS (SELECT 1 FROM leases WHERE slot_id = NEW.slot_id AND (ended_at IS NULL OR ended_at > NEW.started_at))
BEGIN SELECT RAISE(ABORT, 'a slot is leased to one customer at a time'); END;
CREATE TRIGGER leases_ended_immutable BEFORE UPDATE ON leases
WHEN OLD.ended_at IS NOT NULL OR NEW.slot_id <> OLD.slot_id OR NEW.started_at <> OLD.started_at
  OR NEW.proxy_id <> OLD.proxy_id
BEGIN SELECT RAISE(ABORT, 'a lease that has ended is never changed'); END;
CREATE TRIGGER leases_no_delete BEFORE DELETE ON leases BEGIN SELECT RAISE(ABORT, 'leases are never deleted'); END;
CREATE TRIGGER stock_single_kind BEFORE INSERT ON stock
WHEN NEW.slot > 0 AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.address AND ipv <> NEW.ipv)
BEGIN SELECT RAISE(ABORT, 'an address is of one kind'); END;
-- @postgres
CREATE FUNCTION refuse_overlap() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM leases
      WHERE slot_id = NEW.slot_id AND (ended_at IS NULL OR ended_at > NEW.started_at)) THEN
    RAISE EXCEPTION 'a slot is leased to one customer at a time' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER leases_no_overlap BEFORE INSERT ON leases FOR EACH ROW EXECUTE FUNCTION refuse_overlap();
CREATE TRIGGER leases_ended_immutable BEFORE UPDATE ON leases FOR EACH ROW
WHEN (OLD.ended_at IS NOT NULL OR NEW.slot_id <> OLD.slot_id OR NEW.started_at <> OLD.started_at
  OR NEW.proxy_id <> OLD.proxy_id)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER leases_no_delete BEFORE DELETE ON leases FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER leases_no_truncate BEFORE TRUNCATE ON leases FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE FUNCTION refuse_second_kind() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM stock WHERE address = NEW.address AND ipv <> NEW.ipv) THEN
    RAISE EXCEPTION 'an address is of one kind' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER stock_single_kind BEFORE INSERT ON stock FOR EACH ROW WHEN (NEW.slot > 0)
EXECUTE FUNCTION refuse_second_kind();
-- @both

-- === Dedicated proxies ===

-- Dedicated proxies. `sources` are the client addresses that need no password, at the port `entry_port`. A renewal
-- spends within the cap of `renew_token_id`. While `interrupted_at` is set the term is paused. `resumed_at` is when
-- a proxy was prolonged after its end.
CREATE TABLE proxies (
  id BIGINT,
  customer_id TEXT NOT NULL,
  order_id TEXT NOT NULL,
  slot_id BIGINT NOT NULL,
  address TEXT NOT NULL,
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL,
  port_type TEXT NOT NULL,
  username TEXT NOT NULL,
  password BYTEA NOT NULL,
  password_digest BYTEA NOT NULL,
  comment TEXT NOT NULL,
  state TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  replaced_at BIGINT,
  renew_period BIGINT,
  renew_tried_at BIGINT,
  changed_at BIGINT NOT NULL,
  renew_token_id TEXT,
  both_protocols BIGINT NOT NULL DEFAULT 0,
  sources TEXT NOT NULL DEFAULT '',
  entry_port BIGINT,
  replaced_by TEXT,
  ended_at BIGINT,
  interrupted_at BIGINT,
  interrupted_by TEXT,
  resumed_at BIGINT,
-- @sqlite
  CHECK (ipv = 4 OR ipv = 6 OR ipv = 3),
  CHECK (port_type IN ('http', 'socks')),
  CHECK (state IN ('held', 'gone')),
  CHECK (expires_at > started_at),
  CHECK (both_protocols IN (0, 1)),
  CHECK (entry_port BETWEEN 1024 AND 65535),
  CHECK (replaced_by = 'customer' OR replaced_by = 'operator' OR replaced_by = 'outage'),
  CHECK (ended_at IS NULL OR state = 'gone'),
  CHECK ((interrupted_by IS NULL) = (interrupted_at IS NULL) AND interrupted_by IN ('outage', 'quarantine')),
-- @both
  PRIMARY KEY (id)
);
CREATE INDEX proxies_of_customer ON proxies (customer_id, id);
CREATE INDEX proxies_by_expiry ON proxies (expires_at) WHERE state = 'held';
CREATE INDEX proxies_to_renew ON proxies (expires_at) WHERE renew_period IS NOT NULL AND state = 'held';
CREATE INDEX proxies_by_change ON proxies (changed_at, id);
CREATE UNIQUE INDEX proxies_by_entry_port ON proxies (entry_port) WHERE entry_port IS NOT NULL;
CREATE INDEX proxies_interrupted ON proxies (id) WHERE interrupted_at IS NOT NULL;

-- Each time in which a proxy could not be used, and what its customer got for it, once. At most one is open, none
-- overlap, and one that is over is never changed.
CREATE TABLE proxy_outages (
  proxy_id BIGINT NOT NULL,
  from_at BIGINT NOT NULL,
  until_at BIGINT CHECK (until_at >= from_at),
  cause TEXT NOT NULL CHECK (cause IN ('outage', 'quarantine')),
  given TEXT CHECK ((given IS NULL) = (until_at IS NULL) AND given IN ('time', 'money', 'nothing')),
  expires_before BIGINT CHECK ((expires_before IS NULL) = (until_at IS NULL)),
  expires_after BIGINT CHECK ((expires_after IS NULL) = (until_at IS NULL) AND
    expires_after = expires_before + CASE WHEN given = 'time' THEN until_at - from_at ELSE 0 END),
  PRIMARY KEY (proxy_id, from_at)
);
CREATE UNIQUE INDEX proxy_outages_one_open ON proxy_outages (proxy_id) WHERE until_at IS NULL;

-- Outages do not overlap, and one that is over is never changed.
-- @sqlite
CREATE TRIGGER proxy_outages_no_overlap BEFORE INSERT ON proxy_outages
WHEN EXISTS (SELECT 1 FROM proxy_outages
  WHERE proxy_id = NEW.proxy_id AND (until_at IS NULL OR until_at > NEW.from_at))
BEGIN SELECT RAISE(ABORT, 'an outage is counted once'); END;
CREATE TRIGGER proxy_outages_ended_immutable BEFORE UPDATE ON proxy_outages
WHEN OLD.until_at IS NOT NULL OR NEW.proxy_id <> OLD.proxy_id OR NEW.from_at <> OLD.from_at
BEGIN SELECT RAISE(ABORT, 'an outage that is over is never changed'); END;
CREATE TRIGGER proxy_outages_no_delete BEFORE DELETE ON proxy_outages
BEGIN SELECT RAISE(ABORT, 'outages are never deleted'); END;
-- @postgres
CREATE FUNCTION refuse_second_outage() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM proxy_outages
      WHERE proxy_id = NEW.proxy_id AND (until_at IS NULL OR until_at > NEW.from_at)) THEN
    RAISE EXCEPTION 'an outage is counted once' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER proxy_outages_no_overlap BEFORE INSERT ON proxy_outages
  FOR EACH ROW EXECUTE FUNCTION refuse_second_outage();
CREATE TRIGGER proxy_outages_ended_immutable BEFORE UPDATE ON proxy_outages FOR EACH ROW
WHEN (OLD.until_at IS NOT NULL OR NEW.proxy_id <> OLD.proxy_id OR NEW.from_at <> OLD.from_at)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER proxy_outages_no_delete BEFORE DELETE ON proxy_outages FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- === Premium proxies ===

-- Sub-users. A login is never given to a second sub-user. The password is sealed; nodes are given its digest. `heir_id`
-- gets what nodes give back after the deletion, by the order `closing_order`.
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

-- Bytes of a sub-user in a pool: free (`balance`), set aside for nodes (`aside`), and used beyond both (`owed`),
-- which happens only when a lease has lapsed.
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

-- One movement of bytes: what it changed, and the sums after it. Each names an order or a node's boot. No foreign key:
-- the same transaction locks and updates the account's row.
CREATE TABLE traffic_movements (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN
    ('bought', 'moved_in', 'moved_out', 'leased', 'returned', 'lapsed', 'used', 'forgiven', 'expired', 'refunded',
    'restored')),
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
CREATE INDEX traffic_movements_of_order ON traffic_movements (order_id) WHERE order_id IS NOT NULL;

-- Which order the bytes of an account came from, and until when they are good. The lot that ends first is used first.
-- The lots of an account sum to its balance and what is set aside.
CREATE TABLE traffic_lots (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  order_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  size BIGINT NOT NULL CHECK (size > 0),
  rest BIGINT NOT NULL CHECK (rest >= 0 AND rest <= size),
  PRIMARY KEY (subuser_id, pool, order_id)
);
CREATE INDEX traffic_lots_use_order ON traffic_lots (subuser_id, pool, expires_at, order_id) WHERE rest > 0;
CREATE INDEX traffic_lots_of_order ON traffic_lots (order_id);
CREATE INDEX traffic_lots_by_end ON traffic_lots (expires_at) WHERE rest > 0;

-- Bytes by the hour. `checksum` here and below follows from the figures beside it (`src/db/checksum.ts`).
CREATE TABLE traffic_hours (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  hour BIGINT NOT NULL CHECK (hour % 3600000 = 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (subuser_id, pool, hour)
);

-- Bytes by the hour and destination, while the sub-user wants that kept.
CREATE TABLE traffic_hosts (
  subuser_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  hour BIGINT NOT NULL CHECK (hour % 3600000 = 0),
  host TEXT NOT NULL,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (subuser_id, pool, hour, host)
);
CREATE INDEX traffic_hosts_by_age ON traffic_hosts (hour);

-- Client addresses that need no password. Two sub-users may have the same one: the port tells them apart.
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

-- The next port to give out.
CREATE TABLE gateway_port_next (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  next BIGINT NOT NULL
);

-- Ports that meant something and rest before they mean something else.
CREATE TABLE gateway_ports_resting (
  port BIGINT PRIMARY KEY CHECK (port BETWEEN 1024 AND 65535),
  since BIGINT NOT NULL
);
CREATE INDEX gateway_ports_resting_by_age ON gateway_ports_resting (since, port);

-- Where traffic leaves: a local address, or an upstream proxy with sealed credentials. `node_id` NULL is every gateway.
-- `offers` is what a templated login can ask for: 'any' or country codes, and after a bar other places.
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
  changed_at BIGINT NOT NULL,
  node_id TEXT,
  offers TEXT CHECK (offers IS NULL OR kind <> 'local')
);
CREATE INDEX exits_of_pool ON exits (pool, id);
CREATE INDEX exits_by_change ON exits (changed_at, id);
CREATE INDEX exits_by_host ON exits (host) WHERE kind = 'local';

-- What each gateway last reported of each exit. It is believed for 30 seconds.
CREATE TABLE exit_reports (
  exit_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  up BIGINT NOT NULL CHECK (up IN (0, 1)),
  since_at BIGINT NOT NULL,
  reason TEXT NOT NULL,
  reported_at BIGINT NOT NULL,
  PRIMARY KEY (exit_id, node_id)
);

-- What went through an exit: the cumulative counts of each boot of each gateway.
CREATE TABLE exit_counts (
  exit_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  boot TEXT NOT NULL,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (exit_id, node_id, boot)
);

-- The sum of `exit_counts` by day (UTC).
CREATE TABLE exit_days (
  exit_id TEXT NOT NULL,
  day BIGINT NOT NULL CHECK (day % 86400000 = 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (exit_id, day)
);

-- Movements of traffic are append-only.
-- @sqlite
CREATE TRIGGER traffic_movements_append_only BEFORE UPDATE ON traffic_movements
BEGIN SELECT RAISE(ABORT, 'movements of traffic are never changed'); END;
CREATE TRIGGER traffic_movements_no_delete BEFORE DELETE ON traffic_movements
BEGIN SELECT RAISE(ABORT, 'movements of traffic are never deleted'); END;
-- @postgres
CREATE TRIGGER traffic_movements_append_only BEFORE UPDATE OR DELETE ON traffic_movements
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER traffic_movements_no_delete BEFORE TRUNCATE ON traffic_movements
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- @both
-- An address is sold by one product: an address in stock is no exit. A retired or drained one is free for the other. On
-- PostgreSQL adding stock shares the lock and adding an exit holds it alone, so that neither misses uncommitted rows
-- of the other.
-- @sqlite
CREATE TRIGGER stock_single_product BEFORE INSERT ON stock
WHEN EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'the address is an exit'); END;
CREATE TRIGGER stock_single_product_on_update AFTER UPDATE OF state ON stock
WHEN OLD.state = 'retired' AND NEW.state <> 'retired'
  AND EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'the address is an exit'); END;
CREATE TRIGGER exits_single_product BEFORE INSERT ON exits
WHEN NEW.kind = 'local' AND NEW.drained_at IS NULL
  AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.host AND state <> 'retired')
BEGIN SELECT RAISE(ABORT, 'the address is in stock'); END;
CREATE TRIGGER exits_single_product_on_update BEFORE UPDATE OF kind, host, drained_at ON exits
WHEN NEW.kind = 'local' AND NEW.drained_at IS NULL
  AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.host AND state <> 'retired')
BEGIN SELECT RAISE(ABORT, 'the address is in stock'); END;
-- @postgres
CREATE FUNCTION refuse_exit_as_stock() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1953526895, 15);
  IF EXISTS (SELECT 1 FROM added JOIN exits ON host = address WHERE kind = 'local' AND drained_at IS NULL) THEN
    RAISE EXCEPTION 'the address is an exit' USING ERRCODE = '23P01';
  END IF;
  RETURN NULL;
END
$$;
CREATE FUNCTION assert_no_exit(slot_address text) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1953526895, 15);
  IF EXISTS (SELECT 1 FROM exits WHERE host = slot_address AND kind = 'local' AND drained_at IS NULL) THEN
    RAISE EXCEPTION 'the address is an exit' USING ERRCODE = '23P01';
  END IF;
END
$$;
CREATE FUNCTION refuse_exit_as_stock_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state = 'retired' AND NEW.state <> 'retired' THEN
    PERFORM assert_no_exit(NEW.address);
  END IF;
  RETURN NEW;
END
$$;
CREATE FUNCTION refuse_stock_as_exit() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1953526895, 15);
  IF EXISTS (SELECT 1 FROM stock WHERE address = NEW.host AND state <> 'retired') THEN
    RAISE EXCEPTION 'the address is in stock' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER stock_single_product AFTER INSERT ON stock REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION refuse_exit_as_stock();
CREATE TRIGGER stock_single_product_on_update BEFORE UPDATE OF state ON stock
FOR EACH ROW EXECUTE FUNCTION refuse_exit_as_stock_again();
CREATE TRIGGER exits_single_product BEFORE INSERT OR UPDATE OF kind, host, drained_at ON exits FOR EACH ROW
WHEN (NEW.kind = 'local' AND NEW.drained_at IS NULL) EXECUTE FUNCTION refuse_stock_as_exit();
-- @both

-- === Usage that nodes report ===

-- The boots of nodes.
CREATE TABLE usage_boots (
  node TEXT NOT NULL,
  boot TEXT NOT NULL,
  last_at BIGINT NOT NULL,
  closed_at BIGINT,
  PRIMARY KEY (node, boot)
);

-- Bytes that nodes have relayed: the largest count of each (node, boot, subject). Counts are cumulative, so a repeat
-- adds nothing. Sums use only the believed part of a count.
CREATE TABLE usage_counts (
  node TEXT NOT NULL,
  boot TEXT NOT NULL,
  subject TEXT NOT NULL,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  updated_at BIGINT NOT NULL,
  believed_received BIGINT NOT NULL DEFAULT 0
    CHECK (believed_received BETWEEN 0 AND 9000000000000000 AND believed_received <= received),
  believed_sent BIGINT NOT NULL DEFAULT 0
    CHECK (believed_sent BETWEEN 0 AND 9000000000000000 AND believed_sent <= sent),
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (node, boot, subject)
);
CREATE INDEX usage_counts_of_subject ON usage_counts (subject);

-- Token bucket of a node: the bytes that its link can have relayed beyond its claims, and the refused part of its
-- claims. Destinations, which are not billed, have a bucket of their own.
CREATE TABLE usage_budgets (
  node TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('bytes', 'hosts')),
  rest BIGINT NOT NULL CHECK (rest BETWEEN 0 AND 9000000000000000),
  at BIGINT NOT NULL,
  refused BIGINT NOT NULL CHECK (refused BETWEEN 0 AND 9000000000000000),
  refused_at BIGINT,
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (node, purpose)
);

-- The boot of a node that holds its leases.
CREATE TABLE usage_nodes (
  node TEXT PRIMARY KEY,
  boot TEXT NOT NULL,
  since BIGINT NOT NULL
);

-- Bytes set aside for a boot of a node and a subject. `granted` less `returned`, `lapsed` and `settled` is `aside`.
-- `counted` is the largest count reported; `settled`, `late` and `quarantined` of it have been dealt with.
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
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (node, boot, subject)
);
CREATE INDEX usage_leases_of_subject ON usage_leases (subject) WHERE aside > 0;
CREATE INDEX usage_leases_open ON usage_leases (node, boot) WHERE aside > 0;
CREATE INDEX usage_leases_quarantined ON usage_leases (changed_at) WHERE quarantined > 0;

-- === VPN ===

-- VPN subscriptions. What one was paid with is in `vpn_terms` and adds up to it. A refused renewal is tried again after
-- `renew_after`.
CREATE TABLE vpn_subscriptions (
  uuid TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  anchor_day BIGINT NOT NULL CHECK (anchor_day BETWEEN 1 AND 31),
  expires_at BIGINT NOT NULL,
  device_limit BIGINT NOT NULL CHECK (device_limit > 0),
  traffic_limit BIGINT CHECK (traffic_limit >= 0),
  speed_mbit BIGINT CHECK (speed_mbit > 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  auto_renew_months BIGINT CHECK (auto_renew_months > 0),
  renew_after BIGINT NOT NULL,
  renew_problem TEXT,
  link_digest BYTEA NOT NULL UNIQUE,
  link_secret BYTEA,
  created_at BIGINT NOT NULL,
  disabled_at BIGINT,
  swept_at BIGINT,
  deleted_at BIGINT,
  renew_token_id TEXT
);
CREATE INDEX vpn_subscriptions_of_customer ON vpn_subscriptions (customer_id, uuid);
CREATE INDEX vpn_subscriptions_to_renew ON vpn_subscriptions (expires_at)
  WHERE auto_renew_months IS NOT NULL AND deleted_at IS NULL AND disabled_at IS NULL;
CREATE INDEX vpn_subscriptions_to_sweep ON vpn_subscriptions (expires_at)
  WHERE swept_at IS NULL AND deleted_at IS NULL;

-- Time that was paid for: one row for each order, which begins where the one before it ends, or when it was bought.
-- `traffic_grant` NULL is traffic without a limit; `used_before` is what had been used at the purchase.
CREATE TABLE vpn_terms (
  subscription_uuid TEXT NOT NULL REFERENCES vpn_subscriptions (uuid),
  seq BIGINT NOT NULL CHECK (seq > 0),
  order_id TEXT NOT NULL UNIQUE,
  months BIGINT NOT NULL CHECK (months > 0),
  price BIGINT NOT NULL CHECK (price >= 0),
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL CHECK (ends_at > starts_at),
  traffic_grant BIGINT CHECK (traffic_grant > 0),
  used_before BIGINT NOT NULL CHECK (used_before >= 0),
  refund TEXT NOT NULL CHECK (refund IN ('pro_rata', 'none')),
  refunded BIGINT NOT NULL CHECK (refunded BETWEEN 0 AND price),
  PRIMARY KEY (subscription_uuid, seq)
);

-- Devices. A removed one keeps its row, because its bytes still count. `private_key` is sealed; NULL when the customer
-- brought the key. `node_id` is where a device was moved to; NULL is the node that its location selects.
CREATE TABLE vpn_peers (
  id TEXT PRIMARY KEY,
  subscription_uuid TEXT NOT NULL REFERENCES vpn_subscriptions (uuid),
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  private_key BYTEA CHECK (private_key IS NULL OR removed_at IS NULL),
  own_key BIGINT NOT NULL CHECK (own_key IN (0, 1)),
  ipv4 BIGINT NOT NULL,
  ipv6 TEXT NOT NULL,
  location TEXT,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  last_handshake_at BIGINT,
  created_at BIGINT NOT NULL,
  removed_at BIGINT,
  changed_at BIGINT NOT NULL,
  node_id TEXT
);
CREATE INDEX vpn_peers_of_subscription ON vpn_peers (subscription_uuid, id);
CREATE INDEX vpn_peers_held ON vpn_peers (subscription_uuid, id) WHERE removed_at IS NULL;
CREATE INDEX vpn_peers_by_change ON vpn_peers (changed_at, id);
CREATE UNIQUE INDEX vpn_peers_key ON vpn_peers (public_key) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX vpn_peers_ipv4 ON vpn_peers (ipv4) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX vpn_peers_ipv6 ON vpn_peers (ipv6) WHERE removed_at IS NULL;

-- Every tunnel address that was ever given out: held by a device, or resting until `free_at`.
CREATE TABLE vpn_addresses (
  ipv4 BIGINT PRIMARY KEY,
  peer_id TEXT UNIQUE,
  free_at BIGINT NOT NULL
);
CREATE INDEX vpn_addresses_free ON vpn_addresses (free_at, ipv4) WHERE peer_id IS NULL;

-- Sums stay exact: no device and no subscription passes what a JSON number holds.
-- @sqlite
CREATE TRIGGER vpn_peers_exact_sums BEFORE UPDATE OF received, sent ON vpn_peers
WHEN NEW.received + NEW.sent > 9000000000000000 OR typeof(NEW.received) <> 'integer' OR typeof(NEW.sent) <> 'integer'
BEGIN SELECT RAISE(ABORT, 'the bytes of a device exceed 9000000000000000'); END;
CREATE TRIGGER vpn_subscriptions_exact_sums BEFORE UPDATE OF received, sent ON vpn_subscriptions
WHEN NEW.received + NEW.sent > 9000000000000000 OR typeof(NEW.received) <> 'integer' OR typeof(NEW.sent) <> 'integer'
BEGIN SELECT RAISE(ABORT, 'the bytes of a subscription exceed 9000000000000000'); END;
-- @postgres
ALTER TABLE vpn_peers ADD CONSTRAINT vpn_peers_exact_sums CHECK (received + sent <= 9000000000000000);
ALTER TABLE vpn_subscriptions ADD CONSTRAINT vpn_subscriptions_exact_sums CHECK (received + sent <= 9000000000000000);
-- @both

-- === Payments ===

-- Payment providers. The secret is sealed.
CREATE TABLE payment_providers (
  name TEXT PRIMARY KEY,
  settings TEXT NOT NULL,
  secret BYTEA,
  enabled BIGINT NOT NULL CHECK (enabled IN (0, 1)),
  changed_at BIGINT NOT NULL
);

-- One top-up. `amount` goes to the balance, `fee` is paid on top. `credited` is 0 or the amount, `debited` what the
-- provider has taken back since. The provider is polled again at `ask_at`. `purchase_…` is the purchase that follows
-- the payment, at this price by this price list, next tried at `buy_at`.
CREATE TABLE payments (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  token_id TEXT,
  key TEXT,
  request BYTEA NOT NULL,
  provider TEXT NOT NULL,
  method TEXT NOT NULL,
  amount BIGINT NOT NULL CHECK (amount > 0),
  fee BIGINT NOT NULL CHECK (fee >= 0),
  return_url TEXT,
  state TEXT NOT NULL CHECK (state IN ('new', 'pending', 'paid', 'expired', 'cancelled', 'refunded')),
  provider_id TEXT,
  pay_url TEXT,
  qr TEXT,
  credited BIGINT NOT NULL CHECK (credited IN (0, amount) AND (credited > 0) = (state IN ('paid', 'refunded'))),
  debited BIGINT NOT NULL CHECK (debited BETWEEN 0 AND credited AND (state <> 'refunded' OR debited = credited)),
  changes BIGINT NOT NULL CHECK (changes > 0),
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ask_at BIGINT,
  code TEXT,
  bonus BIGINT NOT NULL DEFAULT 0 CHECK (bonus >= 0 AND (bonus > 0) = (code IS NOT NULL)),
  purchase_product TEXT,
  purchase_input TEXT CHECK ((purchase_input IS NULL) = (purchase_product IS NULL)),
  purchase_price BIGINT CHECK ((purchase_price IS NULL) = (purchase_product IS NULL) AND purchase_price >= 0),
  purchase_catalogue BIGINT CHECK ((purchase_catalogue IS NULL) = (purchase_product IS NULL)),
  purchase_state TEXT CHECK ((purchase_state IS NULL) = (purchase_product IS NULL) AND
    purchase_state IN ('waiting', 'bought', 'refused', 'lapsed')),
  purchase_order TEXT CHECK (purchase_order IS NULL OR purchase_state = 'bought'),
  purchase_problem TEXT CHECK (purchase_problem IS NULL OR purchase_state = 'refused'),
  buy_at BIGINT,
  buy_tries BIGINT NOT NULL DEFAULT 0 CHECK (buy_tries >= 0)
);
CREATE UNIQUE INDEX payments_by_key ON payments (customer_id, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX payments_by_provider_id ON payments (provider, provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX payments_of_customer ON payments (customer_id, id);
CREATE INDEX payments_to_ask ON payments (ask_at) WHERE ask_at IS NOT NULL;
CREATE INDEX payments_by_code ON payments (code) WHERE code IS NOT NULL;
CREATE INDEX payments_to_buy ON payments (id) WHERE purchase_state = 'waiting';

-- Each step of a payment and the state after it. A step that moved money names its posting. `total` is all that the
-- provider has taken back by then.
CREATE TABLE payment_changes (
  payment_id TEXT NOT NULL,
  number BIGINT NOT NULL CHECK (number > 0),
  kind TEXT NOT NULL CHECK (kind IN
    ('opened', 'sent', 'credited', 'expired', 'cancelled', 'refund_requested', 'debited', 'bonus', 'bonus_back', 'share',
    'share_back')),
  state TEXT NOT NULL CHECK (state IN ('new', 'pending', 'paid', 'expired', 'cancelled', 'refunded')),
  amount BIGINT NOT NULL CHECK (CASE WHEN kind IN ('credited', 'bonus', 'share') THEN amount > 0
    WHEN kind IN ('debited', 'bonus_back', 'share_back') THEN amount < 0 ELSE amount = 0 END),
  total BIGINT CHECK ((kind = 'debited') = (total IS NOT NULL) AND total > 0),
  posting BIGINT CHECK ((posting IS NULL) = (amount = 0)),
  at BIGINT NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (payment_id, number)
);
CREATE UNIQUE INDEX payment_changes_once ON payment_changes (payment_id, kind)
  WHERE kind IN ('opened', 'sent', 'credited', 'bonus', 'bonus_back', 'share', 'share_back');
CREATE UNIQUE INDEX payment_changes_debited_once ON payment_changes (payment_id, total) WHERE kind = 'debited';

-- Refunds requested from a provider, by the step that noted them. `before` is the sum of the earlier refunds of the
-- payment, `tries` the number of requests. `requested` has no outcome yet: a payment has at most one such refund, so
-- that no other is mistaken for it.
CREATE TABLE payment_refunds (
  payment_id TEXT NOT NULL,
  step BIGINT NOT NULL CHECK (step > 0),
  amount BIGINT NOT NULL CHECK (amount > 0),
  before BIGINT NOT NULL CHECK (before >= 0),
  state TEXT NOT NULL CHECK (state IN ('requested', 'done', 'refused')),
  tries BIGINT NOT NULL CHECK (tries >= 0),
  requested_at BIGINT NOT NULL,
  PRIMARY KEY (payment_id, step)
);
CREATE UNIQUE INDEX payment_refunds_under_way ON payment_refunds (payment_id) WHERE state = 'requested';
-- @sqlite
CREATE TRIGGER payment_refunds_no_delete BEFORE DELETE ON payment_refunds
BEGIN SELECT RAISE(ABORT, 'refunds of payments are never deleted'); END;
-- @postgres
CREATE TRIGGER payment_refunds_no_delete BEFORE DELETE ON payment_refunds FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- What a provider reported and no payment explains, until an operator resolves it and after.
CREATE TABLE payment_notices (
  id TEXT PRIMARY KEY,
  provider TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  reason TEXT NOT NULL
    CHECK (reason IN ('unknown', 'not_at_provider', 'amount', 'currency', 'test', 'twice', 'excess')),
  payment_id TEXT,
  amount BIGINT,
  currency TEXT,
  at BIGINT NOT NULL,
  resolved_at BIGINT,
  resolution TEXT CHECK ((resolution IS NULL) = (resolved_at IS NULL))
);
CREATE UNIQUE INDEX payment_notices_once ON payment_notices (provider, provider_id, reason);

-- What a code adds to a top-up of at least `least`: kopecks, or hundredths of a percent. Each customer uses it once,
-- all of them `uses` times.
CREATE TABLE payment_codes (
  code TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('amount', 'percent')),
  value BIGINT NOT NULL CHECK (value > 0),
  least BIGINT NOT NULL CHECK (least >= 0),
  uses BIGINT CHECK (uses > 0),
  until_at BIGINT,
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  note TEXT NOT NULL
);

-- Who brought a customer: always a customer who was there before, so that no circle is possible.
CREATE TABLE referrals (
  customer_id TEXT PRIMARY KEY,
  referrer_id TEXT NOT NULL CHECK (referrer_id < customer_id),
  at BIGINT NOT NULL
);
CREATE INDEX referrals_by_referrer ON referrals (referrer_id);

-- The code in the link that a customer hands on.
CREATE TABLE referral_codes (
  customer_id TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX referral_codes_by_code ON referral_codes (code);

-- What the referrer gets of a customer's first `top_ups` top-ups, in hundredths of a percent. No row is nothing.
CREATE TABLE referral_terms (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  hundredths BIGINT NOT NULL CHECK (hundredths BETWEEN 0 AND 10000),
  top_ups BIGINT NOT NULL CHECK (top_ups > 0),
  changed_at BIGINT NOT NULL
);

-- Payments, their steps and their notices are never deleted.
-- @sqlite
CREATE TRIGGER payment_changes_append_only BEFORE UPDATE ON payment_changes
BEGIN SELECT RAISE(ABORT, 'steps of a payment are never changed'); END;
CREATE TRIGGER payment_changes_no_delete BEFORE DELETE ON payment_changes
BEGIN SELECT RAISE(ABORT, 'steps of a payment are never deleted'); END;
CREATE TRIGGER payments_no_delete BEFORE DELETE ON payments
BEGIN SELECT RAISE(ABORT, 'payments are never deleted'); END;
CREATE TRIGGER payment_notices_no_delete BEFORE DELETE ON payment_notices
BEGIN SELECT RAISE(ABORT, 'notices of payments are never deleted'); END;
-- @postgres
CREATE TRIGGER payment_changes_append_only BEFORE UPDATE OR DELETE ON payment_changes
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payment_changes_no_delete BEFORE TRUNCATE ON payment_changes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payments_no_delete BEFORE DELETE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payment_notices_no_delete BEFORE DELETE ON payment_notices FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- === Operators ===

-- Operators. A removed one stays, because the audit log names it; the name may be given again.
CREATE TABLE operators (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'support', 'reader')),
  created_at BIGINT NOT NULL,
  removed_at BIGINT
);
CREATE UNIQUE INDEX operators_by_name ON operators (name) WHERE removed_at IS NULL;

-- Operator tokens, known by their digests.
CREATE TABLE operator_tokens (
  id TEXT PRIMARY KEY,
  operator_id TEXT NOT NULL REFERENCES operators (id),
  digest BYTEA NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX operator_tokens_of_operator ON operator_tokens (operator_id, id);

-- What an operator's command under a key has answered. The same key does it once.
CREATE TABLE operator_answers (
  key TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  at BIGINT NOT NULL
);

-- What operators did, each entry in the transaction that did it. A hash covers the entry and the hash before it.
-- `operator_id` NULL is the command line. `request` has no secrets.
CREATE TABLE audit_log (
  seq BIGINT PRIMARY KEY CHECK (seq > 0),
  at BIGINT NOT NULL,
  operator_id TEXT,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  action TEXT NOT NULL,
  request TEXT NOT NULL,
  source TEXT,
  hash BYTEA NOT NULL
);
CREATE INDEX audit_log_of_operator ON audit_log (operator_id, seq);

-- The end of the audit log. A writer holds this row until it commits.
CREATE TABLE audit_log_end (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  seq BIGINT NOT NULL CHECK (seq >= 0),
  head BYTEA NOT NULL,
  last_at BIGINT NOT NULL
);

-- === History and erasures ===

-- Versions of rows that cannot be computed from other rows (`tools/schema/histories.ts`), written by triggers.
-- `content` is the columns as literals; NULL means that the row is gone or as it began. Sealed texts are not copied.
-- `checkpoint` covers the version. The versions of sessions and links begin with 'customer','cus_…', 43 characters.
CREATE TABLE row_history (
  of_table TEXT NOT NULL,
  row_key TEXT NOT NULL,
  version BIGINT NOT NULL CHECK (version >= 0),
  content TEXT,
  checkpoint BIGINT CHECK (checkpoint IS NULL OR version > 0),
  PRIMARY KEY (of_table, row_key, version)
);
CREATE INDEX row_history_by_checkpoint ON row_history (checkpoint, of_table, row_key, version);
CREATE INDEX row_history_of_sessions ON row_history (of_table, SUBSTR(content, 1, 43))
  WHERE of_table = 'console_sessions';
CREATE INDEX row_history_of_links ON row_history (of_table, SUBSTR(content, 1, 43)) WHERE of_table = 'console_links';

-- Whose personal data was erased. While `finished_at` is NULL the history behind the rows is still being blanked.
CREATE TABLE erasures (
  customer_id TEXT PRIMARY KEY,
  requested_by TEXT NOT NULL CHECK (requested_by IN ('customer', 'operator')),
  at BIGINT NOT NULL,
  finished_at BIGINT CHECK (finished_at >= at)
);
CREATE INDEX erasures_open ON erasures (customer_id) WHERE finished_at IS NULL;

-- What an erasure made of the versions that a checkpoint covers. The checkpoint itself stays as it was made.
CREATE TABLE checkpoint_amendments (
  checkpoint BIGINT NOT NULL REFERENCES checkpoints (number),
  number BIGINT NOT NULL CHECK (number > 0),
  customer_id TEXT NOT NULL REFERENCES erasures (customer_id),
  versions BIGINT NOT NULL CHECK (versions >= 0),
  digest_before BYTEA NOT NULL,
  digest_after BYTEA NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (checkpoint, number)
);

-- Audit entries whose request was shortened. `seal` covers the entry as it is now and the hash that it had.
CREATE TABLE audit_redactions (
  seq BIGINT PRIMARY KEY REFERENCES audit_log (seq),
  customer_id TEXT NOT NULL REFERENCES erasures (customer_id),
  seal BYTEA NOT NULL,
  at BIGINT NOT NULL
);

-- History is blanked and the audit log shortened by an erasure alone; nothing else of them ever changes.
-- @sqlite
CREATE TRIGGER row_history_append_only BEFORE UPDATE ON row_history
WHEN OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS NOT OLD.content OR NEW.version <> OLD.version
  OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key)
  AND NOT (NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.checkpoint IS OLD.checkpoint
    AND (NEW.row_key = OLD.row_key OR (OLD.of_table LIKE 'whitelist_entries%' AND NEW.row_key LIKE '% erased %'))
    AND (NEW.content IS OLD.content OR (OLD.content IS NOT NULL AND NEW.content = 'erased'))
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL))
BEGIN SELECT RAISE(ABORT, 'history is never changed'); END;
CREATE TRIGGER row_history_no_delete BEFORE DELETE ON row_history
BEGIN SELECT RAISE(ABORT, 'history is never deleted'); END;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON audit_log
WHEN NEW.seq <> OLD.seq OR NEW.at <> OLD.at OR NEW.operator_id IS NOT OLD.operator_id OR NEW.name <> OLD.name
  OR NEW.role <> OLD.role OR NEW.action <> OLD.action OR NEW.source IS NOT OLD.source OR NEW.hash <> OLD.hash
  OR NOT EXISTS (SELECT 1 FROM audit_redactions WHERE seq = OLD.seq)
  OR NOT EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'entries of the audit log are never deleted'); END;
CREATE TRIGGER erasures_no_delete BEFORE DELETE ON erasures
BEGIN SELECT RAISE(ABORT, 'erasures are never deleted'); END;
CREATE TRIGGER checkpoint_amendments_append_only BEFORE UPDATE ON checkpoint_amendments
BEGIN SELECT RAISE(ABORT, 'amendments are never changed'); END;
CREATE TRIGGER checkpoint_amendments_no_delete BEFORE DELETE ON checkpoint_amendments
BEGIN SELECT RAISE(ABORT, 'amendments are never deleted'); END;
CREATE TRIGGER audit_redactions_no_delete BEFORE DELETE ON audit_redactions
BEGIN SELECT RAISE(ABORT, 'redactions are never deleted'); END;
-- @postgres
CREATE FUNCTION refuse_unless_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.of_table = OLD.of_table AND NEW.version = OLD.version AND NEW.checkpoint IS NOT DISTINCT FROM OLD.checkpoint
    AND (NEW.row_key = OLD.row_key OR (OLD.of_table LIKE 'whitelist_entries%' AND NEW.row_key LIKE '% erased %'))
    AND (NEW.content IS NOT DISTINCT FROM OLD.content OR (OLD.content IS NOT NULL AND NEW.content = 'erased'))
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'row_history is append-only' USING ERRCODE = '23000';
END
$$;
CREATE TRIGGER row_history_append_only BEFORE UPDATE ON row_history FOR EACH ROW
WHEN (OLD.version > 0 AND (OLD.checkpoint IS NOT NULL OR NEW.content IS DISTINCT FROM OLD.content
  OR NEW.version <> OLD.version OR NEW.of_table <> OLD.of_table OR NEW.row_key <> OLD.row_key))
EXECUTE FUNCTION refuse_unless_erased();
CREATE TRIGGER row_history_no_delete BEFORE DELETE ON row_history FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER row_history_no_truncate BEFORE TRUNCATE ON row_history
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE FUNCTION refuse_unless_redacted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.operator_id IS NOT DISTINCT FROM OLD.operator_id
    AND NEW.name = OLD.name AND NEW.role = OLD.role AND NEW.action = OLD.action
    AND NEW.source IS NOT DISTINCT FROM OLD.source AND NEW.hash = OLD.hash
    AND EXISTS (SELECT 1 FROM audit_redactions WHERE seq = OLD.seq)
    AND EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = '23000';
END
$$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_unless_redacted();
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER erasures_no_delete BEFORE DELETE ON erasures FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoint_amendments_append_only BEFORE UPDATE OR DELETE ON checkpoint_amendments
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_redactions_no_delete BEFORE DELETE ON audit_redactions
FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both
-- How triggers write a version. `kept` 1 adds the next version, 0 replaces version 0, the only one.
-- @sqlite
CREATE VIEW row_changes (of_table, row_key, kept, content) AS
SELECT of_table, row_key, CASE version WHEN 0 THEN 0 ELSE 1 END, content FROM row_history;
CREATE TRIGGER row_changes_kept INSTEAD OF INSERT ON row_changes WHEN NEW.kept = 1
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES (NEW.of_table, NEW.row_key, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = NEW.of_table AND row_key = NEW.row_key), 0) + 1, NEW.content);
END;
CREATE TRIGGER row_changes_latest INSTEAD OF INSERT ON row_changes WHEN NEW.kept = 0
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES (NEW.of_table, NEW.row_key, 0, NEW.content)
  ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
END;
-- @postgres
-- Columns of a row as literals. Of one that begins with `?` only whether it is NULL.
CREATE FUNCTION row_content(whole jsonb, columns text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(
    CASE WHEN name LIKE '?%' THEN CASE WHEN whole ->> substr(name, 2) IS NULL THEN 'NULL' ELSE 'sealed' END
      ELSE quote_nullable(whole ->> name) END, ',' ORDER BY position)
  FROM unnest(columns) WITH ORDINALITY AS listed (name, position)
$$;
-- The arguments: the name in the history, whether versions are kept, the columns of the key, those of the content, and
-- the content of a row that is as it began, or the columns that it is made of. An update that leaves the content as it
-- was makes no version.
CREATE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  whole jsonb := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
  named text := (SELECT string_agg(whole ->> name, ' ' ORDER BY position)
    FROM unnest(TG_ARGV[2]::text[]) WITH ORDINALITY AS listed (name, position));
  new_content text := CASE WHEN TG_OP = 'DELETE' THEN NULL ELSE NULLIF(
    NULLIF(row_content(whole, TG_ARGV[3]::text[]), TG_ARGV[4]), row_content(whole, TG_ARGV[5]::text[])) END;
BEGIN
  IF TG_OP = 'UPDATE' AND row_content(whole, TG_ARGV[3]::text[]) = row_content(to_jsonb(OLD), TG_ARGV[3]::text[]) THEN
    RETURN NULL;
  END IF;
  IF TG_ARGV[1] = 'kept' THEN
    INSERT INTO row_history (of_table, row_key, version, content)
    SELECT TG_ARGV[0], named, COALESCE(MAX(version), 0) + 1, new_content
    FROM row_history WHERE of_table = TG_ARGV[0] AND row_key = named;
  ELSE
    INSERT INTO row_history AS known (of_table, row_key, version, content) VALUES (TG_ARGV[0], named, 0, new_content)
    ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  END IF;
  RETURN NULL;
END
$$;
-- @both

-- === Shops on one database ===

-- Token buckets that shops on one database share. `back_at` is when the bucket is full again, in microseconds. Nothing
-- is lost with them, so PostgreSQL does not log them.
-- @sqlite
CREATE TABLE rate_buckets (
-- @postgres
CREATE UNLOGGED TABLE rate_buckets (
-- @both
  name TEXT PRIMARY KEY,
  back_at BIGINT NOT NULL
);
