-- Random marks of moments in the history of this database. A node, a shop or a file that knows a mark which is missing
-- here knows rows that this database has lost: it went back in time. `ids` is the largest counter at that moment.
CREATE TABLE history_marks (
  made_at BIGINT NOT NULL,
  nonce TEXT NOT NULL,
  ids BIGINT NOT NULL,
  PRIMARY KEY (made_at, nonce)
);

-- Each time that the database was found to have gone back: to its newest mark, from the mark that was missing.
CREATE TABLE rewinds (
  life BIGINT PRIMARY KEY,
  noted_at BIGINT NOT NULL,
  back_to BIGINT NOT NULL,
  lost_until BIGINT NOT NULL
);

-- Things that a node served and these books do not know, as the node reported them. `owner` is the digest of the
-- customer's id that nodes have.
CREATE TABLE lost_goods (
  node_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  item TEXT NOT NULL,
  login TEXT NOT NULL,
  address TEXT NOT NULL,
  owner TEXT NOT NULL,
  reported_at BIGINT NOT NULL,
  PRIMARY KEY (node_id, kind, item, login)
);
CREATE INDEX lost_goods_by_age ON lost_goods (reported_at);

-- 1 while the node may serve things that these books do not know: nothing of it is sold before it has taken the whole state.
ALTER TABLE nodes ADD COLUMN awaits_state BIGINT NOT NULL DEFAULT 0;
