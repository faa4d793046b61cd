-- How a node joins the shop and shows who it is. Both texts are known by their digests alone. A node has one key to join with at
-- a time: good once, until it expires. The secret it made itself stands until another join replaces it or it is revoked.
ALTER TABLE nodes ADD COLUMN key_digest BYTEA;
ALTER TABLE nodes ADD COLUMN key_expires_at BIGINT CHECK ((key_expires_at IS NULL) = (key_digest IS NULL));
ALTER TABLE nodes ADD COLUMN key_used_at BIGINT CHECK (key_used_at IS NULL OR key_digest IS NOT NULL);
ALTER TABLE nodes ADD COLUMN secret_digest BYTEA;
ALTER TABLE nodes ADD COLUMN joined_at BIGINT CHECK ((joined_at IS NULL) = (secret_digest IS NULL));
CREATE UNIQUE INDEX nodes_by_key ON nodes (key_digest) WHERE key_digest IS NOT NULL;
CREATE UNIQUE INDEX nodes_by_secret ON nodes (secret_digest) WHERE secret_digest IS NOT NULL;

-- What a node last said of itself, for the operator's eyes: of its latest boot, whose names sort as they follow one another.
ALTER TABLE nodes ADD COLUMN boot TEXT;
ALTER TABLE nodes ADD COLUMN tunnels BIGINT CHECK (tunnels >= 0);
ALTER TABLE nodes ADD COLUMN lag_ms BIGINT CHECK (lag_ms >= 0);
ALTER TABLE nodes ADD COLUMN carried BIGINT CHECK (carried >= 0);

-- Nodes page through changes of one moment by number: blocking a customer changes all of his proxies at once.
DROP INDEX proxies_by_change;
CREATE INDEX proxies_by_change ON proxies (changed_at, id);
