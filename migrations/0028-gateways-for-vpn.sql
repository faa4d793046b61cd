-- Whether a gateway serves VPN devices on its TLS port, from its last report.
ALTER TABLE nodes ADD COLUMN tls_vpn BIGINT CHECK (tls_vpn = 1);
