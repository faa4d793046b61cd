-- Who runs the shop. An operator who was removed stays here, for the audit log names him; his name may be given again.
CREATE TABLE operators (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'support', 'reader')),
  created_at BIGINT NOT NULL,
  removed_at BIGINT
);
CREATE UNIQUE INDEX operators_by_name ON operators (name) WHERE removed_at IS NULL;

-- As with customers' tokens: known by the digest of its text, which is shown once and kept nowhere.
CREATE TABLE operator_tokens (
  id TEXT PRIMARY KEY,
  operator_id TEXT NOT NULL REFERENCES operators (id),
  digest BYTEA NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX operator_tokens_of_operator ON operator_tokens (operator_id, id);

-- What operators did, each entry in the transaction that did it. A hash covers the entry and the hash before it. `operator_id` is null for
-- the command line, which acts as owner. `request` is what was asked for, as it was understood, without secrets.
CREATE TABLE audit_log (
  seq BIGINT PRIMARY KEY CHECK (seq > 0),
  at BIGINT NOT NULL,
  operator_id TEXT,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  action TEXT NOT NULL,
  request TEXT NOT NULL,
  source TEXT,
  hash BYTEA NOT NULL
);
CREATE INDEX audit_log_of_operator ON audit_log (operator_id, seq);

-- Where the log ends. Whoever writes an entry holds this row until his commit.
CREATE TABLE audit_log_end (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  seq BIGINT NOT NULL CHECK (seq >= 0),
  head BYTEA NOT NULL,
  last_at BIGINT NOT NULL
);
-- @sqlite
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never changed');
END;
CREATE TRIGGER audit_log_remains BEFORE DELETE ON audit_log
BEGIN
  SELECT RAISE(ABORT, 'the audit log is never shortened');
END;
-- @postgres
CREATE TRIGGER audit_log_stays BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_remains BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
-- @both

-- A browser that has signed in, as a customer or as an operator. It is known by the digest of what its cookie holds. `opened_by` is the operator
-- who looks at a customer's pages, which he may only read.
CREATE TABLE console_sessions (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'operator')),
  owner_id TEXT NOT NULL,
  digest BYTEA NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  opened_by TEXT CHECK (opened_by IS NULL OR kind = 'customer'),
  source TEXT,
  agent TEXT,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX console_sessions_of_owner ON console_sessions (owner_id, id);
CREATE INDEX console_sessions_by_end ON console_sessions (expires_at);

-- A link that works once. What it is for: to sign in, to confirm an e-mail address, to set a new password. `payload` is what waits for it.
CREATE TABLE console_links (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('customer', 'operator')),
  owner_id TEXT CHECK (owner_id IS NOT NULL OR purpose = 'confirm'),
  purpose TEXT NOT NULL CHECK (purpose IN ('enter', 'confirm', 'reset')),
  digest BYTEA NOT NULL UNIQUE,
  payload TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX console_links_by_end ON console_links (expires_at);

-- Who may do what, who is in and what was done cannot be computed from other rows: they have a history. When a session was last used and from where
-- decides nothing.
-- @sqlite
CREATE VIEW row_contents_operator_rights AS
  SELECT 'operators' AS of_table, id AS row_key, 1 AS kept,
    QUOTE(name) || ',' || QUOTE(role) || ',' || QUOTE(created_at) || ',' || QUOTE(removed_at) AS content
  FROM operators
  UNION ALL SELECT 'operator_tokens' AS of_table, id AS row_key, 1 AS kept,
    QUOTE(operator_id) || ',' || QUOTE(digest) || ',' || QUOTE(hint) || ',' || QUOTE(name) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(revoked_at) AS content
  FROM operator_tokens
  UNION ALL SELECT 'audit_log' AS of_table, CAST(seq AS TEXT) AS row_key, 1 AS kept,
    QUOTE(hash) AS content
  FROM audit_log
  UNION ALL SELECT 'console_sessions' AS of_table, id AS row_key, 1 AS kept,
    QUOTE(kind) || ',' || QUOTE(owner_id) || ',' || QUOTE(digest) || ',' || QUOTE(scopes) || ',' || QUOTE(opened_by) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(ended_at) AS content
  FROM console_sessions
  UNION ALL SELECT 'console_links' AS of_table, id AS row_key, 1 AS kept,
    QUOTE(kind) || ',' || QUOTE(owner_id) || ',' || QUOTE(purpose) || ',' || QUOTE(digest) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(used_at) AS content
  FROM console_links;
