-- Passwords are shown only with a scope of their own. Tokens and sessions that could see them until now keep that; an operator's
-- view of a customer's pages does not. A version before this one ignores the scope.
UPDATE tokens SET scopes = scopes || ' passwords'
WHERE revoked_at IS NULL AND (' ' || scopes || ' ' LIKE '% read %' OR ' ' || scopes || ' ' LIKE '% trade %');
UPDATE console_sessions SET scopes = scopes || ' passwords'
WHERE kind = 'customer' AND opened_by IS NULL AND ended_at IS NULL AND ' ' || scopes || ' ' LIKE '% read %';
