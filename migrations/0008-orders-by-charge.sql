-- A customer's orders are found by what he was charged: the postings stand in the order of his charges already. An index of all orders by
-- customer cost every sale a page somewhere in its middle. Only orders without a price, which are few, need one of their own.
DROP INDEX orders_of_customer;
CREATE INDEX orders_without_charge ON orders (customer_id, id) WHERE charge_seq IS NULL;