CREATE TRIGGER operators_kept_at_first AFTER INSERT ON operators
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operators', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operators' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.name) || ',' || QUOTE(NEW.role) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.removed_at));
END;
CREATE TRIGGER operators_kept_since AFTER UPDATE OF
  name, role, created_at, removed_at ON operators
WHEN OLD.name IS NOT NEW.name
  OR OLD.role IS NOT NEW.role
  OR OLD.created_at IS NOT NEW.created_at
  OR OLD.removed_at IS NOT NEW.removed_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operators', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operators' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.name) || ',' || QUOTE(NEW.role) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.removed_at));
END;
CREATE TRIGGER operators_kept_at_last AFTER DELETE ON operators
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operators', OLD.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operators' AND row_key = OLD.id), 0) + 1,
    NULL);
END;
CREATE TRIGGER operator_tokens_kept_at_first AFTER INSERT ON operator_tokens
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operator_tokens', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operator_tokens' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.operator_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.hint) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.revoked_at));
END;
CREATE TRIGGER operator_tokens_kept_since AFTER UPDATE OF
  operator_id, digest, hint, name, created_at, expires_at, revoked_at ON operator_tokens
WHEN OLD.operator_id IS NOT NEW.operator_id
  OR OLD.digest IS NOT NEW.digest
  OR OLD.hint IS NOT NEW.hint
  OR OLD.name IS NOT NEW.name
  OR OLD.created_at IS NOT NEW.created_at
  OR OLD.expires_at IS NOT NEW.expires_at
  OR OLD.revoked_at IS NOT NEW.revoked_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operator_tokens', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operator_tokens' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.operator_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.hint) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.revoked_at));
END;
CREATE TRIGGER operator_tokens_kept_at_last AFTER DELETE ON operator_tokens
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('operator_tokens', OLD.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'operator_tokens' AND row_key = OLD.id), 0) + 1,
    NULL);
END;
CREATE TRIGGER audit_log_kept_at_first AFTER INSERT ON audit_log
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('audit_log', CAST(NEW.seq AS TEXT), COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'audit_log' AND row_key = CAST(NEW.seq AS TEXT)), 0) + 1,
    QUOTE(NEW.hash));
END;
CREATE TRIGGER console_sessions_kept_at_first AFTER INSERT ON console_sessions
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('console_sessions', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'console_sessions' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.scopes) || ',' || QUOTE(NEW.opened_by) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.ended_at));
END;
CREATE TRIGGER console_sessions_kept_since AFTER UPDATE OF
  kind, owner_id, digest, scopes, opened_by, created_at, expires_at, ended_at ON console_sessions
WHEN OLD.kind IS NOT NEW.kind
  OR OLD.owner_id IS NOT NEW.owner_id
  OR OLD.digest IS NOT NEW.digest
  OR OLD.scopes IS NOT NEW.scopes
  OR OLD.opened_by IS NOT NEW.opened_by
  OR OLD.created_at IS NOT NEW.created_at
  OR OLD.expires_at IS NOT NEW.expires_at
  OR OLD.ended_at IS NOT NEW.ended_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('console_sessions', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'console_sessions' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.scopes) || ',' || QUOTE(NEW.opened_by) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.ended_at));
