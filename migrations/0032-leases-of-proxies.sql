-- `verify` walks proxies in pages, with their leases and the orders that bought them. Both keys grow with time, so that a sale
-- writes at the end of these indexes.
CREATE INDEX leases_of_proxy ON leases (proxy_id);
CREATE INDEX proxies_of_order ON proxies (order_id);
