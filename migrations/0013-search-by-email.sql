-- An operator's search by e-mail address asks for customers only. Without the kind in the index, SQLite reads all
-- customers by `identities_by_login` instead.
CREATE INDEX identities_by_kind_and_email ON identities (kind, email) WHERE email IS NOT NULL;
