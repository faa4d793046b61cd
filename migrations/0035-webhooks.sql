-- Endpoints of customers' programs, and of the operator's. `events` has the chosen types, none for all. Secrets are
-- sealed; after a rotation the old ones sign too, until `old_until`.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secrets BYTEA NOT NULL,
  old_secrets BYTEA,
  old_until BIGINT,
  state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
  problem TEXT,
  created_at BIGINT NOT NULL
);
CREATE INDEX webhooks_of_customer ON webhooks (customer_id, id);

-- How far each endpoint is: every event up to `done_seq` is delivered or not chosen. One shop at a time holds the lease
-- and delivers. `tries` counts failures of the next event, `took_ms` is the duration of the last attempt: shops give slow
-- endpoints only a part of their places. `asked` is 1 while single deliveries wait. Due endpoints have their turns in the
-- order of `leased_at`: when a shop last took the lease, or when the endpoint was added.
CREATE TABLE webhook_progress (
  webhook_id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  done_seq BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  took_ms BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  asked BIGINT NOT NULL CHECK (asked IN (0, 1)),
  lease TEXT NOT NULL,
  lease_until BIGINT NOT NULL,
  leased_at BIGINT NOT NULL
);

-- What needs an operator now. An alert is a row until its condition was absent for some minutes.
CREATE TABLE alerts (
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  data TEXT NOT NULL,
  raised_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (type, subject)
);

-- An erasure finds the versions of removed endpoints by their beginning, the customer.
CREATE INDEX row_history_of_webhooks ON row_history (of_table, SUBSTR(content, 1, 32)) WHERE of_table = 'webhooks';

-- What was sent, for 30 days. `seq` is the number of the event, 0 for a test.
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  customer_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('delivered', 'retrying', 'failed', 'waiting')),
  tries BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  tried_at BIGINT,
  answer_status BIGINT,
  problem TEXT,
  took_ms BIGINT
);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (webhook_id, seq) WHERE seq > 0;
CREATE INDEX webhook_deliveries_of_customer ON webhook_deliveries (customer_id, id);
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, id) WHERE status IN ('waiting', 'retrying');
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
