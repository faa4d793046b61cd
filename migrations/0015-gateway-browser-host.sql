-- The host name under which a gateway's TLS port asks browsers for a login, from its last report.
ALTER TABLE nodes ADD COLUMN tls_browser_host TEXT;
