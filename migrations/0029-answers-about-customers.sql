-- The ids that an operator's request and its answer name. The request is kept as a digest and the answer sealed, so an erasure
-- finds those about a customer by this column. NULL for answers to customers.
ALTER TABLE answers ADD COLUMN named_ids TEXT;
CREATE INDEX answers_of_operators ON answers (customer_id, key) WHERE named_ids IS NOT NULL;
