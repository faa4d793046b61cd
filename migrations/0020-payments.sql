-- Customers pay by themselves. Money that a provider has taken back is taken off the balance, below zero if need be: that is a debt. Nothing is
-- bought on one, and an operator's own debit never makes one. SQLite changes a check only by writing the table anew; its rows stay as they are.
-- @sqlite
ALTER TABLE accounts RENAME TO accounts_before;
CREATE TABLE accounts (
  customer_id TEXT PRIMARY KEY REFERENCES customers (id),
  balance BIGINT NOT NULL CHECK (balance BETWEEN -1000000000000000 AND 1000000000000000),
  api_spent BIGINT NOT NULL CHECK (api_spent >= 0),
  seq BIGINT NOT NULL CHECK (seq >= 0),
  head BYTEA NOT NULL,
  last_at BIGINT NOT NULL
);
INSERT INTO accounts SELECT customer_id, balance, api_spent, seq, head, last_at FROM accounts_before;
DROP TABLE accounts_before;
DROP TRIGGER postings_stay;
DROP TRIGGER postings_remain;
DROP TRIGGER postings_refunded_within;
DROP INDEX postings_refunds;
DROP INDEX postings_by_key;
ALTER TABLE postings RENAME TO postings_before;
CREATE TABLE postings (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL CHECK (kind IN ('credit', 'charge', 'refund', 'debit')),
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
INSERT INTO postings SELECT customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash, key, reference
  FROM postings_before;
DROP TABLE postings_before;
CREATE INDEX postings_refunds ON postings (customer_id, refund_of) WHERE refund_of IS NOT NULL;
CREATE UNIQUE INDEX postings_by_key ON postings (key) WHERE key IS NOT NULL;
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
-- @postgres
ALTER TABLE accounts DROP CONSTRAINT accounts_balance_check;
ALTER TABLE accounts ADD CONSTRAINT accounts_balance_check CHECK (balance BETWEEN -1000000000000000 AND 1000000000000000);
ALTER TABLE postings DROP CONSTRAINT postings_balance_after_check;
ALTER TABLE postings ADD CONSTRAINT postings_balance_after_check
  CHECK (balance_after >= 0 OR amount > 0 OR (kind = 'debit' AND house <> 'funds:operator'));
-- @both

-- What a payment has moved is found by the payment.
CREATE INDEX postings_by_reference ON postings (reference) WHERE reference IS NOT NULL;

-- Through whom customers pay. The secret is sealed; the settings are plain.
CREATE TABLE payment_providers (
  name TEXT PRIMARY KEY,
  settings TEXT NOT NULL,
  secret BYTEA,
  enabled BIGINT NOT NULL CHECK (enabled IN (0, 1)),
  changed_at BIGINT NOT NULL
);

-- One top-up: `amount` goes to the balance, `fee` is what the payer pays on top. `request` is a digest of what was asked for under the key. `credited`
-- is nothing or the amount, `debited` what the provider has taken back of it since. `ask_at` is when the provider is asked again.
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
  ask_at BIGINT
);
CREATE UNIQUE INDEX payments_by_key ON payments (customer_id, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX payments_by_provider_id ON payments (provider, provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX payments_of_customer ON payments (customer_id, id);
CREATE INDEX payments_to_ask ON payments (ask_at) WHERE ask_at IS NOT NULL;

-- Everything that has become of a payment, one row for each step; `state` is the one after it. A step that moved money names its posting.
-- A payment is credited once, and each amount that the provider took back is debited once: `total` is all that it has taken back by then.
CREATE TABLE payment_changes (
  payment_id TEXT NOT NULL,
  number BIGINT NOT NULL CHECK (number > 0),
  kind TEXT NOT NULL CHECK (kind IN
    ('opened', 'sent', 'credited', 'expired', 'cancelled', 'refund_asked', 'debited', 'bonus', 'bonus_back', 'share', 'share_back')),
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

-- What a provider has said and no payment explains. It stays until the operator has dealt with it, and after that too.
CREATE TABLE payment_notices (
  id TEXT PRIMARY KEY,
  provider TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('unknown', 'not_at_provider', 'amount', 'currency', 'test', 'twice', 'excess')),
  payment_id TEXT,
  amount BIGINT,
  currency TEXT,
  at BIGINT NOT NULL,
  resolved_at BIGINT,
  resolution TEXT CHECK ((resolution IS NULL) = (resolved_at IS NULL))
);
CREATE UNIQUE INDEX payment_notices_once ON payment_notices (provider, provider_id, reason);

-- @sqlite
CREATE TRIGGER payment_changes_stay BEFORE UPDATE ON payment_changes
BEGIN
  SELECT RAISE(ABORT, 'what has become of a payment is never changed');
END;
CREATE TRIGGER payment_changes_remain BEFORE DELETE ON payment_changes
BEGIN
  SELECT RAISE(ABORT, 'what has become of a payment is never deleted');
END;
CREATE TRIGGER payments_remain BEFORE DELETE ON payments
BEGIN
  SELECT RAISE(ABORT, 'payments are never deleted');
END;
CREATE TRIGGER payment_notices_remain BEFORE DELETE ON payment_notices
BEGIN
  SELECT RAISE(ABORT, 'what no payment explains is never deleted');
END;
-- @postgres
CREATE TRIGGER payment_changes_stay BEFORE UPDATE OR DELETE ON payment_changes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payment_changes_remain BEFORE TRUNCATE ON payment_changes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payments_remain BEFORE DELETE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payment_notices_remain BEFORE DELETE ON payment_notices FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- None of these can be computed from other rows: they have a history.
-- @sqlite
CREATE VIEW row_contents_payments AS
  SELECT 'payments' AS of_table, CAST(id AS TEXT) AS row_key, 1 AS kept,
    QUOTE(customer_id) || ',' || QUOTE(token_id) || ',' || QUOTE(key) || ',' || QUOTE(request) || ',' ||
    QUOTE(provider) || ',' || QUOTE(method) || ',' || QUOTE(amount) || ',' || QUOTE(fee) || ',' ||
    QUOTE(return_url) || ',' || QUOTE(state) || ',' || QUOTE(provider_id) || ',' || QUOTE(pay_url) || ',' ||
    QUOTE(qr) || ',' || QUOTE(credited) || ',' || QUOTE(debited) || ',' || QUOTE(changes) || ',' ||
    QUOTE(created_at) || ',' || QUOTE(expires_at) AS content
  FROM payments
  UNION ALL SELECT 'payment_changes' AS of_table, CAST(payment_id AS TEXT) || ' ' || CAST(number AS TEXT) AS row_key, 1 AS kept,
    QUOTE(kind) || ',' || QUOTE(state) || ',' || QUOTE(amount) || ',' || QUOTE(total) || ',' ||
    QUOTE(posting) || ',' || QUOTE(at) || ',' || QUOTE(note) AS content
  FROM payment_changes
  UNION ALL SELECT 'payment_notices' AS of_table, CAST(id AS TEXT) AS row_key, 1 AS kept,
    QUOTE(provider) || ',' || QUOTE(provider_id) || ',' || QUOTE(reason) || ',' || QUOTE(payment_id) || ',' ||
    QUOTE(amount) || ',' || QUOTE(currency) || ',' || QUOTE(at) || ',' || QUOTE(resolved_at) || ',' ||
    QUOTE(resolution) AS content
  FROM payment_notices
  UNION ALL SELECT 'payment_providers' AS of_table, CAST(name AS TEXT) AS row_key, 1 AS kept,
    QUOTE(settings) || ',' || CASE WHEN secret IS NULL THEN 'NULL' ELSE 'sealed' END || ',' ||
    QUOTE(enabled) || ',' || QUOTE(changed_at) AS content
  FROM payment_providers;
CREATE TRIGGER payments_at_first AFTER INSERT ON payments
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payments', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payments' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.token_id) || ',' || QUOTE(NEW.key) || ',' ||
    QUOTE(NEW.request) || ',' || QUOTE(NEW.provider) || ',' || QUOTE(NEW.method) || ',' ||
    QUOTE(NEW.amount) || ',' || QUOTE(NEW.fee) || ',' || QUOTE(NEW.return_url) || ',' ||
    QUOTE(NEW.state) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.pay_url) || ',' ||
    QUOTE(NEW.qr) || ',' || QUOTE(NEW.credited) || ',' || QUOTE(NEW.debited) || ',' ||
    QUOTE(NEW.changes) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at));
