-- The life of the database in which a node may still list what it served and a whole state did not have. A node gets it
-- when the database is found to have gone back, and lists its goods once.
ALTER TABLE nodes ADD COLUMN lost_life BIGINT;
ALTER TABLE lost_goods ADD COLUMN life BIGINT NOT NULL DEFAULT 0;
