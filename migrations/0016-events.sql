-- What happened to a customer's things, told to him in order. A row of the transaction that caused it, and never changed; after 30 days it is
-- forgotten. `subject` is the thing itself: a proxy's number, a subscription's uuid.
CREATE TABLE events (
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL CHECK (seq > 0),
  type TEXT NOT NULL,
  at BIGINT NOT NULL,
  order_id TEXT,
  subject TEXT,
  data TEXT NOT NULL,
  PRIMARY KEY (customer_id, seq)
);
CREATE INDEX events_by_age ON events (at);

-- The number of a customer's last event, and its time, before which no later one is dated. Whoever writes one holds this row until his commit, so that numbers become visible in their order and a
-- reader who goes on from the last one misses nothing.
CREATE TABLE event_numbers (
  customer_id TEXT PRIMARY KEY,
  last BIGINT NOT NULL CHECK (last > 0),
  last_at BIGINT NOT NULL
);
-- @sqlite
CREATE TRIGGER events_stay BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ABORT, 'events are never changed');
END;
-- @postgres
CREATE TRIGGER events_stay BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- Who swapped a proxy's address last: its customer, who may do so once a day, or the operator, which does not count against that. Null
-- for what was swapped before this was kept.
ALTER TABLE proxies ADD COLUMN replaced_by TEXT CHECK (replaced_by IN ('customer', 'operator', 'outage'));

-- A charge is given back in parts, as things that it paid for end one by one, and never more than it was.
DROP INDEX postings_refunded_once;
CREATE INDEX postings_refunds ON postings (customer_id, refund_of) WHERE refund_of IS NOT NULL;
-- @sqlite
CREATE TRIGGER postings_refunded_within BEFORE INSERT ON postings
WHEN NEW.kind = 'refund' AND NEW.amount + (SELECT COALESCE(SUM(amount), 0) FROM postings
    WHERE customer_id = NEW.customer_id AND refund_of = NEW.refund_of) >
  -COALESCE((SELECT amount FROM postings WHERE customer_id = NEW.customer_id AND seq = NEW.refund_of AND kind = 'charge'), 0)
BEGIN
  SELECT RAISE(ABORT, 'a charge is refunded no more than it was');
END;
-- @postgres
CREATE FUNCTION refuse_excess() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NEW.amount + (SELECT COALESCE(SUM(amount), 0) FROM postings
      WHERE customer_id = NEW.customer_id AND refund_of = NEW.refund_of) >
    -COALESCE((SELECT amount FROM postings WHERE customer_id = NEW.customer_id AND seq = NEW.refund_of AND kind = 'charge'), 0) THEN
    RAISE EXCEPTION 'a charge is refunded no more than it was' USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER postings_refunded_within BEFORE INSERT ON postings FOR EACH ROW WHEN (NEW.kind = 'refund')
EXECUTE FUNCTION refuse_excess();
-- @both

-- When the operator ended a proxy before its time; null for one that runs, or ran, to its end.
ALTER TABLE proxies ADD COLUMN ended_at BIGINT CHECK (ended_at IS NULL OR state = 'gone');

-- What an operator's command under a key has done: the same key does it once. The answer is what he was told; it holds no secret.
CREATE TABLE operator_answers (
  key TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  at BIGINT NOT NULL
);
