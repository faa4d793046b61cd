-- The HTTP request and the idempotency key that made an order, for the question "was I charged twice?". The key
-- outlives the stored answer, which is deleted after a week. An operator finds orders by both.
ALTER TABLE orders ADD COLUMN request_id TEXT;
ALTER TABLE orders ADD COLUMN idempotency_key TEXT;
CREATE INDEX orders_by_request ON orders (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX orders_by_key ON orders (idempotency_key) WHERE idempotency_key IS NOT NULL;
