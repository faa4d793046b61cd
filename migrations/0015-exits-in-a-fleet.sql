-- Exits belong to gateways, which say how they are; and gateways reach one another's.

-- The gateway that an exit belongs to; none: every gateway leaves through it itself.
ALTER TABLE exits ADD COLUMN node_id TEXT;
-- What a supplier's exit offers whose login is a template: 'any' country or codes with spaces between, and after a bar the
-- other places that can be asked for. None: the place that stands in the row.
ALTER TABLE exits ADD COLUMN offers TEXT CHECK (offers IS NULL OR kind <> 'local');

-- What each gateway last said of each exit. A word is believed for half a minute.
CREATE TABLE exit_words (
  exit_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  up BIGINT NOT NULL CHECK (up IN (0, 1)),
  since_at BIGINT NOT NULL,
  reason TEXT NOT NULL,
  said_at BIGINT NOT NULL,
  PRIMARY KEY (exit_id, node_id)
);

-- What went through an exit: the counts of each boot of each gateway, cumulative, and what they add up to by day (UTC).
CREATE TABLE exit_counts (
  exit_id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  boot TEXT NOT NULL,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  PRIMARY KEY (exit_id, node_id, boot)
);
CREATE TABLE exit_days (
  exit_id TEXT NOT NULL,
  day BIGINT NOT NULL CHECK (day % 86400000 = 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  PRIMARY KEY (exit_id, day)
);

-- The public key that a gateway signs with when it asks another one for an exit, and when what the others know of it changed.
ALTER TABLE nodes ADD COLUMN hop_key TEXT;
ALTER TABLE nodes ADD COLUMN changed_at BIGINT NOT NULL DEFAULT 0;
-- Of what it has carried since its boot, what was for other gateways.
ALTER TABLE nodes ADD COLUMN relayed BIGINT CHECK (relayed >= 0);
-- Nothing new comes to a node that is being drained, and what is there moves.
ALTER TABLE nodes ADD COLUMN drained_at BIGINT;
CREATE INDEX nodes_by_change ON nodes (changed_at, id);

-- The node that a device was moved to; none: the one that its location draws for it.
ALTER TABLE vpn_peers ADD COLUMN node_id TEXT;
