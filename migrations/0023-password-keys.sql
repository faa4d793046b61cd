-- The keys of the MACs in proxy passwords, sealed. The newest key whose `signs_from` has passed signs new passwords. Nodes
-- get each key earlier, and keep it for an hour after the next one signs. `state_cursor` and `whole_read_at` of `nodes`
-- are used no more.
CREATE TABLE password_keys (
  id BIGINT PRIMARY KEY CHECK (id > 0),
  sealed BYTEA NOT NULL,
  signs_from BIGINT NOT NULL
);