END;
CREATE TRIGGER payments_since AFTER UPDATE OF customer_id, token_id, key, request, provider, method, amount, fee, return_url, state, provider_id, pay_url, qr, credited, debited, changes, created_at, expires_at ON payments
WHEN OLD.customer_id IS NOT NEW.customer_id OR OLD.token_id IS NOT NEW.token_id OR OLD.key IS NOT NEW.key OR
  OLD.request IS NOT NEW.request OR OLD.provider IS NOT NEW.provider OR OLD.method IS NOT NEW.method OR
  OLD.amount IS NOT NEW.amount OR OLD.fee IS NOT NEW.fee OR OLD.return_url IS NOT NEW.return_url OR
  OLD.state IS NOT NEW.state OR OLD.provider_id IS NOT NEW.provider_id OR OLD.pay_url IS NOT NEW.pay_url OR
  OLD.qr IS NOT NEW.qr OR OLD.credited IS NOT NEW.credited OR OLD.debited IS NOT NEW.debited OR
  OLD.changes IS NOT NEW.changes OR OLD.created_at IS NOT NEW.created_at OR OLD.expires_at IS NOT NEW.expires_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payments', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payments' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.token_id) || ',' || QUOTE(NEW.key) || ',' ||
    QUOTE(NEW.request) || ',' || QUOTE(NEW.provider) || ',' || QUOTE(NEW.method) || ',' ||
    QUOTE(NEW.amount) || ',' || QUOTE(NEW.fee) || ',' || QUOTE(NEW.return_url) || ',' ||
    QUOTE(NEW.state) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.pay_url) || ',' ||
    QUOTE(NEW.qr) || ',' || QUOTE(NEW.credited) || ',' || QUOTE(NEW.debited) || ',' ||
    QUOTE(NEW.changes) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at));
