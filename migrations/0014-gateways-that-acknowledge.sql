-- The cursor of the last state request of a gateway that acknowledges purchases: it has applied the pages before it.
-- NULL for a gateway that looks up unknown credentials instead.
ALTER TABLE nodes ADD COLUMN state_cursor TEXT;
