-- What nodes have carried: the largest count seen for each (node, boot, subject). Cumulative, so a repeat adds nothing.
CREATE TABLE usage_boots (
  node TEXT NOT NULL,
  boot TEXT NOT NULL,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (node, boot)
);

CREATE TABLE usage_counts (
  node TEXT NOT NULL,
  boot TEXT NOT NULL,
  subject TEXT NOT NULL,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (node, boot, subject)
);
CREATE INDEX usage_counts_of_subject ON usage_counts (subject);
