-- Money that was credited wrongly is taken back by a posting of its own. An operator's movement may carry a key, under which
-- it happens once, and a reference of the payment that it stands for. SQLite changes a check only by writing the table anew;
-- its rows stay as they are.
-- @sqlite
DROP TRIGGER postings_stay;
DROP TRIGGER postings_remain;
DROP INDEX postings_refunded_once;
ALTER TABLE postings RENAME TO postings_before;
CREATE TABLE postings (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN ('credit', 'charge', 'refund', 'debit')),
  house TEXT NOT NULL CHECK (house LIKE 'funds:%' OR house LIKE 'revenue:%'),
  amount BIGINT NOT NULL CHECK (amount <> 0 AND (kind IN ('charge', 'debit')) = (amount < 0)),
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
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
INSERT INTO postings SELECT customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash, NULL, NULL
  FROM postings_before;
DROP TABLE postings_before;
CREATE UNIQUE INDEX postings_refunded_once ON postings (customer_id, refund_of) WHERE refund_of IS NOT NULL;
CREATE TRIGGER postings_stay BEFORE UPDATE ON postings
BEGIN
  SELECT RAISE(ABORT, 'postings are never changed');
END;
CREATE TRIGGER postings_remain BEFORE DELETE ON postings
BEGIN
  SELECT RAISE(ABORT, 'postings are never deleted');
END;
-- @postgres
ALTER TABLE postings DROP CONSTRAINT postings_kind_check;
ALTER TABLE postings ADD CONSTRAINT postings_kind_check CHECK (kind IN ('credit', 'charge', 'refund', 'debit'));
ALTER TABLE postings DROP CONSTRAINT postings_check;
ALTER TABLE postings ADD CONSTRAINT postings_check CHECK (amount <> 0 AND (kind IN ('charge', 'debit')) = (amount < 0));
ALTER TABLE postings DROP CONSTRAINT postings_check1;
ALTER TABLE postings ADD CONSTRAINT postings_check1 CHECK (kind IN ('credit', 'debit') OR order_id IS NOT NULL);
ALTER TABLE postings ADD COLUMN key TEXT CHECK (key IS NULL OR kind IN ('credit', 'debit'));
ALTER TABLE postings ADD COLUMN reference TEXT CHECK (reference IS NULL OR kind IN ('credit', 'debit'));
-- @both
CREATE UNIQUE INDEX postings_by_key ON postings (key) WHERE key IS NOT NULL;
