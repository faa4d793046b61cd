-- Whose a session or a link was, its versions tell after it is gone: each begins with 'customer','cus_…', which is 43 characters. Whoever leaves is
-- found by that, at the cost of what is his.
CREATE INDEX row_history_of_sessions ON row_history (of_table, SUBSTR(content, 1, 43)) WHERE of_table = 'console_sessions';
CREATE INDEX row_history_of_links ON row_history (of_table, SUBSTR(content, 1, 43)) WHERE of_table = 'console_links';
CREATE INDEX console_links_of_owner ON console_links (owner_id);
