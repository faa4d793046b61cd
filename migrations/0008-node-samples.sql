-- A node's report of itself every five minutes, kept for a day; the reports of full hours are kept for a month. The
-- figures are JSON, cumulative since the node's start where they count something. Only graphs use them.
CREATE TABLE node_samples (
  node_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  figures TEXT NOT NULL,
  PRIMARY KEY (node_id, at)
);
CREATE INDEX node_samples_by_age ON node_samples (at);
