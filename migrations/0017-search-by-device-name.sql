-- An operator's search finds devices in use by the beginning of their names. LOWER changes Latin letters only, on both
-- engines.
CREATE INDEX vpn_peers_by_name ON vpn_peers (LOWER(name)) WHERE removed_at IS NULL;
