-- What customers note on their things for their own programs: pairs of a key and a value. `subject` is the number of a
-- proxy, the uuid of a VPN subscription, or the id of an order or a sub-user.
CREATE TABLE metadata (
  customer_id TEXT NOT NULL REFERENCES customers (id),
  kind TEXT NOT NULL CHECK (kind IN ('order', 'proxy', 'subuser', 'vpn')),
  subject TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL CHECK (LENGTH(value) <= 500),
  PRIMARY KEY (customer_id, kind, subject, key)
);
CREATE INDEX metadata_by_value ON metadata (customer_id, kind, key, value, subject);
