-- When the owner of the e-mail address first opened a link of a letter; NULL before that. An account that was registered
-- without a letter may belong to another person than its address. 0 is an earlier account of which this is unknown, and
-- whose second factor a letter does not remove.
ALTER TABLE identities ADD COLUMN confirmed_at BIGINT;
-- Shown by: no password, which only a letter's link leaves; a password by link; a used link as old as the account.
UPDATE identities SET confirmed_at = created_at WHERE kind = 'customer' AND email IS NOT NULL AND (password IS NULL
  OR owner_id IN (SELECT customer_id FROM events WHERE type IN ('password.set', 'password.changed') AND
    data LIKE '%"by":"link"%')
  OR EXISTS (SELECT 1 FROM console_links WHERE console_links.purpose = 'confirm' AND
    console_links.used_at BETWEEN identities.created_at - 10000 AND identities.created_at));
UPDATE identities SET confirmed_at = 0 WHERE confirmed_at IS NULL AND totp_since IS NOT NULL;
