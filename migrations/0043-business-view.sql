-- Lists over all customers for operators. `id` grows with time, so each of these lists is read in pages from its newest row.
CREATE INDEX orders_of_customer ON orders (customer_id, id);
CREATE INDEX orders_by_product ON orders (product, id);
CREATE INDEX orders_by_price ON orders (price, id);

-- Refunds, and money that came from outside or went there. A sale writes neither, so these indexes cost a sale nothing.
CREATE INDEX postings_refunds_of_order ON postings (order_id) WHERE refund_of IS NOT NULL;
CREATE INDEX postings_refunds_by_time ON postings (at) WHERE refund_of IS NOT NULL;
CREATE INDEX postings_funding_by_time ON postings (at, customer_id, seq) WHERE kind IN ('credit', 'debit');

-- The operators' activity feed, without purchases, which it reads from the orders: so the index costs a sale nothing.
CREATE INDEX events_of_feed ON events (at, customer_id, seq) WHERE type IN ('order.refunded', 'payment.paid',
  'payment.refunded', 'stock.low', 'node.lost', 'payment.unmatched', 'verify.finding', 'certificate.ending');
