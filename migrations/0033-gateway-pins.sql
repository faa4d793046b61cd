-- SHA-256 of the certificate of a gateway that no authority has signed, in hex, from its last report; NULL for any other.
ALTER TABLE nodes ADD COLUMN tls_pin TEXT;
