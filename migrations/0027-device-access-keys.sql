-- The keys of a VPN device for ways in over TLS (a UUID and a password), sealed. NULL for a removed device, and for one that
-- an earlier version added until a job of the shop makes them.
ALTER TABLE vpn_peers ADD COLUMN access_keys BYTEA CHECK (access_keys IS NULL OR removed_at IS NULL);
CREATE INDEX vpn_peers_without_keys ON vpn_peers (id) WHERE access_keys IS NULL AND removed_at IS NULL;
