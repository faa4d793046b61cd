-- Codes that add to a top-up, customers who bring customers, and purchases that wait for their payment.

-- What a code adds to a top-up of at least so much: kopecks, or hundredths of a percent of it. Each customer uses it once, and all of them
-- together `uses` times.
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

-- Who brought a customer, once and for good; always somebody who was there before, so that nobody brings himself round a corner.
CREATE TABLE referrals (
  customer_id TEXT PRIMARY KEY,
  referrer_id TEXT NOT NULL CHECK (referrer_id < customer_id),
  at BIGINT NOT NULL
);

-- How much of a customer's first so many top-ups whoever brought him gets, in hundredths of a percent. Without a row, nothing.
CREATE TABLE referral_terms (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  hundredths BIGINT NOT NULL CHECK (hundredths BETWEEN 0 AND 10000),
  top_ups BIGINT NOT NULL CHECK (top_ups > 0),
  changed_at BIGINT NOT NULL
);

ALTER TABLE payments ADD COLUMN code TEXT;
ALTER TABLE payments ADD COLUMN bonus BIGINT NOT NULL DEFAULT 0 CHECK (bonus >= 0 AND (bonus > 0) = (code IS NOT NULL));
CREATE INDEX payments_by_code ON payments (code) WHERE code IS NOT NULL;

-- What is bought as soon as the payment is made: at this price, by this price list.
ALTER TABLE payments ADD COLUMN purchase_product TEXT;
ALTER TABLE payments ADD COLUMN purchase_wish TEXT CHECK ((purchase_wish IS NULL) = (purchase_product IS NULL));
ALTER TABLE payments ADD COLUMN purchase_price BIGINT CHECK ((purchase_price IS NULL) = (purchase_product IS NULL) AND purchase_price >= 0);
ALTER TABLE payments ADD COLUMN purchase_catalogue BIGINT CHECK ((purchase_catalogue IS NULL) = (purchase_product IS NULL));
ALTER TABLE payments ADD COLUMN purchase_state TEXT CHECK ((purchase_state IS NULL) = (purchase_product IS NULL) AND
  purchase_state IN ('waiting', 'bought', 'refused', 'lapsed'));
ALTER TABLE payments ADD COLUMN purchase_order TEXT CHECK (purchase_order IS NULL OR purchase_state = 'bought');
ALTER TABLE payments ADD COLUMN purchase_problem TEXT CHECK (purchase_problem IS NULL OR purchase_state = 'refused');
CREATE INDEX payments_to_buy ON payments (id) WHERE purchase_state = 'waiting';

-- @sqlite
CREATE VIEW row_contents_codes AS
  SELECT 'payments, code' AS of_table, CAST(id AS TEXT) AS row_key, 1 AS kept,
    NULLIF(QUOTE(code) || ',' || QUOTE(bonus), 'NULL,0') AS content
  FROM payments
  UNION ALL SELECT 'payments, purchase' AS of_table, CAST(id AS TEXT) AS row_key, 1 AS kept,
    NULLIF(QUOTE(purchase_product) || ',' || QUOTE(purchase_wish) || ',' || QUOTE(purchase_price) || ',' ||
    QUOTE(purchase_catalogue) || ',' || QUOTE(purchase_state) || ',' || QUOTE(purchase_order) || ',' ||
    QUOTE(purchase_problem), 'NULL,NULL,NULL,NULL,NULL,NULL,NULL') AS content
  FROM payments
  UNION ALL SELECT 'payment_codes' AS of_table, CAST(code AS TEXT) AS row_key, 1 AS kept,
    QUOTE(kind) || ',' || QUOTE(value) || ',' || QUOTE(least) || ',' || QUOTE(uses) || ',' ||
    QUOTE(until_at) || ',' || QUOTE(created_at) || ',' || QUOTE(ended_at) || ',' || QUOTE(note) AS content
  FROM payment_codes
  UNION ALL SELECT 'referrals' AS of_table, CAST(customer_id AS TEXT) AS row_key, 1 AS kept,
    QUOTE(referrer_id) || ',' || QUOTE(at) AS content
  FROM referrals
  UNION ALL SELECT 'referral_terms' AS of_table, CAST(one AS TEXT) AS row_key, 1 AS kept,
    QUOTE(hundredths) || ',' || QUOTE(top_ups) || ',' || QUOTE(changed_at) AS content
  FROM referral_terms;
