-- Where a gateway accepts proxies over TLS, from its last report: a name in its certificate, and the port.
ALTER TABLE nodes ADD COLUMN tls_host TEXT;
ALTER TABLE nodes ADD COLUMN tls_port BIGINT CHECK (tls_port BETWEEN 1 AND 65535);
