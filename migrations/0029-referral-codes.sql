-- What a customer is known by to those whom he brings: it stands in the link that he hands on, in place of his number. It goes with him.
CREATE TABLE referral_codes (
  customer_id TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX referral_codes_by_code ON referral_codes (code);
CREATE INDEX referrals_by_referrer ON referrals (referrer_id);

-- Whose code it is no other row tells, and shares of payments follow from it: it has a history.
-- @sqlite
CREATE VIEW row_contents_referral_codes AS
  SELECT 'referral_codes' AS of_table, customer_id AS row_key, 1 AS kept,
    QUOTE(code) || ',' || QUOTE(created_at) AS content
  FROM referral_codes;
CREATE TRIGGER referral_codes_at_first AFTER INSERT ON referral_codes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referral_codes', NEW.customer_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referral_codes' AND row_key = NEW.customer_id), 0) + 1,
    QUOTE(NEW.code) || ',' || QUOTE(NEW.created_at));
END;
CREATE TRIGGER referral_codes_since AFTER UPDATE OF code, created_at ON referral_codes
WHEN OLD.code IS NOT NEW.code OR OLD.created_at IS NOT NEW.created_at
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referral_codes', NEW.customer_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referral_codes' AND row_key = NEW.customer_id), 0) + 1,
    QUOTE(NEW.code) || ',' || QUOTE(NEW.created_at));
END;
CREATE TRIGGER referral_codes_at_last AFTER DELETE ON referral_codes
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content)
  VALUES ('referral_codes', OLD.customer_id, COALESCE((SELECT MAX(version) FROM row_history
    WHERE of_table = 'referral_codes' AND row_key = OLD.customer_id), 0) + 1,
    NULL);
END;
-- @postgres
CREATE VIEW row_contents_referral_codes AS
  SELECT 'referral_codes' AS of_table, customer_id AS row_key, CAST(1 AS BIGINT) AS kept,
    row_content(to_jsonb(each), '{code,created_at}') AS content
  FROM referral_codes AS each;
CREATE TRIGGER referral_codes_kept AFTER INSERT OR DELETE OR UPDATE OF code, created_at ON referral_codes
FOR EACH ROW EXECUTE FUNCTION note_row ('referral_codes', 'kept', '{customer_id}', '{code,created_at}', '', '{}');
-- @both
