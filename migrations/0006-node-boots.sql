-- Figures of the earlier processes of a node, for the operator; `nodes` has those of the latest. `tunnels` and
-- `reported_at` are of the last report of a process that drains after a takeover.
CREATE TABLE node_boots (
  node_id TEXT NOT NULL,
  boot TEXT NOT NULL,
  total_bytes BIGINT NOT NULL CHECK (total_bytes >= 0),
  hop_bytes BIGINT NOT NULL CHECK (hop_bytes >= 0),
  tunnels BIGINT NOT NULL CHECK (tunnels >= 0),
  reported_at BIGINT NOT NULL,
  PRIMARY KEY (node_id, boot)
);
