-- SQLite makes a table in memory for every list of three or more that a check looks into, in every statement that the check is asked in: a sale made
-- five of them, and spent more on those than on its rows. Written as comparisons the same checks cost nothing. SQLite changes a check only by writing
-- the table anew; its rows stay as they are, and so do the views that look at them, which is what the pragma is for.
-- @sqlite
PRAGMA legacy_alter_table = ON;
ALTER TABLE postings RENAME TO postings_before;
CREATE TABLE postings (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'credit' OR kind = 'refund' OR kind = 'debit'),
  house TEXT NOT NULL CHECK (house LIKE 'funds:%' OR house LIKE 'revenue:%'),
  amount BIGINT NOT NULL CHECK (amount <> 0 AND (kind IN ('charge', 'debit')) = (amount < 0)),
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0 OR amount > 0 OR (kind = 'debit' AND house <> 'funds:operator')),
  order_id TEXT CHECK (kind IN ('credit', 'debit') OR order_id IS NOT NULL),
  token_id TEXT,
  refund_of BIGINT CHECK ((kind = 'refund') = (refund_of IS NOT NULL)),
  note TEXT NOT NULL,
  at BIGINT NOT NULL,
  hash BYTEA NOT NULL,
  key TEXT CHECK (key IS NULL OR kind IN ('credit', 'debit')),
  reference TEXT CHECK (reference IS NULL OR kind IN ('credit', 'debit')),
  PRIMARY KEY (customer_id, seq)
);
INSERT INTO postings (
  customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash, key, reference
) SELECT
  customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash, key, reference
FROM postings_before;
DROP TABLE postings_before;
CREATE INDEX postings_refunds ON postings (customer_id, refund_of) WHERE refund_of IS NOT NULL;
CREATE UNIQUE INDEX postings_by_key ON postings (key) WHERE key IS NOT NULL;
CREATE INDEX postings_by_reference ON postings (reference) WHERE reference IS NOT NULL;
CREATE TRIGGER postings_stay BEFORE UPDATE ON postings
BEGIN
  SELECT RAISE(ABORT, 'postings are never changed');
END;
CREATE TRIGGER postings_remain BEFORE DELETE ON postings
BEGIN
  SELECT RAISE(ABORT, 'postings are never deleted');
END;
CREATE TRIGGER postings_refunded_within BEFORE INSERT ON postings
WHEN NEW.kind = 'refund' AND NEW.amount + (SELECT COALESCE(SUM(amount), 0) FROM postings
    WHERE customer_id = NEW.customer_id AND refund_of = NEW.refund_of) >
  -COALESCE((SELECT amount FROM postings WHERE customer_id = NEW.customer_id AND seq = NEW.refund_of AND kind = 'charge'), 0)
BEGIN
  SELECT RAISE(ABORT, 'a charge is refunded no more than it was');
END;
ALTER TABLE stock RENAME TO stock_before;
CREATE TABLE stock (
  id BIGINT PRIMARY KEY,
  address TEXT NOT NULL,
  slot BIGINT NOT NULL CHECK (slot BETWEEN 0 AND 2 AND (ipv = 3 OR slot = 0)),
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL CHECK (ipv = 4 OR ipv = 6 OR ipv = 3),
  state TEXT NOT NULL CHECK (state = 'leased' OR state = 'free' OR state = 'resting' OR state = 'retired'),
  rest_until BIGINT CHECK ((state = 'resting') = (rest_until IS NOT NULL)),
  retiring BIGINT NOT NULL CHECK (retiring IN (0, 1)),
  free_from BIGINT NOT NULL DEFAULT 0,
  range_id BIGINT,
  carrier TEXT CHECK (carrier IS NULL OR range_id IS NOT NULL),
  quarantined BIGINT NOT NULL DEFAULT 0 CHECK (quarantined IN (0, 1)),
  lost_at BIGINT,
  known_carrier TEXT,
  UNIQUE (address, slot)
);
INSERT INTO stock (
  id, address, slot, country, ipv, state, rest_until, retiring, free_from, range_id, carrier, quarantined, lost_at,
  known_carrier
) SELECT
  id, address, slot, country, ipv, state, rest_until, retiring, free_from, range_id, carrier, quarantined, lost_at,
  known_carrier
FROM stock_before;
DROP TABLE stock_before;
CREATE INDEX stock_free ON stock (country, ipv, id) WHERE state = 'free';
CREATE INDEX stock_resting ON stock (rest_until) WHERE state = 'resting';
CREATE INDEX stock_of_range ON stock (range_id);
CREATE INDEX stock_leased_by_carrier ON stock (carrier, id) WHERE state = 'leased';
CREATE INDEX stock_moved ON stock (id)
  WHERE state = 'leased' AND carrier IS NOT NULL AND (known_carrier IS NULL OR known_carrier <> carrier);
