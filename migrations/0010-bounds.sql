-- When the lease before has ended: the next one begins no sooner, even if the clock was set back in between. Kept with the place, so that a
-- sale need not look through its past.
ALTER TABLE stock ADD COLUMN free_from BIGINT NOT NULL DEFAULT 0;
UPDATE stock SET free_from = COALESCE((SELECT MAX(ended_at) FROM leases WHERE leases.place_id = stock.id), 0);

-- Which token has set a thing to renew by itself: the renewal is that token's spending, within its cap. Null without a token, and for what was
-- set before this was kept.
ALTER TABLE proxies ADD COLUMN renew_token_id TEXT;
ALTER TABLE vpn_subscriptions ADD COLUMN renew_token_id TEXT;
