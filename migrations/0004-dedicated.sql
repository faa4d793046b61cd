-- What dedicated proxies are made of: addresses, who holds them, and the proxies themselves.

-- One place that can be sold: an address of one's own, or one of the three slots of a shared one. Places are numbered in
-- the order in which they are sold, and an import shuffles its addresses, so that neighbours are not sold together.
CREATE TABLE stock (
  id BIGINT PRIMARY KEY,
  address TEXT NOT NULL,
  slot BIGINT NOT NULL CHECK (slot BETWEEN 0 AND 2 AND (ipv = 3 OR slot = 0)),
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL CHECK (ipv IN (3, 4, 6)),
  state TEXT NOT NULL CHECK (state IN ('free', 'leased', 'resting', 'retired')),
  rest_until BIGINT CHECK ((state = 'resting') = (rest_until IS NOT NULL)),
  retiring BIGINT NOT NULL CHECK (retiring IN (0, 1)),
  UNIQUE (address, slot)
);
CREATE INDEX stock_free ON stock (country, ipv, id) WHERE state = 'free';
CREATE INDEX stock_resting ON stock (rest_until) WHERE state = 'resting';

-- Blocks too large to be written out. An address of theirs becomes a place when it is first sold.
CREATE TABLE stock_prefixes (
  prefix TEXT PRIMARY KEY,
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL CHECK (ipv = 6),
  added_at BIGINT NOT NULL,
  retired_at BIGINT
);

-- Who holds a place, from when, until when. While a lease is open it has no end, and a place has one open lease at most.
CREATE TABLE leases (
  place_id BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT CHECK (ended_at >= started_at),
  proxy_id BIGINT NOT NULL,
  PRIMARY KEY (place_id, started_at)
);
CREATE UNIQUE INDEX leases_one_at_a_time ON leases (place_id) WHERE ended_at IS NULL;

CREATE TABLE proxies (
  id BIGINT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  order_id TEXT NOT NULL,
  place_id BIGINT NOT NULL,
  address TEXT NOT NULL,
  country TEXT NOT NULL,
  ipv BIGINT NOT NULL CHECK (ipv IN (3, 4, 6)),
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
  changed_at BIGINT NOT NULL
);
CREATE INDEX proxies_of_customer ON proxies (customer_id, id);
CREATE INDEX proxies_by_expiry ON proxies (expires_at) WHERE state = 'held';
CREATE INDEX proxies_to_renew ON proxies (expires_at) WHERE renew_period IS NOT NULL AND state = 'held';
CREATE INDEX proxies_by_change ON proxies (changed_at);

-- No lease begins before the one before it has ended, in history either.
-- @sqlite
CREATE TRIGGER leases_never_overlap BEFORE INSERT ON leases
WHEN EXISTS (SELECT 1 FROM leases WHERE place_id = NEW.place_id AND (ended_at IS NULL OR ended_at > NEW.started_at))
BEGIN
  SELECT RAISE(ABORT, 'a place is leased to one at a time');
END;
CREATE TRIGGER leases_keep_their_past BEFORE UPDATE ON leases
WHEN OLD.ended_at IS NOT NULL OR NEW.place_id <> OLD.place_id OR NEW.started_at <> OLD.started_at OR NEW.proxy_id <> OLD.proxy_id
BEGIN
  SELECT RAISE(ABORT, 'a lease that has ended is never changed');
END;
-- An address of one's own is not shared, and a shared one is nobody's own. Slot 0 is unique, so two imports at once cannot
-- both begin.
CREATE TRIGGER stock_of_one_kind BEFORE INSERT ON stock
WHEN NEW.slot > 0 AND EXISTS (SELECT 1 FROM stock WHERE address = NEW.address AND ipv <> NEW.ipv)
BEGIN
  SELECT RAISE(ABORT, 'an address is of one kind');
END;
CREATE TRIGGER leases_remain BEFORE DELETE ON leases
BEGIN
  SELECT RAISE(ABORT, 'leases are never deleted');
END;
-- @postgres
-- The plan is kept for the life of a connection; made while the table is small, it would read all of it for ever.
CREATE FUNCTION refuse_overlap() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM leases WHERE place_id = NEW.place_id AND (ended_at IS NULL OR ended_at > NEW.started_at)) THEN
    RAISE EXCEPTION 'a place is leased to one at a time' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER leases_never_overlap BEFORE INSERT ON leases FOR EACH ROW EXECUTE FUNCTION refuse_overlap();
CREATE TRIGGER leases_keep_their_past BEFORE UPDATE ON leases FOR EACH ROW
WHEN (OLD.ended_at IS NOT NULL OR NEW.place_id <> OLD.place_id OR NEW.started_at <> OLD.started_at OR NEW.proxy_id <> OLD.proxy_id)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER leases_remain BEFORE DELETE ON leases FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER leases_stay BEFORE TRUNCATE ON leases FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE FUNCTION refuse_second_kind() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM stock WHERE address = NEW.address AND ipv <> NEW.ipv) THEN
    RAISE EXCEPTION 'an address is of one kind' USING ERRCODE = '23P01';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER stock_of_one_kind BEFORE INSERT ON stock FOR EACH ROW WHEN (NEW.slot > 0)
EXECUTE FUNCTION refuse_second_kind();
