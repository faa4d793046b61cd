-- When the lease before has ended: the next one begins no sooner, even if the clock was set back in between. Kept with the place, so that a
-- sale need not look through its past.
ALTER TABLE stock ADD COLUMN free_from BIGINT NOT NULL DEFAULT 0;
UPDATE stock SET free_from = COALESCE((SELECT MAX(ended_at) FROM leases WHERE leases.place_id = stock.id), 0);
