-- Bytes of a proxy on each of the last 31 days in UTC, by the day on which a node reported them. Only graphs use them.
CREATE TABLE proxy_days (
  proxy_id BIGINT NOT NULL,
  day_at BIGINT NOT NULL CHECK (day_at % 86400000 = 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  checksum BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (proxy_id, day_at)
);
CREATE INDEX proxy_days_by_day ON proxy_days (day_at);

-- The feed has the alert `range.lost` too.
DROP INDEX events_of_feed;
CREATE INDEX events_of_feed ON events (at, customer_id, seq) WHERE type IN ('order.refunded', 'payment.paid',
  'payment.refunded', 'stock.low', 'node.lost', 'range.lost', 'payment.unmatched', 'verify.finding',
  'certificate.ending');

-- When an operator has seen the list of lost goods. Later lists are shown again.
ALTER TABLE lost_goods ADD COLUMN seen_at BIGINT;
