-- The device limit without bought slots that a term has; 0 in a term of an earlier version.
ALTER TABLE vpn_terms ADD COLUMN device_limit BIGINT NOT NULL DEFAULT 0 CHECK (device_limit >= 0);
-- When slots that no renewal has paid for end, and `device_limit` falls; NULL if none do.
ALTER TABLE vpn_subscriptions ADD COLUMN slots_end_at BIGINT;
CREATE INDEX vpn_subscriptions_slots_end ON vpn_subscriptions (slots_end_at) WHERE slots_end_at IS NOT NULL;
-- The protocol and the node by which a device connected last; NULL before that.
ALTER TABLE vpn_peers ADD COLUMN last_protocol TEXT;
ALTER TABLE vpn_peers ADD COLUMN last_node TEXT;
