-- A purchase that waits for its payment has a time of its next attempt, which moves on with each attempt; NULL is now.
-- Without it the oldest were tried again and again, and whoever came after them was not.
ALTER TABLE payments ADD COLUMN buy_at BIGINT;
ALTER TABLE payments ADD COLUMN buy_tries BIGINT NOT NULL DEFAULT 0 CHECK (buy_tries >= 0);