END;
CREATE TRIGGER console_sessions_kept_at_last AFTER DELETE ON console_sessions
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('console_sessions', OLD.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'console_sessions' AND row_key = OLD.id), 0) + 1,
    NULL);
END;
CREATE TRIGGER console_links_kept_at_first AFTER INSERT ON console_links
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('console_links', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'console_links' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.purpose) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.used_at));
END;
CREATE TRIGGER console_links_kept_since AFTER UPDATE OF
  kind, owner_id, purpose, digest, created_at, expires_at, used_at ON console_links
WHEN OLD.kind IS NOT NEW.kind
  OR OLD.owner_id IS NOT NEW.owner_id
  OR OLD.purpose IS NOT NEW.purpose
  OR OLD.digest IS NOT NEW.digest
  OR OLD.created_at IS NOT NEW.created_at
  OR OLD.expires_at IS NOT NEW.expires_at
  OR OLD.used_at IS NOT NEW.used_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('console_links', NEW.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'console_links' AND row_key = NEW.id), 0) + 1,
    QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.purpose) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.used_at));
END;
CREATE TRIGGER console_links_kept_at_last AFTER DELETE ON console_links
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('console_links', OLD.id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'console_links' AND row_key = OLD.id), 0) + 1,
    NULL);
END;
-- @postgres
CREATE VIEW row_contents_operator_rights AS
  SELECT 'operators' AS of_table, id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{name,role,created_at,removed_at}') AS content
  FROM operators AS each
  UNION ALL SELECT 'operator_tokens' AS of_table, id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{operator_id,digest,hint,name,created_at,expires_at,revoked_at}') AS content
  FROM operator_tokens AS each
  UNION ALL SELECT 'audit_log' AS of_table, CAST(seq AS text) AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{hash}') AS content
  FROM audit_log AS each
  UNION ALL SELECT 'console_sessions' AS of_table, id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,owner_id,digest,scopes,opened_by,created_at,expires_at,ended_at}') AS content
  FROM console_sessions AS each
  UNION ALL SELECT 'console_links' AS of_table, id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{kind,owner_id,purpose,digest,created_at,expires_at,used_at}') AS content
  FROM console_links AS each;
CREATE TRIGGER operators_kept AFTER INSERT OR DELETE OR UPDATE OF
  name, role, created_at, removed_at ON operators
FOR EACH ROW EXECUTE FUNCTION note_row (
  'operators', 'kept', '{id}',
  '{name,role,created_at,removed_at}', '', '{}');
CREATE TRIGGER operator_tokens_kept AFTER INSERT OR DELETE OR UPDATE OF
  operator_id, digest, hint, name, created_at, expires_at, revoked_at ON operator_tokens
FOR EACH ROW EXECUTE FUNCTION note_row (
  'operator_tokens', 'kept', '{id}',
  '{operator_id,digest,hint,name,created_at,expires_at,revoked_at}', '', '{}');
CREATE TRIGGER audit_log_kept AFTER INSERT ON audit_log
FOR EACH ROW EXECUTE FUNCTION note_row (
  'audit_log', 'kept', '{seq}',
  '{hash}', '', '{}');
CREATE TRIGGER console_sessions_kept AFTER INSERT OR DELETE OR UPDATE OF
  kind, owner_id, digest, scopes, opened_by, created_at, expires_at, ended_at ON console_sessions
FOR EACH ROW EXECUTE FUNCTION note_row (
  'console_sessions', 'kept', '{id}',
  '{kind,owner_id,digest,scopes,opened_by,created_at,expires_at,ended_at}', '', '{}');
CREATE TRIGGER console_links_kept AFTER INSERT OR DELETE OR UPDATE OF
  kind, owner_id, purpose, digest, created_at, expires_at, used_at ON console_links
FOR EACH ROW EXECUTE FUNCTION note_row (
  'console_links', 'kept', '{id}',
  '{kind,owner_id,purpose,digest,created_at,expires_at,used_at}', '', '{}');
-- @both
