-- The shop's ground: customers, their tokens, their money, and what they ordered.
-- Times are milliseconds since 1970 in UTC. Money is kopecks.

CREATE TABLE shop (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  mode TEXT NOT NULL CHECK (mode IN ('sandbox', 'production')),
  opened_at BIGINT NOT NULL
);

CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  blocked_at BIGINT
);

-- A token is known by the digest of its text; the text is shown once and kept nowhere.
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
  revoked_at BIGINT
);
CREATE INDEX tokens_of_customer ON tokens (customer_id, id);

-- What a customer has. Below zero is impossible, above the most that a JSON number holds exactly as well.
CREATE TABLE accounts (
  customer_id TEXT PRIMARY KEY REFERENCES customers (id),
  balance BIGINT NOT NULL CHECK (balance BETWEEN 0 AND 1000000000000000),
  api_spent BIGINT NOT NULL CHECK (api_spent >= 0),
  seq BIGINT NOT NULL CHECK (seq >= 0),
  head BYTEA NOT NULL,
  last_at BIGINT NOT NULL
);

-- One movement of money between a customer's account and an account of the house. Both sides stand in one row, so a
-- movement that does not sum to zero cannot be written. `amount` is signed as the customer sees it. No foreign key: the
-- account's row is locked and updated by the same transaction, and PostgreSQL would lock and write it once more.
CREATE TABLE postings (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN ('credit', 'charge', 'refund')),
  house TEXT NOT NULL CHECK (house LIKE 'funds:%' OR house LIKE 'revenue:%'),
  amount BIGINT NOT NULL CHECK (amount <> 0 AND (kind = 'charge') = (amount < 0)),
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
  order_id TEXT CHECK (kind = 'credit' OR order_id IS NOT NULL),
  token_id TEXT,
  refund_of BIGINT CHECK ((kind = 'refund') = (refund_of IS NOT NULL)),
  note TEXT NOT NULL,
  at BIGINT NOT NULL,
  hash BYTEA NOT NULL,
  PRIMARY KEY (customer_id, seq)
);
-- A charge is refunded once at most.
CREATE UNIQUE INDEX postings_refunded_once ON postings (customer_id, refund_of) WHERE refund_of IS NOT NULL;

-- What a token with a spending cap has spent, less what was refunded of it. Only such tokens have a row.
CREATE TABLE token_spending (
  token_id TEXT PRIMARY KEY,
  spent BIGINT NOT NULL CHECK (spent >= 0)
);

-- The state of every account's chain at a moment, in one digest, chained in its turn.
CREATE TABLE checkpoints (
  number BIGINT PRIMARY KEY CHECK (number > 0),
  upto BIGINT NOT NULL,
  accounts BIGINT NOT NULL,
  postings BIGINT NOT NULL,
  balances BIGINT NOT NULL,
  digest BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  made_at BIGINT NOT NULL
);

CREATE TABLE orders (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  product TEXT NOT NULL,
  action TEXT NOT NULL,
  price BIGINT NOT NULL CHECK (price >= 0),
  charge_seq BIGINT CHECK ((price = 0) = (charge_seq IS NULL)),
  token_id TEXT,
  wish TEXT NOT NULL,
  calculation TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX orders_of_customer ON orders (customer_id, id);

-- The first answer to a request that carried an Idempotency-Key, word for word.
CREATE TABLE answers (
  customer_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request BYTEA NOT NULL,
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (customer_id, key)
);
CREATE INDEX answers_by_age ON answers (created_at);

-- Money that has moved stays moved: the database itself refuses to change or forget it.
-- @sqlite
CREATE TRIGGER postings_stay BEFORE UPDATE ON postings
BEGIN
  SELECT RAISE(ABORT, 'postings are never changed');
END;
CREATE TRIGGER postings_remain BEFORE DELETE ON postings
BEGIN
  SELECT RAISE(ABORT, 'postings are never deleted');
END;
CREATE TRIGGER checkpoints_stay BEFORE UPDATE ON checkpoints
BEGIN
  SELECT RAISE(ABORT, 'checkpoints are never changed');
END;
CREATE TRIGGER checkpoints_remain BEFORE DELETE ON checkpoints
BEGIN
  SELECT RAISE(ABORT, 'checkpoints are never deleted');
END;
-- @postgres
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '23000';
END
$$;
CREATE TRIGGER postings_stay BEFORE UPDATE OR DELETE ON postings FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER postings_remain BEFORE TRUNCATE ON postings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_stay BEFORE UPDATE OR DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoints_remain BEFORE TRUNCATE ON checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
