-- SHA-256 of the hardware id of the app that has the device, with the id of the subscription. The shop does not store the hardware id.
ALTER TABLE vpn_peers ADD COLUMN app_digest BYTEA CHECK (app_digest IS NULL OR removed_at IS NULL);
CREATE UNIQUE INDEX vpn_peers_app ON vpn_peers (subscription_uuid, app_digest) WHERE app_digest IS NOT NULL;
