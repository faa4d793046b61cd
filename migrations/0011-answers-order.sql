-- Which order a key has bought, to tell whoever sends something else under it. Null for what was answered before this was kept.
ALTER TABLE answers ADD COLUMN order_id TEXT;
