-- How links of VPN apps name a gateway, set by the operator: fingerprint, ALPN, port and protocols, as JSON. NULL is as usual.
ALTER TABLE nodes ADD COLUMN vpn_links TEXT;
