-- The token whose request made the answer; null for a session, and for answers of older versions. Another token gets an
-- answer with passwords replayed only if it may see them.
ALTER TABLE answers ADD COLUMN token_id TEXT;