CREATE TRIGGER stock_of_one_kind BEFORE INSERT ON stock
WHEN NEW.slot > 0 AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.address AND ipv <> NEW.ipv)
BEGIN
  SELECT RAISE(ABORT, 'an address is of one kind');
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
CREATE TRIGGER stock_of_one_product BEFORE INSERT ON stock
WHEN EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'the address is an exit');
END;
CREATE TRIGGER stock_of_one_product_again BEFORE UPDATE OF state ON stock
WHEN OLD.state = 'retired' AND NEW.state <> 'retired'
  AND EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'the address is an exit');
END;
CREATE TRIGGER stock_quarantine_since AFTER UPDATE OF quarantined ON stock WHEN OLD.quarantined IS NOT NEW.quarantined
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('stock, quarantine', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'stock, quarantine' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.quarantined), '0'));
END;
ALTER TABLE proxies RENAME TO proxies_before;
CREATE TABLE proxies (
  id BIGINT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  order_id TEXT NOT NULL,
  place_id BIGINT NOT NULL,
  address TEXT NOT NULL,
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL CHECK (ipv = 4 OR ipv = 6 OR ipv = 3),
  port_type TEXT NOT NULL CHECK (port_type IN ('http', 'socks')),
  username TEXT NOT NULL,
  password BYTEA NOT NULL,
  password_digest BYTEA NOT NULL,
  comment TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('held', 'gone')),
  started_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL CHECK (expires_at > started_at),
  replaced_at BIGINT,
  renew_period BIGINT,
  renew_tried_at BIGINT,
  changed_at BIGINT NOT NULL,
  renew_token_id TEXT,
  both_protocols BIGINT NOT NULL DEFAULT 0 CHECK (both_protocols IN (0, 1)),
  sources TEXT NOT NULL DEFAULT '',
  entry_port BIGINT CHECK (entry_port BETWEEN 1024 AND 65535),
  replaced_by TEXT CHECK (replaced_by = 'customer' OR replaced_by = 'operator' OR replaced_by = 'outage'),
  ended_at BIGINT CHECK (ended_at IS NULL OR state = 'gone'),
  interrupted_at BIGINT,
  interrupted_by TEXT
    CHECK ((interrupted_by IS NULL) = (interrupted_at IS NULL) AND interrupted_by IN ('outage', 'quarantine')),
  resumed_at BIGINT
);
INSERT INTO proxies (
  id, customer_id, order_id, place_id, address, country, ipv, port_type, username, password, password_digest, comment,
  state, started_at, expires_at, replaced_at, renew_period, renew_tried_at, changed_at, renew_token_id,
  both_protocols, sources, entry_port, replaced_by, ended_at, interrupted_at, interrupted_by, resumed_at
) SELECT
  id, customer_id, order_id, place_id, address, country, ipv, port_type, username, password, password_digest, comment,
  state, started_at, expires_at, replaced_at, renew_period, renew_tried_at, changed_at, renew_token_id,
  both_protocols, sources, entry_port, replaced_by, ended_at, interrupted_at, interrupted_by, resumed_at
FROM proxies_before;
DROP TABLE proxies_before;
CREATE INDEX proxies_of_customer ON proxies (customer_id, id);
CREATE INDEX proxies_by_expiry ON proxies (expires_at) WHERE state = 'held';
CREATE INDEX proxies_to_renew ON proxies (expires_at) WHERE renew_period IS NOT NULL AND state = 'held';
CREATE INDEX proxies_by_change ON proxies (changed_at, id);
CREATE UNIQUE INDEX proxies_by_entry_port ON proxies (entry_port) WHERE entry_port IS NOT NULL;
CREATE INDEX proxies_interrupted ON proxies (id) WHERE interrupted_at IS NOT NULL;
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
CREATE TRIGGER proxies_entrance_since AFTER UPDATE OF both_protocols, sources, entry_port ON proxies
WHEN OLD.both_protocols IS NOT NEW.both_protocols OR OLD.sources IS NOT NEW.sources OR OLD.entry_port IS NOT NEW.entry_port
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('proxies, entrance', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'proxies, entrance' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(
    QUOTE(NEW.both_protocols) || ',' || QUOTE(NEW.sources) || ',' || QUOTE(NEW.entry_port), '0,'''',NULL'));
END;
CREATE TRIGGER proxies_swap_since AFTER UPDATE OF replaced_by ON proxies WHEN OLD.replaced_by IS NOT NEW.replaced_by
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('proxies, swap', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'proxies, swap' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, NULLIF(QUOTE(NEW.replaced_by), 'NULL'));
END;
PRAGMA legacy_alter_table = OFF;
-- @postgres
DROP TRIGGER proxies_swap_at_first ON proxies;
-- @both
