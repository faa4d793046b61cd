-- Which notices a customer wants by e-mail, and up to which event they are collected. Without a row a customer gets
-- messages of the operator only.
CREATE TABLE notice_choices (
  customer_id TEXT PRIMARY KEY,
  kinds TEXT NOT NULL,
  language TEXT NOT NULL CHECK (language IN ('en', 'ru')),
  done_seq BIGINT NOT NULL CHECK (done_seq >= 0),
  changed_at BIGINT NOT NULL
);

-- Letters to customers: about events (`events` has the numbers of the first 100, `more` counts the others), or a message
-- of a mailing. A shop that sends one holds its lease; no transaction is open meanwhile.
CREATE TABLE notice_letters (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  mailing_id TEXT,
  events TEXT NOT NULL,
  more BIGINT NOT NULL CHECK (more >= 0),
  state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'failed', 'unsubscribed', 'no_address')),
  tries BIGINT NOT NULL CHECK (tries >= 0),
  next_at BIGINT NOT NULL,
  lease TEXT NOT NULL,
  lease_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at BIGINT CHECK ((state = 'waiting') = (ended_at IS NULL))
);
CREATE UNIQUE INDEX notice_letters_of_mailing ON notice_letters (mailing_id, customer_id) WHERE mailing_id IS NOT NULL;
CREATE INDEX notice_letters_of_customer ON notice_letters (customer_id, id);
CREATE INDEX notice_letters_due ON notice_letters (next_at, id) WHERE state = 'waiting';
CREATE INDEX notice_letters_by_age ON notice_letters (created_at);

-- How many letters a customer has got on the last day, in days since 1970 (UTC).
CREATE TABLE notice_days (
  customer_id TEXT PRIMARY KEY,
  day BIGINT NOT NULL,
  letters BIGINT NOT NULL CHECK (letters > 0)
);

-- Subjects and texts of letters that the operator has changed. Others are shipped with the program.
CREATE TABLE notice_templates (
  kind TEXT NOT NULL,
  language TEXT NOT NULL CHECK (language IN ('en', 'ru')),
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (kind, language)
);
