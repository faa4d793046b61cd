-- A removed node or exit keeps its row, because counts, movements and histories name it. Lists, sales and the state that
-- nodes read leave it out. The name of a removed node is its id, so that another node can have its name.
ALTER TABLE nodes ADD COLUMN removed_at BIGINT CHECK (removed_at IS NULL OR state = 'closed');
ALTER TABLE exits ADD COLUMN removed_at BIGINT CHECK (removed_at IS NULL OR drained_at IS NOT NULL);
