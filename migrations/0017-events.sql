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

-- Addresses that nobody is served from until the operator says otherwise: their rest does not end, and their blocks give out none.
ALTER TABLE stock ADD COLUMN quarantined BIGINT NOT NULL DEFAULT 0 CHECK (quarantined IN (0, 1));
ALTER TABLE stock_prefixes ADD COLUMN quarantined BIGINT NOT NULL DEFAULT 0 CHECK (quarantined IN (0, 1));

-- Since when a proxy cannot be used, while it cannot, and why. Its term stands still meanwhile.
ALTER TABLE proxies ADD COLUMN interrupted_at BIGINT;
ALTER TABLE proxies ADD COLUMN interrupted_by TEXT
  CHECK ((interrupted_by IS NULL) = (interrupted_at IS NULL) AND interrupted_by IN ('outage', 'quarantine'));
CREATE INDEX proxies_interrupted ON proxies (id) WHERE interrupted_at IS NOT NULL;

-- Each time in which a proxy could not be used, and what its customer got for it, once: time that was added to its term, or money. One is open
-- at most, none overlap, and one that is over is never changed.
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
CREATE UNIQUE INDEX proxy_outages_one_at_a_time ON proxy_outages (proxy_id) WHERE until_at IS NULL;

-- @sqlite
CREATE TRIGGER proxy_outages_never_overlap BEFORE INSERT ON proxy_outages
WHEN EXISTS (SELECT 1 FROM proxy_outages
  WHERE proxy_id = NEW.proxy_id AND (until_at IS NULL OR until_at > NEW.from_at))
BEGIN
  SELECT RAISE(ABORT, 'an outage is counted once');
END;
CREATE TRIGGER proxy_outages_keep_their_past BEFORE UPDATE ON proxy_outages
WHEN OLD.until_at IS NOT NULL OR NEW.proxy_id <> OLD.proxy_id OR NEW.from_at <> OLD.from_at
BEGIN
  SELECT RAISE(ABORT, 'an outage that is over is never changed');
END;
CREATE TRIGGER proxy_outages_remain BEFORE DELETE ON proxy_outages
BEGIN
  SELECT RAISE(ABORT, 'outages are never deleted');
END;
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
CREATE TRIGGER proxy_outages_never_overlap BEFORE INSERT ON proxy_outages FOR EACH ROW EXECUTE FUNCTION refuse_second_outage();
CREATE TRIGGER proxy_outages_keep_their_past BEFORE UPDATE ON proxy_outages FOR EACH ROW
WHEN (OLD.until_at IS NOT NULL OR NEW.proxy_id <> OLD.proxy_id OR NEW.from_at <> OLD.from_at)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER proxy_outages_remain BEFORE DELETE ON proxy_outages FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both
