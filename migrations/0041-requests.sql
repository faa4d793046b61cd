-- Requests of each customer's programs and sessions, for the customer, without secrets and bodies. Older than 7 days or
-- beyond the newest of a customer, they are deleted. `is_read` marks a read that succeeded, of which fewer are kept.
CREATE TABLE request_log (
  customer_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  request_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  status BIGINT NOT NULL,
  reason TEXT,
  idempotency_key TEXT,
  token_id TEXT,
  is_read BIGINT NOT NULL CHECK (is_read IN (0, 1)),
  PRIMARY KEY (customer_id, at, request_id)
);
CREATE INDEX request_log_by_time ON request_log (at);

-- The version of the API that a token's requests have unless they name one; NULL is the first.
ALTER TABLE tokens ADD COLUMN api_version TEXT;

-- The version of the API that a stored answer was written in; NULL is the first.
ALTER TABLE answers ADD COLUMN api_version TEXT;
