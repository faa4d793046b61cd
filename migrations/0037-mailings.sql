-- What an operator sends to all or some customers: announcements of prices, which are events, and messages by e-mail. A
-- job walks over the customers in the order of their ids and moves `after_customer` in the transaction that writes their
-- events or letters, so that each customer gets one. The last four columns count letters whose rows are deleted.
CREATE TABLE mailings (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('price', 'message')),
  product TEXT CHECK (product IN ('dedicated', 'premium', 'vpn')),
  ends_within_days BIGINT CHECK (ends_within_days > 0),
  node_id TEXT,
  effective_at BIGINT CHECK ((kind = 'price') = (effective_at IS NOT NULL)),
  subject_en TEXT,
  text_en TEXT,
  subject_ru TEXT,
  text_ru TEXT CHECK (text_ru IS NOT NULL OR text_en IS NOT NULL),
  state TEXT NOT NULL CHECK (state IN ('walking', 'done', 'stopped')),
  after_customer TEXT NOT NULL,
  customers BIGINT NOT NULL CHECK (customers >= 0),
  created_at BIGINT NOT NULL,
  sent BIGINT NOT NULL DEFAULT 0 CHECK (sent >= 0),
  failed BIGINT NOT NULL DEFAULT 0 CHECK (failed >= 0),
  unsubscribed BIGINT NOT NULL DEFAULT 0 CHECK (unsubscribed >= 0),
  no_address BIGINT NOT NULL DEFAULT 0 CHECK (no_address >= 0)
);
CREATE INDEX mailings_to_walk ON mailings (id) WHERE state = 'walking';
