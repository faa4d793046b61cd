-- Where a gateway accepts hops over TLS, from its last report: the port, a name in its certificate, and SHA-256 of the
-- certificate's public key.
ALTER TABLE nodes ADD COLUMN hop_tls_port BIGINT CHECK (hop_tls_port BETWEEN 1 AND 65535);
ALTER TABLE nodes ADD COLUMN hop_tls_name TEXT;
ALTER TABLE nodes ADD COLUMN hop_tls_key TEXT;
-- The gateway where the customers of this gateway's addresses enter; its own id if it is an entry itself; NULL if they
-- enter here.
ALTER TABLE nodes ADD COLUMN entry_node TEXT;
-- The state of a gateway's connections to others, from its last report, JSON. Only operators see it.
ALTER TABLE nodes ADD COLUMN hops TEXT;
