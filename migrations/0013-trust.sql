-- Which key what lies sealed here was sealed with: its fingerprint, from which nobody gets the key. Null in a shop that was
-- opened before this was kept, until its next start.
ALTER TABLE shop ADD COLUMN key_fingerprint BYTEA;
