-- When a gateway last asked for a page of the whole state. Until its next report it is starting, and purchases wait for it.
ALTER TABLE nodes ADD COLUMN whole_read_at BIGINT;