END;
CREATE TRIGGER payment_changes_at_first AFTER INSERT ON payment_changes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_changes', CAST(NEW.payment_id AS TEXT) || ' ' || CAST(NEW.number AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_changes' AND row_key = CAST(NEW.payment_id AS TEXT) || ' ' || CAST(NEW.number AS TEXT)), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.total) || ',' ||
    QUOTE(NEW.posting) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.note));
END;
CREATE TRIGGER payment_notices_at_first AFTER INSERT ON payment_notices
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_notices', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_notices' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    QUOTE(NEW.provider) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.reason) || ',' ||
    QUOTE(NEW.payment_id) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.currency) || ',' ||
    QUOTE(NEW.at) || ',' || QUOTE(NEW.resolved_at) || ',' || QUOTE(NEW.resolution));
END;
CREATE TRIGGER payment_notices_since AFTER UPDATE OF provider, provider_id, reason, payment_id, amount, currency, at, resolved_at, resolution ON payment_notices
WHEN OLD.provider IS NOT NEW.provider OR OLD.provider_id IS NOT NEW.provider_id OR OLD.reason IS NOT NEW.reason OR
  OLD.payment_id IS NOT NEW.payment_id OR OLD.amount IS NOT NEW.amount OR OLD.currency IS NOT NEW.currency OR
  OLD.at IS NOT NEW.at OR OLD.resolved_at IS NOT NEW.resolved_at OR OLD.resolution IS NOT NEW.resolution
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_notices', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_notices' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    QUOTE(NEW.provider) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.reason) || ',' ||
    QUOTE(NEW.payment_id) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.currency) || ',' ||
    QUOTE(NEW.at) || ',' || QUOTE(NEW.resolved_at) || ',' || QUOTE(NEW.resolution));
