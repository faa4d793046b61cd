-- Where each job that announces ends has arrived: everything that ends before (`at`, `after_id`) is announced. A job moves
-- the mark in the transaction that writes the events, so that each is written once.
CREATE TABLE event_marks (
  name TEXT PRIMARY KEY,
  at BIGINT NOT NULL,
  after_id TEXT NOT NULL
);

-- The traffic that a customer had after the last purchase, and how much is left when the next event is due. NULL when
-- none is due before the next purchase. `subject` is a pool of a sub-user or a VPN subscription.
CREATE TABLE traffic_alerts (
  subject TEXT PRIMARY KEY,
  whole BIGINT NOT NULL CHECK (whole >= 0),
  due_left BIGINT
);

-- The balance below which a customer gets an event; NULL is none.
ALTER TABLE accounts ADD COLUMN alert_below BIGINT;

-- Why the last automatic renewal was refused; NULL after a renewal.
ALTER TABLE proxies ADD COLUMN renew_problem TEXT;
