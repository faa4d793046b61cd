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
