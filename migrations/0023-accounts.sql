-- How a customer or an operator signs in: a login, which may be an e-mail address, a password as argon2id keeps it, and a second factor, sealed. The
-- factor counts from `totp_since` on; `totp_step` is the last code that was used, which is not taken again.
CREATE TABLE identities (
  owner_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'operator')),
  login TEXT NOT NULL,
  email TEXT,
  named BYTEA NOT NULL,
  password TEXT,
  totp BYTEA,
  totp_since BIGINT CHECK (totp_since IS NULL OR totp IS NOT NULL),
  totp_step BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX identities_by_login ON identities (kind, login);

-- What operators note about a customer; he never sees it.
ALTER TABLE customers ADD COLUMN note TEXT;

-- When a token was last used, to the minute, and from where; customers look for tokens that nobody uses.
ALTER TABLE tokens ADD COLUMN used_at BIGINT;
ALTER TABLE tokens ADD COLUMN used_from TEXT;

-- How people sign in cannot be computed from other rows: it has a history. In place of login and e-mail address that has their digest, `named`, so
-- that nobody's address stays behind when he has gone. The last code has none: it only ever grows.
-- @sqlite
CREATE VIEW row_contents_identities AS
  SELECT 'identities' AS of_table, owner_id AS row_key, 1 AS kept,
    QUOTE(kind) || ',' || QUOTE(named) || ',' || QUOTE(password) || ',' || QUOTE(totp) || ',' || QUOTE(totp_since) || ',' || QUOTE(created_at) || ',' || QUOTE(changed_at) AS content
  FROM identities;
CREATE TRIGGER identities_kept_at_first AFTER INSERT ON identities
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('identities', NEW.owner_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'identities' AND row_key = NEW.owner_id), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.named) || ',' || QUOTE(NEW.password) || ',' || QUOTE(NEW.totp) || ',' || QUOTE(NEW.totp_since) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at));
END;
CREATE TRIGGER identities_kept_since AFTER UPDATE OF
  kind, named, password, totp, totp_since, created_at, changed_at ON identities
WHEN OLD.kind IS NOT NEW.kind
  OR OLD.named IS NOT NEW.named
  OR OLD.password IS NOT NEW.password
  OR OLD.totp IS NOT NEW.totp
  OR OLD.totp_since IS NOT NEW.totp_since
  OR OLD.created_at IS NOT NEW.created_at
  OR OLD.changed_at IS NOT NEW.changed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('identities', NEW.owner_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'identities' AND row_key = NEW.owner_id), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.named) || ',' || QUOTE(NEW.password) || ',' || QUOTE(NEW.totp) || ',' || QUOTE(NEW.totp_since) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at));
END;
CREATE TRIGGER identities_kept_at_last AFTER DELETE ON identities
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('identities', OLD.owner_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'identities' AND row_key = OLD.owner_id), 0) + 1,
    NULL);
END;
-- @postgres
CREATE VIEW row_contents_identities AS
  SELECT 'identities' AS of_table, owner_id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,named,password,totp,totp_since,created_at,changed_at}') AS content
  FROM identities AS each;
CREATE TRIGGER identities_kept AFTER INSERT OR DELETE OR UPDATE OF
  kind, named, password, totp, totp_since, created_at, changed_at ON identities
FOR EACH ROW EXECUTE FUNCTION note_row (
  'identities', 'kept', '{owner_id}',
  '{kind,named,password,totp,totp_since,created_at,changed_at}', '', '{}');
-- @both