CREATE TRIGGER payments_code_at_first AFTER INSERT ON payments
WHEN NEW.code IS NOT NULL OR NEW.bonus IS NOT 0
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payments, code', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payments, code' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    NULLIF(QUOTE(NEW.code) || ',' || QUOTE(NEW.bonus), 'NULL,0'));
END;
CREATE TRIGGER payments_code_since AFTER UPDATE OF code, bonus ON payments
WHEN OLD.code IS NOT NEW.code OR OLD.bonus IS NOT NEW.bonus
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payments, code', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payments, code' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    NULLIF(QUOTE(NEW.code) || ',' || QUOTE(NEW.bonus), 'NULL,0'));
END;
CREATE TRIGGER payments_purchase_at_first AFTER INSERT ON payments
WHEN NEW.purchase_product IS NOT NULL OR NEW.purchase_wish IS NOT NULL OR NEW.purchase_price IS NOT NULL OR
  NEW.purchase_catalogue IS NOT NULL OR NEW.purchase_state IS NOT NULL OR NEW.purchase_order IS NOT NULL OR
  NEW.purchase_problem IS NOT NULL
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payments, purchase', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payments, purchase' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    NULLIF(QUOTE(NEW.purchase_product) || ',' || QUOTE(NEW.purchase_wish) || ',' || QUOTE(NEW.purchase_price) || ',' ||
    QUOTE(NEW.purchase_catalogue) || ',' || QUOTE(NEW.purchase_state) || ',' ||
    QUOTE(NEW.purchase_order) || ',' || QUOTE(NEW.purchase_problem), 'NULL,NULL,NULL,NULL,NULL,NULL,NULL'));
END;
CREATE TRIGGER payments_purchase_since AFTER UPDATE OF purchase_product, purchase_wish, purchase_price, purchase_catalogue, purchase_state, purchase_order, purchase_problem ON payments
WHEN OLD.purchase_product IS NOT NEW.purchase_product OR OLD.purchase_wish IS NOT NEW.purchase_wish OR
  OLD.purchase_price IS NOT NEW.purchase_price OR OLD.purchase_catalogue IS NOT NEW.purchase_catalogue OR
  OLD.purchase_state IS NOT NEW.purchase_state OR OLD.purchase_order IS NOT NEW.purchase_order OR
  OLD.purchase_problem IS NOT NEW.purchase_problem
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payments, purchase', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payments, purchase' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1,
    NULLIF(QUOTE(NEW.purchase_product) || ',' || QUOTE(NEW.purchase_wish) || ',' || QUOTE(NEW.purchase_price) || ',' ||
    QUOTE(NEW.purchase_catalogue) || ',' || QUOTE(NEW.purchase_state) || ',' ||
    QUOTE(NEW.purchase_order) || ',' || QUOTE(NEW.purchase_problem), 'NULL,NULL,NULL,NULL,NULL,NULL,NULL'));
END;
CREATE TRIGGER payment_codes_at_first AFTER INSERT ON payment_codes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_codes', CAST(NEW.code AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_codes' AND row_key = CAST(NEW.code AS TEXT)), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.value) || ',' || QUOTE(NEW.least) || ',' || QUOTE(NEW.uses) || ',' ||
    QUOTE(NEW.until_at) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.ended_at) || ',' || QUOTE(NEW.note));
END;
CREATE TRIGGER payment_codes_since AFTER UPDATE OF kind, value, least, uses, until_at, created_at, ended_at, note ON payment_codes
WHEN OLD.kind IS NOT NEW.kind OR OLD.value IS NOT NEW.value OR OLD.least IS NOT NEW.least OR
  OLD.uses IS NOT NEW.uses OR OLD.until_at IS NOT NEW.until_at OR OLD.created_at IS NOT NEW.created_at OR
  OLD.ended_at IS NOT NEW.ended_at OR OLD.note IS NOT NEW.note
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('payment_codes', CAST(NEW.code AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'payment_codes' AND row_key = CAST(NEW.code AS TEXT)), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.value) || ',' || QUOTE(NEW.least) || ',' || QUOTE(NEW.uses) || ',' ||
    QUOTE(NEW.until_at) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.ended_at) || ',' || QUOTE(NEW.note));
END;
CREATE TRIGGER referrals_at_first AFTER INSERT ON referrals
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referrals', CAST(NEW.customer_id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referrals' AND row_key = CAST(NEW.customer_id AS TEXT)), 0) + 1,
    QUOTE(NEW.referrer_id) || ',' || QUOTE(NEW.at));
END;
CREATE TRIGGER referrals_since AFTER UPDATE OF referrer_id, at ON referrals
WHEN OLD.referrer_id IS NOT NEW.referrer_id OR OLD.at IS NOT NEW.at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referrals', CAST(NEW.customer_id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referrals' AND row_key = CAST(NEW.customer_id AS TEXT)), 0) + 1,
    QUOTE(NEW.referrer_id) || ',' || QUOTE(NEW.at));
END;
CREATE TRIGGER referral_terms_at_first AFTER INSERT ON referral_terms
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referral_terms', CAST(NEW.one AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referral_terms' AND row_key = CAST(NEW.one AS TEXT)), 0) + 1,
    QUOTE(NEW.hundredths) || ',' || QUOTE(NEW.top_ups) || ',' || QUOTE(NEW.changed_at));
END;
CREATE TRIGGER referral_terms_since AFTER UPDATE OF hundredths, top_ups, changed_at ON referral_terms
WHEN OLD.hundredths IS NOT NEW.hundredths OR OLD.top_ups IS NOT NEW.top_ups OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referral_terms', CAST(NEW.one AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referral_terms' AND row_key = CAST(NEW.one AS TEXT)), 0) + 1,
    QUOTE(NEW.hundredths) || ',' || QUOTE(NEW.top_ups) || ',' || QUOTE(NEW.changed_at));
