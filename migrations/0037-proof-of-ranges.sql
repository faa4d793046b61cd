-- A call to the shop from an address of a range proves that a gateway can use the range. A range that is on no named gateway is
-- sold on a gateway only until `proof_until`. `proven_from` is the address that the shop saw; none where the gateway is met at
-- the shop's own socket, where the operator had named it before, or where nobody asked for a proof yet.
ALTER TABLE stock_trials ADD COLUMN proven_from TEXT;
ALTER TABLE stock_trials ADD COLUMN proven_at BIGINT;
ALTER TABLE stock_trials ADD COLUMN proof_until BIGINT NOT NULL DEFAULT 0 CHECK (proof_until >= 0);

-- What is sold now stays on sale for a day after its gateway was last heard of. Gateways prove it within minutes.
UPDATE stock_trials
SET proof_until = 86400000 + COALESCE((SELECT last_seen_at FROM nodes WHERE nodes.id = stock_trials.node_id), 0)
WHERE served <> '[]';
