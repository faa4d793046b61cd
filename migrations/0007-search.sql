-- An operator's search finds customers by the beginning of their names and e-mail addresses. LOWER changes Latin letters
-- only, on both engines.
CREATE INDEX customers_by_name ON customers (LOWER(name));
CREATE INDEX identities_by_email ON identities (email) WHERE email IS NOT NULL;
