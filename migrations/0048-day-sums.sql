-- Sums of ended days, so that reports do not read all postings and orders. A day is noted after its end and summed some
-- minutes later: `summed_at` is NULL until then. A row that is dated into such a day makes it NULL again, and the sums of
-- such a day are not read.
CREATE TABLE summed_days (
  source TEXT NOT NULL CHECK (source IN ('postings', 'orders')),
  day BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  summed_at BIGINT,
  PRIMARY KEY (source, day)
);
-- `by_hand` are movements of operators, which belong to no payment.
CREATE TABLE posting_sums (
  day BIGINT NOT NULL,
  house TEXT NOT NULL,
  kind TEXT NOT NULL,
  by_hand BIGINT NOT NULL CHECK (by_hand IN (0, 1)),
  postings BIGINT NOT NULL CHECK (postings > 0),
  amount BIGINT NOT NULL,
  PRIMARY KEY (day, house, kind, by_hand)
);
CREATE TABLE order_sums (
  day BIGINT NOT NULL,
  product TEXT NOT NULL,
  orders BIGINT NOT NULL CHECK (orders > 0),
  price BIGINT NOT NULL CHECK (price >= 0),
  PRIMARY KEY (day, product)
);

-- One day is read without the others.
CREATE INDEX postings_by_time ON postings (at);

-- @sqlite
CREATE TRIGGER postings_reopen_day AFTER INSERT ON postings
WHEN EXISTS (SELECT 1 FROM summed_days WHERE source = 'postings' AND day = NEW.at / 86400000)
BEGIN UPDATE summed_days SET summed_at = NULL WHERE source = 'postings' AND day = NEW.at / 86400000; END;
CREATE TRIGGER orders_reopen_day AFTER INSERT ON orders
WHEN EXISTS (SELECT 1 FROM summed_days WHERE source = 'orders' AND day = NEW.created_at / 86400000)
BEGIN UPDATE summed_days SET summed_at = NULL WHERE source = 'orders' AND day = NEW.created_at / 86400000; END;
-- @postgres
CREATE FUNCTION reopen_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_ARGV[0] = 'postings' THEN
    UPDATE summed_days SET summed_at = NULL WHERE source = 'postings' AND day = NEW.at / 86400000;
  ELSE
    UPDATE summed_days SET summed_at = NULL WHERE source = 'orders' AND day = NEW.created_at / 86400000;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER postings_reopen_day AFTER INSERT ON postings FOR EACH ROW EXECUTE FUNCTION reopen_day('postings');
CREATE TRIGGER orders_reopen_day AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION reopen_day('orders');
-- @both
