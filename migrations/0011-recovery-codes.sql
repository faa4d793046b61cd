-- Digests of the unused recovery codes of the second factor, as a sealed JSON list; NULL before codes are made.
ALTER TABLE identities ADD COLUMN recovery BYTEA CHECK (recovery IS NULL OR totp_since IS NOT NULL);
