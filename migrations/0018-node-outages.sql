-- What was sold on a node that is away is found by that node, and its customer is told when another one carries it.

-- When a node last let go of a place; null for one that no node ever did. The node that its holder knows of: the one that
-- carried it when it was sold, or that he was told of since.
ALTER TABLE stock ADD COLUMN lost_at BIGINT;
ALTER TABLE stock ADD COLUMN known_carrier TEXT;
CREATE INDEX stock_leased_by_carrier ON stock (carrier, id) WHERE state = 'leased';
CREATE INDEX stock_moved ON stock (id)
  WHERE state = 'leased' AND carrier IS NOT NULL AND (known_carrier IS NULL OR known_carrier <> carrier);

-- When a proxy was last prolonged after its end: time before that is not lost to it. Null for one that never ended.
ALTER TABLE proxies ADD COLUMN resumed_at BIGINT;