END;
CREATE TRIGGER payment_providers_at_first AFTER INSERT ON payment_providers
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_providers', CAST(NEW.name AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_providers' AND row_key = CAST(NEW.name AS TEXT)), 0) + 1,
    QUOTE(NEW.settings) || ',' || CASE WHEN NEW.secret IS NULL THEN 'NULL' ELSE 'sealed' END || ',' ||
    QUOTE(NEW.enabled) || ',' || QUOTE(NEW.changed_at));
END;
CREATE TRIGGER payment_providers_since AFTER UPDATE OF settings, secret, enabled, changed_at ON payment_providers
WHEN OLD.settings IS NOT NEW.settings OR OLD.secret IS NOT NEW.secret OR OLD.enabled IS NOT NEW.enabled OR
  OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_providers', CAST(NEW.name AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_providers' AND row_key = CAST(NEW.name AS TEXT)), 0) + 1,
    QUOTE(NEW.settings) || ',' || CASE WHEN NEW.secret IS NULL THEN 'NULL' ELSE 'sealed' END || ',' ||
    QUOTE(NEW.enabled) || ',' || QUOTE(NEW.changed_at));
END;
-- @postgres
CREATE VIEW row_contents_payments AS
  SELECT 'payments' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{customer_id,token_id,key,request,provider,method,amount,fee,return_url,state,provider_id,
      pay_url,qr,credited,debited,changes,created_at,expires_at}') AS content
  FROM payments AS each
  UNION ALL SELECT 'payment_changes' AS of_table, CAST(payment_id AS text) || ' ' || CAST(number AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,state,amount,total,posting,at,note}') AS content
  FROM payment_changes AS each
  UNION ALL SELECT 'payment_notices' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{provider,provider_id,reason,payment_id,amount,currency,at,resolved_at,resolution}') AS content
  FROM payment_notices AS each
  UNION ALL SELECT 'payment_providers' AS of_table, CAST(name AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{settings,"?secret",enabled,changed_at}') AS content
  FROM payment_providers AS each;
CREATE TRIGGER payments_kept AFTER INSERT OR UPDATE OF customer_id, token_id, key, request, provider, method, amount, fee, return_url, state, provider_id, pay_url,
  qr, credited, debited, changes, created_at, expires_at ON payments
FOR EACH ROW EXECUTE FUNCTION note_row ('payments', 'kept', '{id}', '{customer_id,token_id,key,request,provider,method,amount,fee,return_url,state,provider_id,
      pay_url,qr,credited,debited,changes,created_at,expires_at}', '', '{}');
CREATE TRIGGER payment_changes_kept AFTER INSERT ON payment_changes
FOR EACH ROW EXECUTE FUNCTION note_row ('payment_changes', 'kept', '{payment_id,number}', '{kind,state,amount,total,posting,at,note}', '', '{}');
CREATE TRIGGER payment_notices_kept AFTER INSERT OR UPDATE OF provider, provider_id, reason, payment_id, amount, currency, at, resolved_at, resolution ON payment_notices
FOR EACH ROW EXECUTE FUNCTION note_row ('payment_notices', 'kept', '{id}', '{provider,provider_id,reason,payment_id,amount,currency,at,resolved_at,resolution}', '', '{}');
CREATE TRIGGER payment_providers_kept AFTER INSERT OR UPDATE OF settings, secret, enabled, changed_at ON payment_providers
FOR EACH ROW EXECUTE FUNCTION note_row ('payment_providers', 'kept', '{name}', '{settings,"?secret",enabled,changed_at}', '', '{}');
-- @both