END;
-- @postgres
CREATE VIEW row_contents_codes AS
  SELECT 'payments, code' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{code,bonus}'), 'NULL,''0''') AS content
  FROM payments AS each
  UNION ALL SELECT 'payments, purchase' AS of_table, CAST(id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    NULLIF(row_content(to_jsonb(each), '{purchase_product,purchase_wish,purchase_price,purchase_catalogue,purchase_state,purchase_order,
      purchase_problem}'), 'NULL,NULL,NULL,NULL,NULL,NULL,NULL') AS content
  FROM payments AS each
  UNION ALL SELECT 'payment_codes' AS of_table, CAST(code AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,value,least,uses,until_at,created_at,ended_at,note}') AS content
  FROM payment_codes AS each
  UNION ALL SELECT 'referrals' AS of_table, CAST(customer_id AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{referrer_id,at}') AS content
  FROM referrals AS each
  UNION ALL SELECT 'referral_terms' AS of_table, CAST(one AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{hundredths,top_ups,changed_at}') AS content
  FROM referral_terms AS each;
CREATE TRIGGER payments_code_at_first AFTER INSERT ON payments FOR EACH ROW
WHEN (NEW.code IS DISTINCT FROM NULL OR NEW.bonus IS DISTINCT FROM 0)
EXECUTE FUNCTION note_row ('payments, code', 'kept', '{id}', '{code,bonus}', 'NULL,''0''', '{}');
CREATE TRIGGER payments_code_since AFTER UPDATE OF code, bonus ON payments FOR EACH ROW
WHEN (OLD.code IS DISTINCT FROM NEW.code OR OLD.bonus IS DISTINCT FROM NEW.bonus)
EXECUTE FUNCTION note_row ('payments, code', 'kept', '{id}', '{code,bonus}', 'NULL,''0''', '{}');
CREATE TRIGGER payments_purchase_at_first AFTER INSERT ON payments FOR EACH ROW
WHEN (NEW.purchase_product IS DISTINCT FROM NULL OR NEW.purchase_wish IS DISTINCT FROM NULL OR NEW.purchase_price IS DISTINCT FROM NULL OR NEW.purchase_catalogue IS DISTINCT FROM NULL OR NEW.purchase_state IS DISTINCT FROM NULL OR NEW.purchase_order IS DISTINCT FROM NULL OR NEW.purchase_problem IS DISTINCT FROM NULL)
EXECUTE FUNCTION note_row ('payments, purchase', 'kept', '{id}', '{purchase_product,purchase_wish,purchase_price,purchase_catalogue,purchase_state,purchase_order,
      purchase_problem}', 'NULL,NULL,NULL,NULL,NULL,NULL,NULL', '{}');
CREATE TRIGGER payments_purchase_since AFTER UPDATE OF purchase_product, purchase_wish, purchase_price, purchase_catalogue, purchase_state, purchase_order, purchase_problem ON payments FOR EACH ROW
WHEN (OLD.purchase_product IS DISTINCT FROM NEW.purchase_product OR OLD.purchase_wish IS DISTINCT FROM NEW.purchase_wish OR OLD.purchase_price IS DISTINCT FROM NEW.purchase_price OR OLD.purchase_catalogue IS DISTINCT FROM NEW.purchase_catalogue OR OLD.purchase_state IS DISTINCT FROM NEW.purchase_state OR OLD.purchase_order IS DISTINCT FROM NEW.purchase_order OR OLD.purchase_problem IS DISTINCT FROM NEW.purchase_problem)
EXECUTE FUNCTION note_row ('payments, purchase', 'kept', '{id}', '{purchase_product,purchase_wish,purchase_price,purchase_catalogue,purchase_state,purchase_order,
      purchase_problem}', 'NULL,NULL,NULL,NULL,NULL,NULL,NULL', '{}');
CREATE TRIGGER payment_codes_kept AFTER INSERT OR UPDATE OF kind, value, least, uses, until_at, created_at, ended_at, note ON payment_codes
FOR EACH ROW EXECUTE FUNCTION note_row ('payment_codes', 'kept', '{code}', '{kind,value,least,uses,until_at,created_at,ended_at,note}', '', '{}');
CREATE TRIGGER referrals_kept AFTER INSERT OR UPDATE OF referrer_id, at ON referrals
FOR EACH ROW EXECUTE FUNCTION note_row ('referrals', 'kept', '{customer_id}', '{referrer_id,at}', '', '{}');
CREATE TRIGGER referral_terms_kept AFTER INSERT OR UPDATE OF hundredths, top_ups, changed_at ON referral_terms
FOR EACH ROW EXECUTE FUNCTION note_row ('referral_terms', 'kept', '{one}', '{hundredths,top_ups,changed_at}', '', '{}');
-- @both
