-- Made by "npm run schema" from tools/schema/histories.ts and the CHECKs of 0001-baseline.sql. Do not edit.
-- @postgres
CREATE FUNCTION is_account(balance BIGINT, api_spent BIGINT, seq BIGINT)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (balance BETWEEN -1000000000000000 AND 1000000000000000)
    AND (api_spent >= 0)
    AND (seq >= 0);
END
$$;
ALTER TABLE accounts ADD CONSTRAINT accounts_check
  CHECK (is_account(balance, api_spent, seq));
CREATE FUNCTION is_posting(seq BIGINT, kind text, house text, amount BIGINT, balance_after BIGINT, order_id text, refund_of BIGINT, key text, reference text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (seq > 0)
    AND (kind = 'charge' OR kind = 'credit' OR kind = 'refund' OR kind = 'debit')
    AND (house LIKE 'funds:%' OR house LIKE 'revenue:%')
    AND (amount <> 0 AND (kind IN ('charge', 'debit')) = (amount < 0))
    AND (balance_after >= 0 OR amount > 0 OR (kind = 'debit' AND house <> 'funds:operator'))
    AND (kind IN ('credit', 'debit') OR order_id IS NOT NULL)
    AND ((kind = 'refund') = (refund_of IS NOT NULL))
    AND (key IS NULL OR kind IN ('credit', 'debit'))
    AND (reference IS NULL OR kind IN ('credit', 'debit'));
END
$$;
ALTER TABLE postings ADD CONSTRAINT postings_check
  CHECK (is_posting(seq, kind, house, amount, balance_after, order_id, refund_of, key, reference));
CREATE FUNCTION is_order(price BIGINT, charge_seq BIGINT)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (price >= 0)
    AND ((price = 0) = (charge_seq IS NULL));
END
$$;
ALTER TABLE orders ADD CONSTRAINT orders_check
  CHECK (is_order(price, charge_seq));
CREATE FUNCTION is_slot(slot BIGINT, ipv BIGINT, state text, rest_until BIGINT, retiring BIGINT, range_id BIGINT, serving_node text, quarantined BIGINT)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (slot BETWEEN 0 AND 2 AND (ipv = 3 OR slot = 0))
    AND (ipv = 4 OR ipv = 6 OR ipv = 3)
    AND (state = 'leased' OR state = 'free' OR state = 'resting' OR state = 'retired')
    AND ((state = 'resting') = (rest_until IS NOT NULL))
    AND (retiring IN (0, 1))
    AND (serving_node IS NULL OR range_id IS NOT NULL)
    AND (quarantined IN (0, 1));
END
$$;
ALTER TABLE stock ADD CONSTRAINT stock_check
  CHECK (is_slot(slot, ipv, state, rest_until, retiring, range_id, serving_node, quarantined));
CREATE FUNCTION is_proxy(ipv BIGINT, port_type text, state text, started_at BIGINT, expires_at BIGINT, both_protocols BIGINT, entry_port BIGINT, replaced_by text, ended_at BIGINT, interrupted_at BIGINT, interrupted_by text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (ipv = 4 OR ipv = 6 OR ipv = 3)
    AND (port_type IN ('http', 'socks'))
    AND (state IN ('held', 'gone'))
    AND (expires_at > started_at)
    AND (both_protocols IN (0, 1))
    AND (entry_port BETWEEN 1024 AND 65535)
    AND (replaced_by = 'customer' OR replaced_by = 'operator' OR replaced_by = 'outage')
    AND (ended_at IS NULL OR state = 'gone')
    AND ((interrupted_by IS NULL) = (interrupted_at IS NULL) AND interrupted_by IN ('outage', 'quarantine'));
END
$$;
ALTER TABLE proxies ADD CONSTRAINT proxies_check
  CHECK (is_proxy(ipv, port_type, state, started_at, expires_at, both_protocols, entry_port, replaced_by, ended_at, interrupted_at, interrupted_by));
-- @both
-- @sqlite
CREATE VIEW row_contents (of_table, row_key, kept, content) AS
SELECT 'migrations', CAST(name AS TEXT), CAST(1 AS BIGINT), QUOTE(checksum) || ',' || QUOTE(applied_at) FROM migrations AS each
UNION ALL SELECT 'shop', CAST(one AS TEXT), CAST(1 AS BIGINT), QUOTE(mode) || ',' || QUOTE(opened_at) FROM shop AS each
UNION ALL SELECT 'counters', CAST(name AS TEXT), CAST(0 AS BIGINT), QUOTE(next) FROM counters AS each
UNION ALL SELECT 'catalogues', CAST(version AS TEXT), CAST(1 AS BIGINT), QUOTE(text) || ',' || QUOTE(applied_at) FROM catalogues AS each
UNION ALL SELECT 'customers', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(name) || ',' || QUOTE(created_at) || ',' || QUOTE(blocked_at) FROM customers AS each
UNION ALL SELECT 'tokens', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(digest) || ',' || QUOTE(hint) || ',' || QUOTE(name) || ',' || QUOTE(scopes) || ',' || QUOTE(allowed_from) || ',' || QUOTE(cap_kopecks) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(revoked_at) FROM tokens AS each
UNION ALL SELECT 'identities', CAST(owner_id AS TEXT), CAST(1 AS BIGINT), QUOTE(kind) || ',' || QUOTE(named) || ',' || QUOTE(password) || ',' || QUOTE(totp) || ',' || QUOTE(totp_since) || ',' || QUOTE(created_at) || ',' || QUOTE(changed_at) FROM identities AS each
UNION ALL SELECT 'nodes', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(kind) || ',' || QUOTE(name) || ',' || QUOTE(location) || ',' || QUOTE(country_code) || ',' || QUOTE(city) || ',' || QUOTE(endpoint_host) || ',' || QUOTE(endpoint_port) || ',' || QUOTE(public_key) || ',' || CASE WHEN private_key IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(state) || ',' || QUOTE(created_at) || ',' || QUOTE(key_digest) || ',' || QUOTE(key_expires_at) || ',' || QUOTE(key_used_at) || ',' || QUOTE(secret_digest) || ',' || QUOTE(joined_at) || ',' || QUOTE(link_mbit) FROM nodes AS each
UNION ALL SELECT 'nodes, hop key', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(hop_key) FROM nodes AS each WHERE hop_key IS NOT NULL
UNION ALL SELECT 'nodes, report', CAST(id AS TEXT), CAST(0 AS BIGINT), QUOTE(version) || ',' || QUOTE(last_seen_at) || ',' || QUOTE(boot) || ',' || QUOTE(tunnels) || ',' || QUOTE(lag_ms) || ',' || QUOTE(total_bytes) FROM nodes AS each
UNION ALL SELECT 'nodes, status', CAST(id AS TEXT), CAST(0 AS BIGINT), QUOTE(hop_bytes) || ',' || QUOTE(stopping_boot) || ',' || QUOTE(max_ports) || ',' || QUOTE(drained_at) || ',' || QUOTE(changed_at) FROM nodes AS each WHERE hop_bytes IS NOT NULL OR stopping_boot IS NOT NULL OR max_ports IS NOT NULL OR drained_at IS NOT NULL OR changed_at IS NOT 0
UNION ALL SELECT 'stock_ranges', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(prefix) || ',' || QUOTE(node_ids) || ',' || QUOTE(state) || ',' || QUOTE(created_at) || ',' || QUOTE(changed_at) FROM stock_ranges AS each
UNION ALL SELECT 'stock_trials', CAST(node_id AS TEXT) || ' ' || CAST(range_id AS TEXT), CAST(0 AS BIGINT), QUOTE(problems) || ',' || QUOTE(seen_as) || ',' || QUOTE(changed_at) FROM stock_trials AS each
UNION ALL SELECT 'stock', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(retiring) FROM stock AS each WHERE retiring IS NOT 0
UNION ALL SELECT 'stock, quarantine', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(quarantined) FROM stock AS each WHERE quarantined IS NOT 0
UNION ALL SELECT 'stock, rest', CAST(id AS TEXT), CAST(0 AS BIGINT), QUOTE(rest_until) FROM stock AS each WHERE rest_until IS NOT NULL
UNION ALL SELECT 'stock_prefixes', CAST(prefix AS TEXT), CAST(1 AS BIGINT), QUOTE(country) || ',' || QUOTE(ipv) || ',' || QUOTE(added_at) || ',' || QUOTE(retired_at) FROM stock_prefixes AS each
UNION ALL SELECT 'stock_prefixes, quarantine', CAST(prefix AS TEXT), CAST(1 AS BIGINT), QUOTE(quarantined) FROM stock_prefixes AS each WHERE quarantined IS NOT 0
UNION ALL SELECT 'leases', CAST(slot_id AS TEXT) || ' ' || CAST(started_at AS TEXT), CAST(1 AS BIGINT), QUOTE(ended_at) || ',' || QUOTE(proxy_id) FROM leases AS each WHERE ended_at IS NOT NULL
UNION ALL SELECT 'proxies', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(port_type) || ',' || QUOTE(comment) || ',' || QUOTE(renew_period) || ',' || QUOTE(renew_token_id) FROM proxies AS each WHERE port_type IS NOT 'http' OR comment IS NOT '' OR renew_period IS NOT NULL OR renew_token_id IS NOT NULL
UNION ALL SELECT 'proxies, entrance', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(both_protocols) || ',' || QUOTE(sources) || ',' || QUOTE(entry_port) FROM proxies AS each WHERE both_protocols IS NOT 0 OR sources IS NOT '' OR entry_port IS NOT NULL
UNION ALL SELECT 'proxies, swap', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(replaced_by) FROM proxies AS each WHERE replaced_by IS NOT NULL
UNION ALL SELECT 'proxies, last change', CAST(id AS TEXT), CAST(0 AS BIGINT), QUOTE(renew_tried_at) || ',' || QUOTE(changed_at) FROM proxies AS each WHERE renew_tried_at IS NOT NULL OR changed_at IS NOT started_at
UNION ALL SELECT 'proxy_outages', CAST(proxy_id AS TEXT) || ' ' || CAST(from_at AS TEXT), CAST(1 AS BIGINT), QUOTE(until_at) || ',' || QUOTE(cause) || ',' || QUOTE(given) || ',' || QUOTE(expires_before) || ',' || QUOTE(expires_after) FROM proxy_outages AS each
UNION ALL SELECT 'subusers', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(login) || ',' || QUOTE(name) || ',' || QUOTE(is_default) || ',' || QUOTE(digest) || ',' || QUOTE(blocked_at) || ',' || QUOTE(deleted_at) || ',' || QUOTE(heir_id) || ',' || QUOTE(closing_order) || ',' || QUOTE(day_bytes) || ',' || QUOTE(month_bytes) || ',' || QUOTE(total_bytes) || ',' || QUOTE(tunnels) || ',' || QUOTE(keep_hosts) || ',' || QUOTE(created_at) FROM subusers AS each
UNION ALL SELECT 'subusers, last change', CAST(id AS TEXT), CAST(0 AS BIGINT), QUOTE(changed_at) FROM subusers AS each
UNION ALL SELECT 'whitelist_entries', CAST(subuser_id AS TEXT) || ' ' || CAST(prefix AS TEXT), CAST(1 AS BIGINT), QUOTE(comment) || ',' || QUOTE(created_at) FROM whitelist_entries AS each
UNION ALL SELECT 'whitelist_entries, last use', CAST(subuser_id AS TEXT) || ' ' || CAST(prefix AS TEXT), CAST(0 AS BIGINT), QUOTE(last_used_at) FROM whitelist_entries AS each WHERE last_used_at IS NOT NULL
UNION ALL SELECT 'gateway_ports', CAST(port AS TEXT), CAST(1 AS BIGINT), QUOTE(subuser_id) || ',' || QUOTE(parameters) || ',' || QUOTE(ttl_minutes) || ',' || QUOTE(session) || ',' || QUOTE(created_at) FROM gateway_ports AS each
UNION ALL SELECT 'gateway_ports_resting', CAST(port AS TEXT), CAST(1 AS BIGINT), QUOTE(since) FROM gateway_ports_resting AS each
UNION ALL SELECT 'gateway_port_next', CAST(one AS TEXT), CAST(0 AS BIGINT), QUOTE(next) FROM gateway_port_next AS each
UNION ALL SELECT 'exits', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(pool) || ',' || QUOTE(kind) || ',' || QUOTE(host) || ',' || QUOTE(port) || ',' || CASE WHEN credentials IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(country) || ',' || QUOTE(state) || ',' || QUOTE(city) || ',' || QUOTE(zip) || ',' || QUOTE(asn) || ',' || QUOTE(drained_at) || ',' || QUOTE(created_at) || ',' || QUOTE(changed_at) FROM exits AS each
UNION ALL SELECT 'exits, node', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(node_id) || ',' || QUOTE(offers) FROM exits AS each WHERE node_id IS NOT NULL OR offers IS NOT NULL
UNION ALL SELECT 'usage_boots', CAST(node AS TEXT) || ' ' || CAST(boot AS TEXT), CAST(0 AS BIGINT), QUOTE(last_at) || ',' || QUOTE(closed_at) FROM usage_boots AS each
UNION ALL SELECT 'usage_nodes', CAST(node AS TEXT), CAST(0 AS BIGINT), QUOTE(boot) || ',' || QUOTE(since) FROM usage_nodes AS each
UNION ALL SELECT 'usage_budgets, refused', CAST(node AS TEXT) || ' ' || CAST(purpose AS TEXT), CAST(0 AS BIGINT), QUOTE(refused) || ',' || QUOTE(refused_at) FROM usage_budgets AS each WHERE refused IS NOT 0 OR refused_at IS NOT NULL
UNION ALL SELECT 'vpn_subscriptions', CAST(uuid AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(device_limit) || ',' || QUOTE(speed_mbit) || ',' || QUOTE(auto_renew_months) || ',' || QUOTE(renew_token_id) || ',' || QUOTE(link_digest) || ',' || QUOTE(created_at) || ',' || QUOTE(disabled_at) || ',' || QUOTE(swept_at) || ',' || QUOTE(deleted_at) FROM vpn_subscriptions AS each
UNION ALL SELECT 'vpn_subscriptions, renewal', CAST(uuid AS TEXT), CAST(0 AS BIGINT), QUOTE(renew_after) || ',' || QUOTE(renew_problem) FROM vpn_subscriptions AS each WHERE renew_after IS NOT 0 OR renew_problem IS NOT NULL
UNION ALL SELECT 'vpn_peers', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(subscription_uuid) || ',' || QUOTE(name) || ',' || QUOTE(public_key) || ',' || QUOTE(own_key) || ',' || QUOTE(ipv4) || ',' || QUOTE(ipv6) || ',' || QUOTE(location) || ',' || QUOTE(created_at) || ',' || QUOTE(removed_at) FROM vpn_peers AS each
UNION ALL SELECT 'vpn_peers, node', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(node_id) FROM vpn_peers AS each WHERE node_id IS NOT NULL
UNION ALL SELECT 'vpn_peers, last change', CAST(id AS TEXT), CAST(0 AS BIGINT), QUOTE(last_handshake_at) || ',' || QUOTE(changed_at) FROM vpn_peers AS each
UNION ALL SELECT 'vpn_addresses', CAST(ipv4 AS TEXT), CAST(0 AS BIGINT), QUOTE(free_at) FROM vpn_addresses AS each WHERE free_at IS NOT 0
UNION ALL SELECT 'payment_providers', CAST(name AS TEXT), CAST(1 AS BIGINT), QUOTE(settings) || ',' || CASE WHEN secret IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(enabled) || ',' || QUOTE(changed_at) FROM payment_providers AS each
UNION ALL SELECT 'payments', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(token_id) || ',' || QUOTE(key) || ',' || QUOTE(request) || ',' || QUOTE(provider) || ',' || QUOTE(method) || ',' || QUOTE(amount) || ',' || QUOTE(fee) || ',' || QUOTE(return_url) || ',' || QUOTE(state) || ',' || QUOTE(provider_id) || ',' || QUOTE(pay_url) || ',' || QUOTE(qr) || ',' || QUOTE(credited) || ',' || QUOTE(debited) || ',' || QUOTE(changes) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) FROM payments AS each
UNION ALL SELECT 'payments, code', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(code) || ',' || QUOTE(bonus) FROM payments AS each WHERE code IS NOT NULL OR bonus IS NOT 0
UNION ALL SELECT 'payments, purchase', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(purchase_product) || ',' || QUOTE(purchase_input) || ',' || QUOTE(purchase_price) || ',' || QUOTE(purchase_catalogue) || ',' || QUOTE(purchase_state) || ',' || QUOTE(purchase_order) || ',' || QUOTE(purchase_problem) FROM payments AS each WHERE purchase_product IS NOT NULL OR purchase_input IS NOT NULL OR purchase_price IS NOT NULL OR purchase_catalogue IS NOT NULL OR purchase_state IS NOT NULL OR purchase_order IS NOT NULL OR purchase_problem IS NOT NULL
UNION ALL SELECT 'payment_changes', CAST(payment_id AS TEXT) || ' ' || CAST(number AS TEXT), CAST(1 AS BIGINT), QUOTE(kind) || ',' || QUOTE(state) || ',' || QUOTE(amount) || ',' || QUOTE(total) || ',' || QUOTE(posting) || ',' || QUOTE(at) || ',' || QUOTE(note) FROM payment_changes AS each
UNION ALL SELECT 'payment_refunds', CAST(payment_id AS TEXT) || ' ' || CAST(step AS TEXT), CAST(1 AS BIGINT), QUOTE(amount) || ',' || QUOTE(before) || ',' || QUOTE(state) || ',' || QUOTE(tries) || ',' || QUOTE(requested_at) FROM payment_refunds AS each
UNION ALL SELECT 'payment_notices', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(provider) || ',' || QUOTE(provider_id) || ',' || QUOTE(reason) || ',' || QUOTE(payment_id) || ',' || QUOTE(amount) || ',' || QUOTE(currency) || ',' || QUOTE(at) || ',' || QUOTE(resolved_at) || ',' || QUOTE(resolution) FROM payment_notices AS each
UNION ALL SELECT 'payment_codes', CAST(code AS TEXT), CAST(1 AS BIGINT), QUOTE(kind) || ',' || QUOTE(value) || ',' || QUOTE(least) || ',' || QUOTE(uses) || ',' || QUOTE(until_at) || ',' || QUOTE(created_at) || ',' || QUOTE(ended_at) || ',' || QUOTE(note) FROM payment_codes AS each
UNION ALL SELECT 'referrals', CAST(customer_id AS TEXT), CAST(1 AS BIGINT), QUOTE(referrer_id) || ',' || QUOTE(at) FROM referrals AS each
UNION ALL SELECT 'referral_codes', CAST(customer_id AS TEXT), CAST(1 AS BIGINT), QUOTE(code) || ',' || QUOTE(created_at) FROM referral_codes AS each
UNION ALL SELECT 'referral_terms', CAST(one AS TEXT), CAST(1 AS BIGINT), QUOTE(hundredths) || ',' || QUOTE(top_ups) || ',' || QUOTE(changed_at) FROM referral_terms AS each
UNION ALL SELECT 'operators', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(name) || ',' || QUOTE(role) || ',' || QUOTE(created_at) || ',' || QUOTE(removed_at) FROM operators AS each
UNION ALL SELECT 'operator_tokens', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(operator_id) || ',' || QUOTE(digest) || ',' || QUOTE(hint) || ',' || QUOTE(name) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(revoked_at) FROM operator_tokens AS each
UNION ALL SELECT 'operator_answers', CAST(key AS TEXT), CAST(1 AS BIGINT), QUOTE(request) || ',' || QUOTE(answer) || ',' || QUOTE(at) FROM operator_answers AS each
UNION ALL SELECT 'audit_log', CAST(seq AS TEXT), CAST(1 AS BIGINT), QUOTE(hash) FROM audit_log AS each
UNION ALL SELECT 'console_sessions', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(kind) || ',' || QUOTE(owner_id) || ',' || QUOTE(digest) || ',' || QUOTE(scopes) || ',' || QUOTE(opened_by) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(ended_at) FROM console_sessions AS each
UNION ALL SELECT 'console_links', CAST(id AS TEXT), CAST(1 AS BIGINT), QUOTE(kind) || ',' || QUOTE(owner_id) || ',' || QUOTE(purpose) || ',' || QUOTE(digest) || ',' || QUOTE(created_at) || ',' || QUOTE(expires_at) || ',' || QUOTE(used_at) FROM console_links AS each
UNION ALL SELECT 'erasures', CAST(customer_id AS TEXT), CAST(1 AS BIGINT), QUOTE(requested_by) || ',' || QUOTE(at) || ',' || QUOTE(finished_at) FROM erasures AS each
UNION ALL SELECT 'checkpoint_amendments', CAST(checkpoint AS TEXT) || ' ' || CAST(number AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(versions) || ',' || QUOTE(digest_before) || ',' || QUOTE(digest_after) || ',' || QUOTE(at) FROM checkpoint_amendments AS each
UNION ALL SELECT 'audit_redactions', CAST(seq AS TEXT), CAST(1 AS BIGINT), QUOTE(customer_id) || ',' || QUOTE(seal) || ',' || QUOTE(at) FROM audit_redactions AS each;
CREATE TRIGGER migrations_history_insert AFTER INSERT ON migrations
BEGIN INSERT INTO row_changes VALUES ('migrations', CAST(NEW.name AS TEXT), 1, QUOTE(NEW.checksum) || ',' || QUOTE(NEW.applied_at)); END;
CREATE TRIGGER migrations_history_update AFTER UPDATE OF checksum, applied_at ON migrations WHEN (OLD.checksum, OLD.applied_at) IS NOT (NEW.checksum, NEW.applied_at)
BEGIN INSERT INTO row_changes VALUES ('migrations', CAST(NEW.name AS TEXT), 1, QUOTE(NEW.checksum) || ',' || QUOTE(NEW.applied_at)); END;
CREATE TRIGGER shop_history_insert AFTER INSERT ON shop
BEGIN INSERT INTO row_changes VALUES ('shop', CAST(NEW.one AS TEXT), 1, QUOTE(NEW.mode) || ',' || QUOTE(NEW.opened_at)); END;
CREATE TRIGGER shop_history_update AFTER UPDATE OF mode, opened_at ON shop WHEN (OLD.mode, OLD.opened_at) IS NOT (NEW.mode, NEW.opened_at)
BEGIN INSERT INTO row_changes VALUES ('shop', CAST(NEW.one AS TEXT), 1, QUOTE(NEW.mode) || ',' || QUOTE(NEW.opened_at)); END;
CREATE TRIGGER counters_history_insert AFTER INSERT ON counters
BEGIN INSERT INTO row_changes VALUES ('counters', CAST(NEW.name AS TEXT), 0, QUOTE(NEW.next)); END;
CREATE TRIGGER counters_history_update AFTER UPDATE OF next ON counters WHEN (OLD.next) IS NOT (NEW.next)
BEGIN INSERT INTO row_changes VALUES ('counters', CAST(NEW.name AS TEXT), 0, QUOTE(NEW.next)); END;
CREATE TRIGGER catalogues_history_insert AFTER INSERT ON catalogues
BEGIN INSERT INTO row_changes VALUES ('catalogues', CAST(NEW.version AS TEXT), 1, QUOTE(NEW.text) || ',' || QUOTE(NEW.applied_at)); END;
CREATE TRIGGER catalogues_history_update AFTER UPDATE OF text, applied_at ON catalogues WHEN (OLD.text, OLD.applied_at) IS NOT (NEW.text, NEW.applied_at)
BEGIN INSERT INTO row_changes VALUES ('catalogues', CAST(NEW.version AS TEXT), 1, QUOTE(NEW.text) || ',' || QUOTE(NEW.applied_at)); END;
CREATE TRIGGER customers_history_insert AFTER INSERT ON customers
BEGIN INSERT INTO row_changes VALUES ('customers', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.name) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.blocked_at)); END;
CREATE TRIGGER customers_history_update AFTER UPDATE OF name, created_at, blocked_at ON customers WHEN (OLD.name, OLD.created_at, OLD.blocked_at) IS NOT (NEW.name, NEW.created_at, NEW.blocked_at)
BEGIN INSERT INTO row_changes VALUES ('customers', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.name) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.blocked_at)); END;
CREATE TRIGGER tokens_history_insert AFTER INSERT ON tokens
BEGIN INSERT INTO row_changes VALUES ('tokens', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.hint) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.scopes) || ',' || QUOTE(NEW.allowed_from) || ',' || QUOTE(NEW.cap_kopecks) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.revoked_at)); END;
CREATE TRIGGER tokens_history_update AFTER UPDATE OF customer_id, digest, hint, name, scopes, allowed_from, cap_kopecks, created_at, expires_at, revoked_at ON tokens WHEN (OLD.customer_id, OLD.digest, OLD.hint, OLD.name, OLD.scopes, OLD.allowed_from, OLD.cap_kopecks, OLD.created_at, OLD.expires_at, OLD.revoked_at) IS NOT (NEW.customer_id, NEW.digest, NEW.hint, NEW.name, NEW.scopes, NEW.allowed_from, NEW.cap_kopecks, NEW.created_at, NEW.expires_at, NEW.revoked_at)
BEGIN INSERT INTO row_changes VALUES ('tokens', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.hint) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.scopes) || ',' || QUOTE(NEW.allowed_from) || ',' || QUOTE(NEW.cap_kopecks) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.revoked_at)); END;
CREATE TRIGGER identities_history_insert AFTER INSERT ON identities
BEGIN INSERT INTO row_changes VALUES ('identities', CAST(NEW.owner_id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.named) || ',' || QUOTE(NEW.password) || ',' || QUOTE(NEW.totp) || ',' || QUOTE(NEW.totp_since) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER identities_history_update AFTER UPDATE OF kind, named, password, totp, totp_since, created_at, changed_at ON identities WHEN (OLD.kind, OLD.named, OLD.password, OLD.totp, OLD.totp_since, OLD.created_at, OLD.changed_at) IS NOT (NEW.kind, NEW.named, NEW.password, NEW.totp, NEW.totp_since, NEW.created_at, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('identities', CAST(NEW.owner_id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.named) || ',' || QUOTE(NEW.password) || ',' || QUOTE(NEW.totp) || ',' || QUOTE(NEW.totp_since) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER identities_history_delete AFTER DELETE ON identities
BEGIN INSERT INTO row_changes VALUES ('identities', CAST(OLD.owner_id AS TEXT), 1, NULL); END;
CREATE TRIGGER nodes_history_insert AFTER INSERT ON nodes
BEGIN INSERT INTO row_changes VALUES ('nodes', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.location) || ',' || QUOTE(NEW.country_code) || ',' || QUOTE(NEW.city) || ',' || QUOTE(NEW.endpoint_host) || ',' || QUOTE(NEW.endpoint_port) || ',' || QUOTE(NEW.public_key) || ',' || CASE WHEN NEW.private_key IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.key_digest) || ',' || QUOTE(NEW.key_expires_at) || ',' || QUOTE(NEW.key_used_at) || ',' || QUOTE(NEW.secret_digest) || ',' || QUOTE(NEW.joined_at) || ',' || QUOTE(NEW.link_mbit)); END;
CREATE TRIGGER nodes_history_update AFTER UPDATE OF kind, name, location, country_code, city, endpoint_host, endpoint_port, public_key, private_key, state, created_at, key_digest, key_expires_at, key_used_at, secret_digest, joined_at, link_mbit ON nodes WHEN (OLD.kind, OLD.name, OLD.location, OLD.country_code, OLD.city, OLD.endpoint_host, OLD.endpoint_port, OLD.public_key, OLD.private_key, OLD.state, OLD.created_at, OLD.key_digest, OLD.key_expires_at, OLD.key_used_at, OLD.secret_digest, OLD.joined_at, OLD.link_mbit) IS NOT (NEW.kind, NEW.name, NEW.location, NEW.country_code, NEW.city, NEW.endpoint_host, NEW.endpoint_port, NEW.public_key, NEW.private_key, NEW.state, NEW.created_at, NEW.key_digest, NEW.key_expires_at, NEW.key_used_at, NEW.secret_digest, NEW.joined_at, NEW.link_mbit)
BEGIN INSERT INTO row_changes VALUES ('nodes', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.location) || ',' || QUOTE(NEW.country_code) || ',' || QUOTE(NEW.city) || ',' || QUOTE(NEW.endpoint_host) || ',' || QUOTE(NEW.endpoint_port) || ',' || QUOTE(NEW.public_key) || ',' || CASE WHEN NEW.private_key IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.key_digest) || ',' || QUOTE(NEW.key_expires_at) || ',' || QUOTE(NEW.key_used_at) || ',' || QUOTE(NEW.secret_digest) || ',' || QUOTE(NEW.joined_at) || ',' || QUOTE(NEW.link_mbit)); END;
CREATE TRIGGER nodes_hop_key_history_insert AFTER INSERT ON nodes WHEN NEW.hop_key IS NOT NULL
BEGIN INSERT INTO row_changes VALUES ('nodes, hop key', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.hop_key IS NOT NULL THEN QUOTE(NEW.hop_key) END); END;
CREATE TRIGGER nodes_hop_key_history_update AFTER UPDATE OF hop_key ON nodes WHEN (OLD.hop_key) IS NOT (NEW.hop_key)
BEGIN INSERT INTO row_changes VALUES ('nodes, hop key', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.hop_key IS NOT NULL THEN QUOTE(NEW.hop_key) END); END;
CREATE TRIGGER nodes_report_history_insert AFTER INSERT ON nodes
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('nodes, report', CAST(NEW.id AS TEXT), 0, QUOTE(NEW.version) || ',' || QUOTE(NEW.last_seen_at) || ',' || QUOTE(NEW.boot) || ',' || QUOTE(NEW.tunnels) || ',' || QUOTE(NEW.lag_ms) || ',' || QUOTE(NEW.total_bytes)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER nodes_report_history_update AFTER UPDATE OF version, last_seen_at, boot, tunnels, lag_ms, total_bytes ON nodes WHEN (OLD.version, OLD.last_seen_at, OLD.boot, OLD.tunnels, OLD.lag_ms, OLD.total_bytes) IS NOT (NEW.version, NEW.last_seen_at, NEW.boot, NEW.tunnels, NEW.lag_ms, NEW.total_bytes)
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('nodes, report', CAST(NEW.id AS TEXT), 0, QUOTE(NEW.version) || ',' || QUOTE(NEW.last_seen_at) || ',' || QUOTE(NEW.boot) || ',' || QUOTE(NEW.tunnels) || ',' || QUOTE(NEW.lag_ms) || ',' || QUOTE(NEW.total_bytes)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER nodes_status_history_update AFTER UPDATE OF hop_bytes, stopping_boot, max_ports, drained_at, changed_at ON nodes WHEN (OLD.hop_bytes, OLD.stopping_boot, OLD.max_ports, OLD.drained_at, OLD.changed_at) IS NOT (NEW.hop_bytes, NEW.stopping_boot, NEW.max_ports, NEW.drained_at, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('nodes, status', CAST(NEW.id AS TEXT), 0, CASE WHEN NEW.hop_bytes IS NOT NULL OR NEW.stopping_boot IS NOT NULL OR NEW.max_ports IS NOT NULL OR NEW.drained_at IS NOT NULL OR NEW.changed_at IS NOT 0 THEN QUOTE(NEW.hop_bytes) || ',' || QUOTE(NEW.stopping_boot) || ',' || QUOTE(NEW.max_ports) || ',' || QUOTE(NEW.drained_at) || ',' || QUOTE(NEW.changed_at) END); END;
CREATE TRIGGER stock_ranges_history_insert AFTER INSERT ON stock_ranges
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_ranges', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.prefix) || ',' || QUOTE(NEW.node_ids) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER stock_ranges_history_update AFTER UPDATE OF prefix, node_ids, state, created_at, changed_at ON stock_ranges WHEN (OLD.prefix, OLD.node_ids, OLD.state, OLD.created_at, OLD.changed_at) IS NOT (NEW.prefix, NEW.node_ids, NEW.state, NEW.created_at, NEW.changed_at)
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_ranges', CAST(NEW.id AS TEXT), COALESCE((SELECT MAX(version) FROM row_history WHERE of_table = 'stock_ranges' AND row_key = CAST(NEW.id AS TEXT)), 0) + 1, QUOTE(NEW.prefix) || ',' || QUOTE(NEW.node_ids) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER stock_trials_history_insert AFTER INSERT ON stock_trials
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_trials', CAST(NEW.node_id AS TEXT) || ' ' || CAST(NEW.range_id AS TEXT), 0, QUOTE(NEW.problems) || ',' || QUOTE(NEW.seen_as) || ',' || QUOTE(NEW.changed_at)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER stock_trials_history_update AFTER UPDATE OF problems, seen_as, changed_at ON stock_trials WHEN (OLD.problems, OLD.seen_as, OLD.changed_at) IS NOT (NEW.problems, NEW.seen_as, NEW.changed_at)
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_trials', CAST(NEW.node_id AS TEXT) || ' ' || CAST(NEW.range_id AS TEXT), 0, QUOTE(NEW.problems) || ',' || QUOTE(NEW.seen_as) || ',' || QUOTE(NEW.changed_at)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER stock_trials_history_delete AFTER DELETE ON stock_trials
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_trials', CAST(OLD.node_id AS TEXT) || ' ' || CAST(OLD.range_id AS TEXT), 0, NULL) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER stock_history_update AFTER UPDATE OF retiring ON stock WHEN (OLD.retiring) IS NOT (NEW.retiring)
BEGIN INSERT INTO row_changes VALUES ('stock', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.retiring IS NOT 0 THEN QUOTE(NEW.retiring) END); END;
CREATE TRIGGER stock_quarantine_history_update AFTER UPDATE OF quarantined ON stock WHEN (OLD.quarantined) IS NOT (NEW.quarantined)
BEGIN INSERT INTO row_changes VALUES ('stock, quarantine', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.quarantined IS NOT 0 THEN QUOTE(NEW.quarantined) END); END;
CREATE TRIGGER stock_rest_history_update AFTER UPDATE OF rest_until ON stock WHEN (OLD.rest_until) IS NOT (NEW.rest_until)
BEGIN INSERT INTO row_changes VALUES ('stock, rest', CAST(NEW.id AS TEXT), 0, CASE WHEN NEW.rest_until IS NOT NULL THEN QUOTE(NEW.rest_until) END); END;
CREATE TRIGGER stock_prefixes_history_insert AFTER INSERT ON stock_prefixes
BEGIN INSERT INTO row_changes VALUES ('stock_prefixes', CAST(NEW.prefix AS TEXT), 1, QUOTE(NEW.country) || ',' || QUOTE(NEW.ipv) || ',' || QUOTE(NEW.added_at) || ',' || QUOTE(NEW.retired_at)); END;
CREATE TRIGGER stock_prefixes_history_update AFTER UPDATE OF country, ipv, added_at, retired_at ON stock_prefixes WHEN (OLD.country, OLD.ipv, OLD.added_at, OLD.retired_at) IS NOT (NEW.country, NEW.ipv, NEW.added_at, NEW.retired_at)
BEGIN INSERT INTO row_changes VALUES ('stock_prefixes', CAST(NEW.prefix AS TEXT), 1, QUOTE(NEW.country) || ',' || QUOTE(NEW.ipv) || ',' || QUOTE(NEW.added_at) || ',' || QUOTE(NEW.retired_at)); END;
CREATE TRIGGER stock_prefixes_quarantine_history_update AFTER UPDATE OF quarantined ON stock_prefixes WHEN (OLD.quarantined) IS NOT (NEW.quarantined)
BEGIN INSERT INTO row_changes VALUES ('stock_prefixes, quarantine', CAST(NEW.prefix AS TEXT), 1, CASE WHEN NEW.quarantined IS NOT 0 THEN QUOTE(NEW.quarantined) END); END;
CREATE TRIGGER leases_history_update AFTER UPDATE OF ended_at, proxy_id ON leases WHEN (OLD.ended_at, OLD.proxy_id) IS NOT (NEW.ended_at, NEW.proxy_id)
BEGIN INSERT INTO row_changes VALUES ('leases', CAST(NEW.slot_id AS TEXT) || ' ' || CAST(NEW.started_at AS TEXT), 1, CASE WHEN NEW.ended_at IS NOT NULL THEN QUOTE(NEW.ended_at) || ',' || QUOTE(NEW.proxy_id) END); END;
CREATE TRIGGER proxies_history_update AFTER UPDATE OF port_type, comment, renew_period, renew_token_id ON proxies WHEN (OLD.port_type, OLD.comment, OLD.renew_period, OLD.renew_token_id) IS NOT (NEW.port_type, NEW.comment, NEW.renew_period, NEW.renew_token_id)
BEGIN INSERT INTO row_changes VALUES ('proxies', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.port_type IS NOT 'http' OR NEW.comment IS NOT '' OR NEW.renew_period IS NOT NULL OR NEW.renew_token_id IS NOT NULL THEN QUOTE(NEW.port_type) || ',' || QUOTE(NEW.comment) || ',' || QUOTE(NEW.renew_period) || ',' || QUOTE(NEW.renew_token_id) END); END;
CREATE TRIGGER proxies_entrance_history_update AFTER UPDATE OF both_protocols, sources, entry_port ON proxies WHEN (OLD.both_protocols, OLD.sources, OLD.entry_port) IS NOT (NEW.both_protocols, NEW.sources, NEW.entry_port)
BEGIN INSERT INTO row_changes VALUES ('proxies, entrance', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.both_protocols IS NOT 0 OR NEW.sources IS NOT '' OR NEW.entry_port IS NOT NULL THEN QUOTE(NEW.both_protocols) || ',' || QUOTE(NEW.sources) || ',' || QUOTE(NEW.entry_port) END); END;
CREATE TRIGGER proxies_swap_history_update AFTER UPDATE OF replaced_by ON proxies WHEN (OLD.replaced_by) IS NOT (NEW.replaced_by)
BEGIN INSERT INTO row_changes VALUES ('proxies, swap', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.replaced_by IS NOT NULL THEN QUOTE(NEW.replaced_by) END); END;
CREATE TRIGGER proxies_last_change_history_update AFTER UPDATE OF renew_tried_at, changed_at ON proxies WHEN (OLD.renew_tried_at, OLD.changed_at) IS NOT (NEW.renew_tried_at, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('proxies, last change', CAST(NEW.id AS TEXT), 0, CASE WHEN NEW.renew_tried_at IS NOT NULL OR NEW.changed_at IS NOT NEW.started_at THEN QUOTE(NEW.renew_tried_at) || ',' || QUOTE(NEW.changed_at) END); END;
CREATE TRIGGER proxy_outages_history_insert AFTER INSERT ON proxy_outages
BEGIN INSERT INTO row_changes VALUES ('proxy_outages', CAST(NEW.proxy_id AS TEXT) || ' ' || CAST(NEW.from_at AS TEXT), 1, QUOTE(NEW.until_at) || ',' || QUOTE(NEW.cause) || ',' || QUOTE(NEW.given) || ',' || QUOTE(NEW.expires_before) || ',' || QUOTE(NEW.expires_after)); END;
CREATE TRIGGER proxy_outages_history_update AFTER UPDATE OF until_at, cause, given, expires_before, expires_after ON proxy_outages WHEN (OLD.until_at, OLD.cause, OLD.given, OLD.expires_before, OLD.expires_after) IS NOT (NEW.until_at, NEW.cause, NEW.given, NEW.expires_before, NEW.expires_after)
BEGIN INSERT INTO row_changes VALUES ('proxy_outages', CAST(NEW.proxy_id AS TEXT) || ' ' || CAST(NEW.from_at AS TEXT), 1, QUOTE(NEW.until_at) || ',' || QUOTE(NEW.cause) || ',' || QUOTE(NEW.given) || ',' || QUOTE(NEW.expires_before) || ',' || QUOTE(NEW.expires_after)); END;
CREATE TRIGGER subusers_history_insert AFTER INSERT ON subusers
BEGIN INSERT INTO row_changes VALUES ('subusers', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.login) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.is_default) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.blocked_at) || ',' || QUOTE(NEW.deleted_at) || ',' || QUOTE(NEW.heir_id) || ',' || QUOTE(NEW.closing_order) || ',' || QUOTE(NEW.day_bytes) || ',' || QUOTE(NEW.month_bytes) || ',' || QUOTE(NEW.total_bytes) || ',' || QUOTE(NEW.tunnels) || ',' || QUOTE(NEW.keep_hosts) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER subusers_history_update AFTER UPDATE OF customer_id, login, name, is_default, digest, blocked_at, deleted_at, heir_id, closing_order, day_bytes, month_bytes, total_bytes, tunnels, keep_hosts, created_at ON subusers WHEN (OLD.customer_id, OLD.login, OLD.name, OLD.is_default, OLD.digest, OLD.blocked_at, OLD.deleted_at, OLD.heir_id, OLD.closing_order, OLD.day_bytes, OLD.month_bytes, OLD.total_bytes, OLD.tunnels, OLD.keep_hosts, OLD.created_at) IS NOT (NEW.customer_id, NEW.login, NEW.name, NEW.is_default, NEW.digest, NEW.blocked_at, NEW.deleted_at, NEW.heir_id, NEW.closing_order, NEW.day_bytes, NEW.month_bytes, NEW.total_bytes, NEW.tunnels, NEW.keep_hosts, NEW.created_at)
BEGIN INSERT INTO row_changes VALUES ('subusers', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.login) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.is_default) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.blocked_at) || ',' || QUOTE(NEW.deleted_at) || ',' || QUOTE(NEW.heir_id) || ',' || QUOTE(NEW.closing_order) || ',' || QUOTE(NEW.day_bytes) || ',' || QUOTE(NEW.month_bytes) || ',' || QUOTE(NEW.total_bytes) || ',' || QUOTE(NEW.tunnels) || ',' || QUOTE(NEW.keep_hosts) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER subusers_last_change_history_insert AFTER INSERT ON subusers
BEGIN INSERT INTO row_changes VALUES ('subusers, last change', CAST(NEW.id AS TEXT), 0, QUOTE(NEW.changed_at)); END;
CREATE TRIGGER subusers_last_change_history_update AFTER UPDATE OF changed_at ON subusers WHEN (OLD.changed_at) IS NOT (NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('subusers, last change', CAST(NEW.id AS TEXT), 0, QUOTE(NEW.changed_at)); END;
CREATE TRIGGER whitelist_entries_history_insert AFTER INSERT ON whitelist_entries
BEGIN INSERT INTO row_changes VALUES ('whitelist_entries', CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT), 1, QUOTE(NEW.comment) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER whitelist_entries_history_update AFTER UPDATE OF comment, created_at ON whitelist_entries WHEN (OLD.comment, OLD.created_at) IS NOT (NEW.comment, NEW.created_at)
BEGIN INSERT INTO row_changes VALUES ('whitelist_entries', CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT), 1, QUOTE(NEW.comment) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER whitelist_entries_history_delete AFTER DELETE ON whitelist_entries
BEGIN INSERT INTO row_changes VALUES ('whitelist_entries', CAST(OLD.subuser_id AS TEXT) || ' ' || CAST(OLD.prefix AS TEXT), 1, NULL); END;
CREATE TRIGGER whitelist_entries_last_use_history_update AFTER UPDATE OF last_used_at ON whitelist_entries WHEN (OLD.last_used_at) IS NOT (NEW.last_used_at)
BEGIN INSERT INTO row_changes VALUES ('whitelist_entries, last use', CAST(NEW.subuser_id AS TEXT) || ' ' || CAST(NEW.prefix AS TEXT), 0, CASE WHEN NEW.last_used_at IS NOT NULL THEN QUOTE(NEW.last_used_at) END); END;
CREATE TRIGGER whitelist_entries_last_use_history_delete AFTER DELETE ON whitelist_entries
BEGIN INSERT INTO row_changes VALUES ('whitelist_entries, last use', CAST(OLD.subuser_id AS TEXT) || ' ' || CAST(OLD.prefix AS TEXT), 0, NULL); END;
CREATE TRIGGER gateway_ports_history_insert AFTER INSERT ON gateway_ports
BEGIN INSERT INTO row_changes VALUES ('gateway_ports', CAST(NEW.port AS TEXT), 1, QUOTE(NEW.subuser_id) || ',' || QUOTE(NEW.parameters) || ',' || QUOTE(NEW.ttl_minutes) || ',' || QUOTE(NEW.session) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER gateway_ports_history_update AFTER UPDATE OF subuser_id, parameters, ttl_minutes, session, created_at ON gateway_ports WHEN (OLD.subuser_id, OLD.parameters, OLD.ttl_minutes, OLD.session, OLD.created_at) IS NOT (NEW.subuser_id, NEW.parameters, NEW.ttl_minutes, NEW.session, NEW.created_at)
BEGIN INSERT INTO row_changes VALUES ('gateway_ports', CAST(NEW.port AS TEXT), 1, QUOTE(NEW.subuser_id) || ',' || QUOTE(NEW.parameters) || ',' || QUOTE(NEW.ttl_minutes) || ',' || QUOTE(NEW.session) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER gateway_ports_resting_history_insert AFTER INSERT ON gateway_ports_resting
BEGIN INSERT INTO row_changes VALUES ('gateway_ports_resting', CAST(NEW.port AS TEXT), 1, QUOTE(NEW.since)); END;
CREATE TRIGGER gateway_ports_resting_history_delete AFTER DELETE ON gateway_ports_resting
BEGIN INSERT INTO row_changes VALUES ('gateway_ports_resting', CAST(OLD.port AS TEXT), 1, NULL); END;
CREATE TRIGGER gateway_port_next_history_insert AFTER INSERT ON gateway_port_next
BEGIN INSERT INTO row_changes VALUES ('gateway_port_next', CAST(NEW.one AS TEXT), 0, QUOTE(NEW.next)); END;
CREATE TRIGGER gateway_port_next_history_update AFTER UPDATE OF next ON gateway_port_next WHEN (OLD.next) IS NOT (NEW.next)
BEGIN INSERT INTO row_changes VALUES ('gateway_port_next', CAST(NEW.one AS TEXT), 0, QUOTE(NEW.next)); END;
CREATE TRIGGER exits_history_insert AFTER INSERT ON exits
BEGIN INSERT INTO row_changes VALUES ('exits', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.pool) || ',' || QUOTE(NEW.kind) || ',' || QUOTE(NEW.host) || ',' || QUOTE(NEW.port) || ',' || CASE WHEN NEW.credentials IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.country) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.city) || ',' || QUOTE(NEW.zip) || ',' || QUOTE(NEW.asn) || ',' || QUOTE(NEW.drained_at) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER exits_history_update AFTER UPDATE OF pool, kind, host, port, credentials, country, state, city, zip, asn, drained_at, created_at, changed_at ON exits WHEN (OLD.pool, OLD.kind, OLD.host, OLD.port, OLD.credentials, OLD.country, OLD.state, OLD.city, OLD.zip, OLD.asn, OLD.drained_at, OLD.created_at, OLD.changed_at) IS NOT (NEW.pool, NEW.kind, NEW.host, NEW.port, NEW.credentials, NEW.country, NEW.state, NEW.city, NEW.zip, NEW.asn, NEW.drained_at, NEW.created_at, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('exits', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.pool) || ',' || QUOTE(NEW.kind) || ',' || QUOTE(NEW.host) || ',' || QUOTE(NEW.port) || ',' || CASE WHEN NEW.credentials IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.country) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.city) || ',' || QUOTE(NEW.zip) || ',' || QUOTE(NEW.asn) || ',' || QUOTE(NEW.drained_at) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER exits_node_history_insert AFTER INSERT ON exits WHEN NEW.node_id IS NOT NULL OR NEW.offers IS NOT NULL
BEGIN INSERT INTO row_changes VALUES ('exits, node', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.node_id IS NOT NULL OR NEW.offers IS NOT NULL THEN QUOTE(NEW.node_id) || ',' || QUOTE(NEW.offers) END); END;
CREATE TRIGGER exits_node_history_update AFTER UPDATE OF node_id, offers ON exits WHEN (OLD.node_id, OLD.offers) IS NOT (NEW.node_id, NEW.offers)
BEGIN INSERT INTO row_changes VALUES ('exits, node', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.node_id IS NOT NULL OR NEW.offers IS NOT NULL THEN QUOTE(NEW.node_id) || ',' || QUOTE(NEW.offers) END); END;
CREATE TRIGGER usage_boots_history_insert AFTER INSERT ON usage_boots
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('usage_boots', CAST(NEW.node AS TEXT) || ' ' || CAST(NEW.boot AS TEXT), 0, QUOTE(NEW.last_at) || ',' || QUOTE(NEW.closed_at)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER usage_boots_history_update AFTER UPDATE OF last_at, closed_at ON usage_boots WHEN (OLD.last_at, OLD.closed_at) IS NOT (NEW.last_at, NEW.closed_at)
BEGIN INSERT INTO row_history (of_table, row_key, version, content) VALUES ('usage_boots', CAST(NEW.node AS TEXT) || ' ' || CAST(NEW.boot AS TEXT), 0, QUOTE(NEW.last_at) || ',' || QUOTE(NEW.closed_at)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content; END;
CREATE TRIGGER usage_nodes_history_insert AFTER INSERT ON usage_nodes
BEGIN INSERT INTO row_changes VALUES ('usage_nodes', CAST(NEW.node AS TEXT), 0, QUOTE(NEW.boot) || ',' || QUOTE(NEW.since)); END;
CREATE TRIGGER usage_nodes_history_update AFTER UPDATE OF boot, since ON usage_nodes WHEN (OLD.boot, OLD.since) IS NOT (NEW.boot, NEW.since)
BEGIN INSERT INTO row_changes VALUES ('usage_nodes', CAST(NEW.node AS TEXT), 0, QUOTE(NEW.boot) || ',' || QUOTE(NEW.since)); END;
CREATE TRIGGER usage_budgets_refused_history_update AFTER UPDATE OF refused, refused_at ON usage_budgets WHEN (OLD.refused, OLD.refused_at) IS NOT (NEW.refused, NEW.refused_at)
BEGIN INSERT INTO row_changes VALUES ('usage_budgets, refused', CAST(NEW.node AS TEXT) || ' ' || CAST(NEW.purpose AS TEXT), 0, CASE WHEN NEW.refused IS NOT 0 OR NEW.refused_at IS NOT NULL THEN QUOTE(NEW.refused) || ',' || QUOTE(NEW.refused_at) END); END;
CREATE TRIGGER vpn_subscriptions_history_insert AFTER INSERT ON vpn_subscriptions
BEGIN INSERT INTO row_changes VALUES ('vpn_subscriptions', CAST(NEW.uuid AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.device_limit) || ',' || QUOTE(NEW.speed_mbit) || ',' || QUOTE(NEW.auto_renew_months) || ',' || QUOTE(NEW.renew_token_id) || ',' || QUOTE(NEW.link_digest) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.disabled_at) || ',' || QUOTE(NEW.swept_at) || ',' || QUOTE(NEW.deleted_at)); END;
CREATE TRIGGER vpn_subscriptions_history_update AFTER UPDATE OF customer_id, device_limit, speed_mbit, auto_renew_months, renew_token_id, link_digest, created_at, disabled_at, swept_at, deleted_at ON vpn_subscriptions WHEN (OLD.customer_id, OLD.device_limit, OLD.speed_mbit, OLD.auto_renew_months, OLD.renew_token_id, OLD.link_digest, OLD.created_at, OLD.disabled_at, OLD.swept_at, OLD.deleted_at) IS NOT (NEW.customer_id, NEW.device_limit, NEW.speed_mbit, NEW.auto_renew_months, NEW.renew_token_id, NEW.link_digest, NEW.created_at, NEW.disabled_at, NEW.swept_at, NEW.deleted_at)
BEGIN INSERT INTO row_changes VALUES ('vpn_subscriptions', CAST(NEW.uuid AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.device_limit) || ',' || QUOTE(NEW.speed_mbit) || ',' || QUOTE(NEW.auto_renew_months) || ',' || QUOTE(NEW.renew_token_id) || ',' || QUOTE(NEW.link_digest) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.disabled_at) || ',' || QUOTE(NEW.swept_at) || ',' || QUOTE(NEW.deleted_at)); END;
CREATE TRIGGER vpn_subscriptions_renewal_history_update AFTER UPDATE OF renew_after, renew_problem ON vpn_subscriptions WHEN (OLD.renew_after, OLD.renew_problem) IS NOT (NEW.renew_after, NEW.renew_problem)
BEGIN INSERT INTO row_changes VALUES ('vpn_subscriptions, renewal', CAST(NEW.uuid AS TEXT), 0, CASE WHEN NEW.renew_after IS NOT 0 OR NEW.renew_problem IS NOT NULL THEN QUOTE(NEW.renew_after) || ',' || QUOTE(NEW.renew_problem) END); END;
CREATE TRIGGER vpn_peers_history_insert AFTER INSERT ON vpn_peers
BEGIN INSERT INTO row_changes VALUES ('vpn_peers', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.subscription_uuid) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.public_key) || ',' || QUOTE(NEW.own_key) || ',' || QUOTE(NEW.ipv4) || ',' || QUOTE(NEW.ipv6) || ',' || QUOTE(NEW.location) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.removed_at)); END;
CREATE TRIGGER vpn_peers_history_update AFTER UPDATE OF subscription_uuid, name, public_key, own_key, ipv4, ipv6, location, created_at, removed_at ON vpn_peers WHEN (OLD.subscription_uuid, OLD.name, OLD.public_key, OLD.own_key, OLD.ipv4, OLD.ipv6, OLD.location, OLD.created_at, OLD.removed_at) IS NOT (NEW.subscription_uuid, NEW.name, NEW.public_key, NEW.own_key, NEW.ipv4, NEW.ipv6, NEW.location, NEW.created_at, NEW.removed_at)
BEGIN INSERT INTO row_changes VALUES ('vpn_peers', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.subscription_uuid) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.public_key) || ',' || QUOTE(NEW.own_key) || ',' || QUOTE(NEW.ipv4) || ',' || QUOTE(NEW.ipv6) || ',' || QUOTE(NEW.location) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.removed_at)); END;
CREATE TRIGGER vpn_peers_node_history_insert AFTER INSERT ON vpn_peers WHEN NEW.node_id IS NOT NULL
BEGIN INSERT INTO row_changes VALUES ('vpn_peers, node', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.node_id IS NOT NULL THEN QUOTE(NEW.node_id) END); END;
CREATE TRIGGER vpn_peers_node_history_update AFTER UPDATE OF node_id ON vpn_peers WHEN (OLD.node_id) IS NOT (NEW.node_id)
BEGIN INSERT INTO row_changes VALUES ('vpn_peers, node', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.node_id IS NOT NULL THEN QUOTE(NEW.node_id) END); END;
CREATE TRIGGER vpn_peers_last_change_history_insert AFTER INSERT ON vpn_peers
BEGIN INSERT INTO row_changes VALUES ('vpn_peers, last change', CAST(NEW.id AS TEXT), 0, QUOTE(NEW.last_handshake_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER vpn_peers_last_change_history_update AFTER UPDATE OF last_handshake_at, changed_at ON vpn_peers WHEN (OLD.last_handshake_at, OLD.changed_at) IS NOT (NEW.last_handshake_at, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('vpn_peers, last change', CAST(NEW.id AS TEXT), 0, QUOTE(NEW.last_handshake_at) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER vpn_addresses_history_update AFTER UPDATE OF free_at ON vpn_addresses WHEN (OLD.free_at) IS NOT (NEW.free_at)
BEGIN INSERT INTO row_changes VALUES ('vpn_addresses', CAST(NEW.ipv4 AS TEXT), 0, CASE WHEN NEW.free_at IS NOT 0 THEN QUOTE(NEW.free_at) END); END;
CREATE TRIGGER payment_providers_history_insert AFTER INSERT ON payment_providers
BEGIN INSERT INTO row_changes VALUES ('payment_providers', CAST(NEW.name AS TEXT), 1, QUOTE(NEW.settings) || ',' || CASE WHEN NEW.secret IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.enabled) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER payment_providers_history_update AFTER UPDATE OF settings, secret, enabled, changed_at ON payment_providers WHEN (OLD.settings, OLD.secret, OLD.enabled, OLD.changed_at) IS NOT (NEW.settings, NEW.secret, NEW.enabled, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('payment_providers', CAST(NEW.name AS TEXT), 1, QUOTE(NEW.settings) || ',' || CASE WHEN NEW.secret IS NULL THEN 'NULL' ELSE 'sealed' END || ',' || QUOTE(NEW.enabled) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER payments_history_insert AFTER INSERT ON payments
BEGIN INSERT INTO row_changes VALUES ('payments', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.token_id) || ',' || QUOTE(NEW.key) || ',' || QUOTE(NEW.request) || ',' || QUOTE(NEW.provider) || ',' || QUOTE(NEW.method) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.fee) || ',' || QUOTE(NEW.return_url) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.pay_url) || ',' || QUOTE(NEW.qr) || ',' || QUOTE(NEW.credited) || ',' || QUOTE(NEW.debited) || ',' || QUOTE(NEW.changes) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at)); END;
CREATE TRIGGER payments_history_update AFTER UPDATE OF customer_id, token_id, key, request, provider, method, amount, fee, return_url, state, provider_id, pay_url, qr, credited, debited, changes, created_at, expires_at ON payments WHEN (OLD.customer_id, OLD.token_id, OLD.key, OLD.request, OLD.provider, OLD.method, OLD.amount, OLD.fee, OLD.return_url, OLD.state, OLD.provider_id, OLD.pay_url, OLD.qr, OLD.credited, OLD.debited, OLD.changes, OLD.created_at, OLD.expires_at) IS NOT (NEW.customer_id, NEW.token_id, NEW.key, NEW.request, NEW.provider, NEW.method, NEW.amount, NEW.fee, NEW.return_url, NEW.state, NEW.provider_id, NEW.pay_url, NEW.qr, NEW.credited, NEW.debited, NEW.changes, NEW.created_at, NEW.expires_at)
BEGIN INSERT INTO row_changes VALUES ('payments', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.token_id) || ',' || QUOTE(NEW.key) || ',' || QUOTE(NEW.request) || ',' || QUOTE(NEW.provider) || ',' || QUOTE(NEW.method) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.fee) || ',' || QUOTE(NEW.return_url) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.pay_url) || ',' || QUOTE(NEW.qr) || ',' || QUOTE(NEW.credited) || ',' || QUOTE(NEW.debited) || ',' || QUOTE(NEW.changes) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at)); END;
CREATE TRIGGER payments_code_history_insert AFTER INSERT ON payments WHEN NEW.code IS NOT NULL OR NEW.bonus IS NOT 0
BEGIN INSERT INTO row_changes VALUES ('payments, code', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.code IS NOT NULL OR NEW.bonus IS NOT 0 THEN QUOTE(NEW.code) || ',' || QUOTE(NEW.bonus) END); END;
CREATE TRIGGER payments_code_history_update AFTER UPDATE OF code, bonus ON payments WHEN (OLD.code, OLD.bonus) IS NOT (NEW.code, NEW.bonus)
BEGIN INSERT INTO row_changes VALUES ('payments, code', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.code IS NOT NULL OR NEW.bonus IS NOT 0 THEN QUOTE(NEW.code) || ',' || QUOTE(NEW.bonus) END); END;
CREATE TRIGGER payments_purchase_history_insert AFTER INSERT ON payments WHEN NEW.purchase_product IS NOT NULL OR NEW.purchase_input IS NOT NULL OR NEW.purchase_price IS NOT NULL OR NEW.purchase_catalogue IS NOT NULL OR NEW.purchase_state IS NOT NULL OR NEW.purchase_order IS NOT NULL OR NEW.purchase_problem IS NOT NULL
BEGIN INSERT INTO row_changes VALUES ('payments, purchase', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.purchase_product IS NOT NULL OR NEW.purchase_input IS NOT NULL OR NEW.purchase_price IS NOT NULL OR NEW.purchase_catalogue IS NOT NULL OR NEW.purchase_state IS NOT NULL OR NEW.purchase_order IS NOT NULL OR NEW.purchase_problem IS NOT NULL THEN QUOTE(NEW.purchase_product) || ',' || QUOTE(NEW.purchase_input) || ',' || QUOTE(NEW.purchase_price) || ',' || QUOTE(NEW.purchase_catalogue) || ',' || QUOTE(NEW.purchase_state) || ',' || QUOTE(NEW.purchase_order) || ',' || QUOTE(NEW.purchase_problem) END); END;
CREATE TRIGGER payments_purchase_history_update AFTER UPDATE OF purchase_product, purchase_input, purchase_price, purchase_catalogue, purchase_state, purchase_order, purchase_problem ON payments WHEN (OLD.purchase_product, OLD.purchase_input, OLD.purchase_price, OLD.purchase_catalogue, OLD.purchase_state, OLD.purchase_order, OLD.purchase_problem) IS NOT (NEW.purchase_product, NEW.purchase_input, NEW.purchase_price, NEW.purchase_catalogue, NEW.purchase_state, NEW.purchase_order, NEW.purchase_problem)
BEGIN INSERT INTO row_changes VALUES ('payments, purchase', CAST(NEW.id AS TEXT), 1, CASE WHEN NEW.purchase_product IS NOT NULL OR NEW.purchase_input IS NOT NULL OR NEW.purchase_price IS NOT NULL OR NEW.purchase_catalogue IS NOT NULL OR NEW.purchase_state IS NOT NULL OR NEW.purchase_order IS NOT NULL OR NEW.purchase_problem IS NOT NULL THEN QUOTE(NEW.purchase_product) || ',' || QUOTE(NEW.purchase_input) || ',' || QUOTE(NEW.purchase_price) || ',' || QUOTE(NEW.purchase_catalogue) || ',' || QUOTE(NEW.purchase_state) || ',' || QUOTE(NEW.purchase_order) || ',' || QUOTE(NEW.purchase_problem) END); END;
CREATE TRIGGER payment_changes_history_insert AFTER INSERT ON payment_changes
BEGIN INSERT INTO row_changes VALUES ('payment_changes', CAST(NEW.payment_id AS TEXT) || ' ' || CAST(NEW.number AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.total) || ',' || QUOTE(NEW.posting) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.note)); END;
CREATE TRIGGER payment_refunds_history_insert AFTER INSERT ON payment_refunds
BEGIN INSERT INTO row_changes VALUES ('payment_refunds', CAST(NEW.payment_id AS TEXT) || ' ' || CAST(NEW.step AS TEXT), 1, QUOTE(NEW.amount) || ',' || QUOTE(NEW.before) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.tries) || ',' || QUOTE(NEW.requested_at)); END;
CREATE TRIGGER payment_refunds_history_update AFTER UPDATE OF amount, before, state, tries, requested_at ON payment_refunds WHEN (OLD.amount, OLD.before, OLD.state, OLD.tries, OLD.requested_at) IS NOT (NEW.amount, NEW.before, NEW.state, NEW.tries, NEW.requested_at)
BEGIN INSERT INTO row_changes VALUES ('payment_refunds', CAST(NEW.payment_id AS TEXT) || ' ' || CAST(NEW.step AS TEXT), 1, QUOTE(NEW.amount) || ',' || QUOTE(NEW.before) || ',' || QUOTE(NEW.state) || ',' || QUOTE(NEW.tries) || ',' || QUOTE(NEW.requested_at)); END;
CREATE TRIGGER payment_notices_history_insert AFTER INSERT ON payment_notices
BEGIN INSERT INTO row_changes VALUES ('payment_notices', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.provider) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.reason) || ',' || QUOTE(NEW.payment_id) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.currency) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.resolved_at) || ',' || QUOTE(NEW.resolution)); END;
CREATE TRIGGER payment_notices_history_update AFTER UPDATE OF provider, provider_id, reason, payment_id, amount, currency, at, resolved_at, resolution ON payment_notices WHEN (OLD.provider, OLD.provider_id, OLD.reason, OLD.payment_id, OLD.amount, OLD.currency, OLD.at, OLD.resolved_at, OLD.resolution) IS NOT (NEW.provider, NEW.provider_id, NEW.reason, NEW.payment_id, NEW.amount, NEW.currency, NEW.at, NEW.resolved_at, NEW.resolution)
BEGIN INSERT INTO row_changes VALUES ('payment_notices', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.provider) || ',' || QUOTE(NEW.provider_id) || ',' || QUOTE(NEW.reason) || ',' || QUOTE(NEW.payment_id) || ',' || QUOTE(NEW.amount) || ',' || QUOTE(NEW.currency) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.resolved_at) || ',' || QUOTE(NEW.resolution)); END;
CREATE TRIGGER payment_codes_history_insert AFTER INSERT ON payment_codes
BEGIN INSERT INTO row_changes VALUES ('payment_codes', CAST(NEW.code AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.value) || ',' || QUOTE(NEW.least) || ',' || QUOTE(NEW.uses) || ',' || QUOTE(NEW.until_at) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.ended_at) || ',' || QUOTE(NEW.note)); END;
CREATE TRIGGER payment_codes_history_update AFTER UPDATE OF kind, value, least, uses, until_at, created_at, ended_at, note ON payment_codes WHEN (OLD.kind, OLD.value, OLD.least, OLD.uses, OLD.until_at, OLD.created_at, OLD.ended_at, OLD.note) IS NOT (NEW.kind, NEW.value, NEW.least, NEW.uses, NEW.until_at, NEW.created_at, NEW.ended_at, NEW.note)
BEGIN INSERT INTO row_changes VALUES ('payment_codes', CAST(NEW.code AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.value) || ',' || QUOTE(NEW.least) || ',' || QUOTE(NEW.uses) || ',' || QUOTE(NEW.until_at) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.ended_at) || ',' || QUOTE(NEW.note)); END;
CREATE TRIGGER referrals_history_insert AFTER INSERT ON referrals
BEGIN INSERT INTO row_changes VALUES ('referrals', CAST(NEW.customer_id AS TEXT), 1, QUOTE(NEW.referrer_id) || ',' || QUOTE(NEW.at)); END;
CREATE TRIGGER referrals_history_update AFTER UPDATE OF referrer_id, at ON referrals WHEN (OLD.referrer_id, OLD.at) IS NOT (NEW.referrer_id, NEW.at)
BEGIN INSERT INTO row_changes VALUES ('referrals', CAST(NEW.customer_id AS TEXT), 1, QUOTE(NEW.referrer_id) || ',' || QUOTE(NEW.at)); END;
CREATE TRIGGER referral_codes_history_insert AFTER INSERT ON referral_codes
BEGIN INSERT INTO row_changes VALUES ('referral_codes', CAST(NEW.customer_id AS TEXT), 1, QUOTE(NEW.code) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER referral_codes_history_update AFTER UPDATE OF code, created_at ON referral_codes WHEN (OLD.code, OLD.created_at) IS NOT (NEW.code, NEW.created_at)
BEGIN INSERT INTO row_changes VALUES ('referral_codes', CAST(NEW.customer_id AS TEXT), 1, QUOTE(NEW.code) || ',' || QUOTE(NEW.created_at)); END;
CREATE TRIGGER referral_codes_history_delete AFTER DELETE ON referral_codes
BEGIN INSERT INTO row_changes VALUES ('referral_codes', CAST(OLD.customer_id AS TEXT), 1, NULL); END;
CREATE TRIGGER referral_terms_history_insert AFTER INSERT ON referral_terms
BEGIN INSERT INTO row_changes VALUES ('referral_terms', CAST(NEW.one AS TEXT), 1, QUOTE(NEW.hundredths) || ',' || QUOTE(NEW.top_ups) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER referral_terms_history_update AFTER UPDATE OF hundredths, top_ups, changed_at ON referral_terms WHEN (OLD.hundredths, OLD.top_ups, OLD.changed_at) IS NOT (NEW.hundredths, NEW.top_ups, NEW.changed_at)
BEGIN INSERT INTO row_changes VALUES ('referral_terms', CAST(NEW.one AS TEXT), 1, QUOTE(NEW.hundredths) || ',' || QUOTE(NEW.top_ups) || ',' || QUOTE(NEW.changed_at)); END;
CREATE TRIGGER operators_history_insert AFTER INSERT ON operators
BEGIN INSERT INTO row_changes VALUES ('operators', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.name) || ',' || QUOTE(NEW.role) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.removed_at)); END;
CREATE TRIGGER operators_history_update AFTER UPDATE OF name, role, created_at, removed_at ON operators WHEN (OLD.name, OLD.role, OLD.created_at, OLD.removed_at) IS NOT (NEW.name, NEW.role, NEW.created_at, NEW.removed_at)
BEGIN INSERT INTO row_changes VALUES ('operators', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.name) || ',' || QUOTE(NEW.role) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.removed_at)); END;
CREATE TRIGGER operators_history_delete AFTER DELETE ON operators
BEGIN INSERT INTO row_changes VALUES ('operators', CAST(OLD.id AS TEXT), 1, NULL); END;
CREATE TRIGGER operator_tokens_history_insert AFTER INSERT ON operator_tokens
BEGIN INSERT INTO row_changes VALUES ('operator_tokens', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.operator_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.hint) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.revoked_at)); END;
CREATE TRIGGER operator_tokens_history_update AFTER UPDATE OF operator_id, digest, hint, name, created_at, expires_at, revoked_at ON operator_tokens WHEN (OLD.operator_id, OLD.digest, OLD.hint, OLD.name, OLD.created_at, OLD.expires_at, OLD.revoked_at) IS NOT (NEW.operator_id, NEW.digest, NEW.hint, NEW.name, NEW.created_at, NEW.expires_at, NEW.revoked_at)
BEGIN INSERT INTO row_changes VALUES ('operator_tokens', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.operator_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.hint) || ',' || QUOTE(NEW.name) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.revoked_at)); END;
CREATE TRIGGER operator_tokens_history_delete AFTER DELETE ON operator_tokens
BEGIN INSERT INTO row_changes VALUES ('operator_tokens', CAST(OLD.id AS TEXT), 1, NULL); END;
CREATE TRIGGER operator_answers_history_insert AFTER INSERT ON operator_answers
BEGIN INSERT INTO row_changes VALUES ('operator_answers', CAST(NEW.key AS TEXT), 1, QUOTE(NEW.request) || ',' || QUOTE(NEW.answer) || ',' || QUOTE(NEW.at)); END;
CREATE TRIGGER operator_answers_history_update AFTER UPDATE OF request, answer, at ON operator_answers WHEN (OLD.request, OLD.answer, OLD.at) IS NOT (NEW.request, NEW.answer, NEW.at)
BEGIN INSERT INTO row_changes VALUES ('operator_answers', CAST(NEW.key AS TEXT), 1, QUOTE(NEW.request) || ',' || QUOTE(NEW.answer) || ',' || QUOTE(NEW.at)); END;
CREATE TRIGGER operator_answers_history_delete AFTER DELETE ON operator_answers
BEGIN INSERT INTO row_changes VALUES ('operator_answers', CAST(OLD.key AS TEXT), 1, NULL); END;
CREATE TRIGGER audit_log_history_insert AFTER INSERT ON audit_log
BEGIN INSERT INTO row_changes VALUES ('audit_log', CAST(NEW.seq AS TEXT), 1, QUOTE(NEW.hash)); END;
CREATE TRIGGER console_sessions_history_insert AFTER INSERT ON console_sessions
BEGIN INSERT INTO row_changes VALUES ('console_sessions', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.scopes) || ',' || QUOTE(NEW.opened_by) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.ended_at)); END;
CREATE TRIGGER console_sessions_history_update AFTER UPDATE OF kind, owner_id, digest, scopes, opened_by, created_at, expires_at, ended_at ON console_sessions WHEN (OLD.kind, OLD.owner_id, OLD.digest, OLD.scopes, OLD.opened_by, OLD.created_at, OLD.expires_at, OLD.ended_at) IS NOT (NEW.kind, NEW.owner_id, NEW.digest, NEW.scopes, NEW.opened_by, NEW.created_at, NEW.expires_at, NEW.ended_at)
BEGIN INSERT INTO row_changes VALUES ('console_sessions', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.scopes) || ',' || QUOTE(NEW.opened_by) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.ended_at)); END;
CREATE TRIGGER console_sessions_history_delete AFTER DELETE ON console_sessions
BEGIN INSERT INTO row_changes VALUES ('console_sessions', CAST(OLD.id AS TEXT), 1, NULL); END;
CREATE TRIGGER console_links_history_insert AFTER INSERT ON console_links
BEGIN INSERT INTO row_changes VALUES ('console_links', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.purpose) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.used_at)); END;
CREATE TRIGGER console_links_history_update AFTER UPDATE OF kind, owner_id, purpose, digest, created_at, expires_at, used_at ON console_links WHEN (OLD.kind, OLD.owner_id, OLD.purpose, OLD.digest, OLD.created_at, OLD.expires_at, OLD.used_at) IS NOT (NEW.kind, NEW.owner_id, NEW.purpose, NEW.digest, NEW.created_at, NEW.expires_at, NEW.used_at)
BEGIN INSERT INTO row_changes VALUES ('console_links', CAST(NEW.id AS TEXT), 1, QUOTE(NEW.kind) || ',' || QUOTE(NEW.owner_id) || ',' || QUOTE(NEW.purpose) || ',' || QUOTE(NEW.digest) || ',' || QUOTE(NEW.created_at) || ',' || QUOTE(NEW.expires_at) || ',' || QUOTE(NEW.used_at)); END;
CREATE TRIGGER console_links_history_delete AFTER DELETE ON console_links
BEGIN INSERT INTO row_changes VALUES ('console_links', CAST(OLD.id AS TEXT), 1, NULL); END;
CREATE TRIGGER erasures_history_insert AFTER INSERT ON erasures
BEGIN INSERT INTO row_changes VALUES ('erasures', CAST(NEW.customer_id AS TEXT), 1, QUOTE(NEW.requested_by) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.finished_at)); END;
CREATE TRIGGER erasures_history_update AFTER UPDATE OF requested_by, at, finished_at ON erasures WHEN (OLD.requested_by, OLD.at, OLD.finished_at) IS NOT (NEW.requested_by, NEW.at, NEW.finished_at)
BEGIN INSERT INTO row_changes VALUES ('erasures', CAST(NEW.customer_id AS TEXT), 1, QUOTE(NEW.requested_by) || ',' || QUOTE(NEW.at) || ',' || QUOTE(NEW.finished_at)); END;
CREATE TRIGGER checkpoint_amendments_history_insert AFTER INSERT ON checkpoint_amendments
BEGIN INSERT INTO row_changes VALUES ('checkpoint_amendments', CAST(NEW.checkpoint AS TEXT) || ' ' || CAST(NEW.number AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.versions) || ',' || QUOTE(NEW.digest_before) || ',' || QUOTE(NEW.digest_after) || ',' || QUOTE(NEW.at)); END;
CREATE TRIGGER audit_redactions_history_insert AFTER INSERT ON audit_redactions
BEGIN INSERT INTO row_changes VALUES ('audit_redactions', CAST(NEW.seq AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.seal) || ',' || QUOTE(NEW.at)); END;
CREATE TRIGGER audit_redactions_history_update AFTER UPDATE OF customer_id, seal, at ON audit_redactions WHEN (OLD.customer_id, OLD.seal, OLD.at) IS NOT (NEW.customer_id, NEW.seal, NEW.at)
BEGIN INSERT INTO row_changes VALUES ('audit_redactions', CAST(NEW.seq AS TEXT), 1, QUOTE(NEW.customer_id) || ',' || QUOTE(NEW.seal) || ',' || QUOTE(NEW.at)); END;
-- @postgres
CREATE VIEW row_contents (of_table, row_key, kept, content) AS
SELECT 'migrations', CAST(name AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{checksum,applied_at}') FROM migrations AS each
UNION ALL SELECT 'shop', CAST(one AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{mode,opened_at}') FROM shop AS each
UNION ALL SELECT 'counters', CAST(name AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{next}') FROM counters AS each
UNION ALL SELECT 'catalogues', CAST(version AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{text,applied_at}') FROM catalogues AS each
UNION ALL SELECT 'customers', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{name,created_at,blocked_at}') FROM customers AS each
UNION ALL SELECT 'tokens', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,digest,hint,name,scopes,allowed_from,cap_kopecks,created_at,expires_at,revoked_at}') FROM tokens AS each
UNION ALL SELECT 'identities', CAST(owner_id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{kind,named,password,totp,totp_since,created_at,changed_at}') FROM identities AS each
UNION ALL SELECT 'nodes', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{kind,name,location,country_code,city,endpoint_host,endpoint_port,public_key,"?private_key",state,created_at,key_digest,key_expires_at,key_used_at,secret_digest,joined_at,link_mbit}') FROM nodes AS each
UNION ALL SELECT 'nodes, hop key', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{hop_key}') FROM nodes AS each WHERE hop_key IS NOT NULL
UNION ALL SELECT 'nodes, report', CAST(id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{version,last_seen_at,boot,tunnels,lag_ms,total_bytes}') FROM nodes AS each
UNION ALL SELECT 'nodes, status', CAST(id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{hop_bytes,stopping_boot,max_ports,drained_at,changed_at}') FROM nodes AS each WHERE hop_bytes IS NOT NULL OR stopping_boot IS NOT NULL OR max_ports IS NOT NULL OR drained_at IS NOT NULL OR changed_at IS DISTINCT FROM 0
UNION ALL SELECT 'stock_ranges', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{prefix,node_ids,state,created_at,changed_at}') FROM stock_ranges AS each
UNION ALL SELECT 'stock_trials', CAST(node_id AS text) || ' ' || CAST(range_id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{problems,seen_as,changed_at}') FROM stock_trials AS each
UNION ALL SELECT 'stock', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{retiring}') FROM stock AS each WHERE retiring IS DISTINCT FROM 0
UNION ALL SELECT 'stock, quarantine', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{quarantined}') FROM stock AS each WHERE quarantined IS DISTINCT FROM 0
UNION ALL SELECT 'stock, rest', CAST(id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{rest_until}') FROM stock AS each WHERE rest_until IS NOT NULL
UNION ALL SELECT 'stock_prefixes', CAST(prefix AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{country,ipv,added_at,retired_at}') FROM stock_prefixes AS each
UNION ALL SELECT 'stock_prefixes, quarantine', CAST(prefix AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{quarantined}') FROM stock_prefixes AS each WHERE quarantined IS DISTINCT FROM 0
UNION ALL SELECT 'leases', CAST(slot_id AS text) || ' ' || CAST(started_at AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{ended_at,proxy_id}') FROM leases AS each WHERE ended_at IS NOT NULL
UNION ALL SELECT 'proxies', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{port_type,comment,renew_period,renew_token_id}') FROM proxies AS each WHERE port_type IS DISTINCT FROM 'http' OR comment IS DISTINCT FROM '' OR renew_period IS NOT NULL OR renew_token_id IS NOT NULL
UNION ALL SELECT 'proxies, entrance', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{both_protocols,sources,entry_port}') FROM proxies AS each WHERE both_protocols IS DISTINCT FROM 0 OR sources IS DISTINCT FROM '' OR entry_port IS NOT NULL
UNION ALL SELECT 'proxies, swap', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{replaced_by}') FROM proxies AS each WHERE replaced_by IS NOT NULL
UNION ALL SELECT 'proxies, last change', CAST(id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{renew_tried_at,changed_at}') FROM proxies AS each WHERE renew_tried_at IS NOT NULL OR changed_at IS DISTINCT FROM started_at
UNION ALL SELECT 'proxy_outages', CAST(proxy_id AS text) || ' ' || CAST(from_at AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{until_at,cause,given,expires_before,expires_after}') FROM proxy_outages AS each
UNION ALL SELECT 'subusers', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,login,name,is_default,digest,blocked_at,deleted_at,heir_id,closing_order,day_bytes,month_bytes,total_bytes,tunnels,keep_hosts,created_at}') FROM subusers AS each
UNION ALL SELECT 'subusers, last change', CAST(id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{changed_at}') FROM subusers AS each
UNION ALL SELECT 'whitelist_entries', CAST(subuser_id AS text) || ' ' || CAST(prefix AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{comment,created_at}') FROM whitelist_entries AS each
UNION ALL SELECT 'whitelist_entries, last use', CAST(subuser_id AS text) || ' ' || CAST(prefix AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{last_used_at}') FROM whitelist_entries AS each WHERE last_used_at IS NOT NULL
UNION ALL SELECT 'gateway_ports', CAST(port AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{subuser_id,parameters,ttl_minutes,session,created_at}') FROM gateway_ports AS each
UNION ALL SELECT 'gateway_ports_resting', CAST(port AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{since}') FROM gateway_ports_resting AS each
UNION ALL SELECT 'gateway_port_next', CAST(one AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{next}') FROM gateway_port_next AS each
UNION ALL SELECT 'exits', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{pool,kind,host,port,"?credentials",country,state,city,zip,asn,drained_at,created_at,changed_at}') FROM exits AS each
UNION ALL SELECT 'exits, node', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{node_id,offers}') FROM exits AS each WHERE node_id IS NOT NULL OR offers IS NOT NULL
UNION ALL SELECT 'usage_boots', CAST(node AS text) || ' ' || CAST(boot AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{last_at,closed_at}') FROM usage_boots AS each
UNION ALL SELECT 'usage_nodes', CAST(node AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{boot,since}') FROM usage_nodes AS each
UNION ALL SELECT 'usage_budgets, refused', CAST(node AS text) || ' ' || CAST(purpose AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{refused,refused_at}') FROM usage_budgets AS each WHERE refused IS DISTINCT FROM 0 OR refused_at IS NOT NULL
UNION ALL SELECT 'vpn_subscriptions', CAST(uuid AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,device_limit,speed_mbit,auto_renew_months,renew_token_id,link_digest,created_at,disabled_at,swept_at,deleted_at}') FROM vpn_subscriptions AS each
UNION ALL SELECT 'vpn_subscriptions, renewal', CAST(uuid AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{renew_after,renew_problem}') FROM vpn_subscriptions AS each WHERE renew_after IS DISTINCT FROM 0 OR renew_problem IS NOT NULL
UNION ALL SELECT 'vpn_peers', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{subscription_uuid,name,public_key,own_key,ipv4,ipv6,location,created_at,removed_at}') FROM vpn_peers AS each
UNION ALL SELECT 'vpn_peers, node', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{node_id}') FROM vpn_peers AS each WHERE node_id IS NOT NULL
UNION ALL SELECT 'vpn_peers, last change', CAST(id AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{last_handshake_at,changed_at}') FROM vpn_peers AS each
UNION ALL SELECT 'vpn_addresses', CAST(ipv4 AS text), CAST(0 AS BIGINT), row_content(to_jsonb(each), '{free_at}') FROM vpn_addresses AS each WHERE free_at IS DISTINCT FROM 0
UNION ALL SELECT 'payment_providers', CAST(name AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{settings,"?secret",enabled,changed_at}') FROM payment_providers AS each
UNION ALL SELECT 'payments', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,token_id,key,request,provider,method,amount,fee,return_url,state,provider_id,pay_url,qr,credited,debited,changes,created_at,expires_at}') FROM payments AS each
UNION ALL SELECT 'payments, code', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{code,bonus}') FROM payments AS each WHERE code IS NOT NULL OR bonus IS DISTINCT FROM 0
UNION ALL SELECT 'payments, purchase', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{purchase_product,purchase_input,purchase_price,purchase_catalogue,purchase_state,purchase_order,purchase_problem}') FROM payments AS each WHERE purchase_product IS NOT NULL OR purchase_input IS NOT NULL OR purchase_price IS NOT NULL OR purchase_catalogue IS NOT NULL OR purchase_state IS NOT NULL OR purchase_order IS NOT NULL OR purchase_problem IS NOT NULL
UNION ALL SELECT 'payment_changes', CAST(payment_id AS text) || ' ' || CAST(number AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{kind,state,amount,total,posting,at,note}') FROM payment_changes AS each
UNION ALL SELECT 'payment_refunds', CAST(payment_id AS text) || ' ' || CAST(step AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{amount,before,state,tries,requested_at}') FROM payment_refunds AS each
UNION ALL SELECT 'payment_notices', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{provider,provider_id,reason,payment_id,amount,currency,at,resolved_at,resolution}') FROM payment_notices AS each
UNION ALL SELECT 'payment_codes', CAST(code AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{kind,value,least,uses,until_at,created_at,ended_at,note}') FROM payment_codes AS each
UNION ALL SELECT 'referrals', CAST(customer_id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{referrer_id,at}') FROM referrals AS each
UNION ALL SELECT 'referral_codes', CAST(customer_id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{code,created_at}') FROM referral_codes AS each
UNION ALL SELECT 'referral_terms', CAST(one AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{hundredths,top_ups,changed_at}') FROM referral_terms AS each
UNION ALL SELECT 'operators', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{name,role,created_at,removed_at}') FROM operators AS each
UNION ALL SELECT 'operator_tokens', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{operator_id,digest,hint,name,created_at,expires_at,revoked_at}') FROM operator_tokens AS each
UNION ALL SELECT 'operator_answers', CAST(key AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{request,answer,at}') FROM operator_answers AS each
UNION ALL SELECT 'audit_log', CAST(seq AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{hash}') FROM audit_log AS each
UNION ALL SELECT 'console_sessions', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{kind,owner_id,digest,scopes,opened_by,created_at,expires_at,ended_at}') FROM console_sessions AS each
UNION ALL SELECT 'console_links', CAST(id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{kind,owner_id,purpose,digest,created_at,expires_at,used_at}') FROM console_links AS each
UNION ALL SELECT 'erasures', CAST(customer_id AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{requested_by,at,finished_at}') FROM erasures AS each
UNION ALL SELECT 'checkpoint_amendments', CAST(checkpoint AS text) || ' ' || CAST(number AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,versions,digest_before,digest_after,at}') FROM checkpoint_amendments AS each
UNION ALL SELECT 'audit_redactions', CAST(seq AS text), CAST(1 AS BIGINT), row_content(to_jsonb(each), '{customer_id,seal,at}') FROM audit_redactions AS each;
CREATE FUNCTION note_nodes_report_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content) VALUES ('nodes, report', CAST(NEW.id AS text), 0, quote_nullable(NEW.version) || ',' || quote_nullable(NEW.last_seen_at) || ',' || quote_nullable(NEW.boot) || ',' || quote_nullable(NEW.tunnels) || ',' || quote_nullable(NEW.lag_ms) || ',' || quote_nullable(NEW.total_bytes)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  RETURN NULL;
END
$$;
CREATE FUNCTION note_stock_ranges_history() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_ranges', CAST(NEW.id AS text), CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE COALESCE((SELECT MAX(version) FROM row_history WHERE of_table = 'stock_ranges' AND row_key = CAST(NEW.id AS text)), 0) + 1 END, quote_nullable(NEW.prefix) || ',' || quote_nullable(NEW.node_ids) || ',' || quote_nullable(NEW.state) || ',' || quote_nullable(NEW.created_at) || ',' || quote_nullable(NEW.changed_at));
  RETURN NULL;
END
$$;
CREATE FUNCTION note_stock_trials_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content) VALUES ('stock_trials', CAST(NEW.node_id AS text) || ' ' || CAST(NEW.range_id AS text), 0, quote_nullable(NEW.problems) || ',' || quote_nullable(NEW.seen_as) || ',' || quote_nullable(NEW.changed_at)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  RETURN NULL;
END
$$;
CREATE FUNCTION note_usage_boots_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_history (of_table, row_key, version, content) VALUES ('usage_boots', CAST(NEW.node AS text) || ' ' || CAST(NEW.boot AS text), 0, quote_nullable(NEW.last_at) || ',' || quote_nullable(NEW.closed_at)) ON CONFLICT (of_table, row_key, version) DO UPDATE SET content = excluded.content;
  RETURN NULL;
END
$$;
CREATE TRIGGER migrations_history AFTER INSERT OR UPDATE OF checksum, applied_at ON migrations FOR EACH ROW EXECUTE FUNCTION note_row('migrations', 'kept', '{name}', '{checksum,applied_at}');
CREATE TRIGGER shop_history AFTER INSERT OR UPDATE OF mode, opened_at ON shop FOR EACH ROW EXECUTE FUNCTION note_row('shop', 'kept', '{one}', '{mode,opened_at}');
CREATE TRIGGER counters_history AFTER INSERT OR UPDATE OF next ON counters FOR EACH ROW EXECUTE FUNCTION note_row('counters', 'latest', '{name}', '{next}');
CREATE TRIGGER catalogues_history AFTER INSERT OR UPDATE OF text, applied_at ON catalogues FOR EACH ROW EXECUTE FUNCTION note_row('catalogues', 'kept', '{version}', '{text,applied_at}');
CREATE TRIGGER customers_history AFTER INSERT OR UPDATE OF name, created_at, blocked_at ON customers FOR EACH ROW EXECUTE FUNCTION note_row('customers', 'kept', '{id}', '{name,created_at,blocked_at}');
CREATE TRIGGER tokens_history AFTER INSERT OR UPDATE OF customer_id, digest, hint, name, scopes, allowed_from, cap_kopecks, created_at, expires_at, revoked_at ON tokens FOR EACH ROW EXECUTE FUNCTION note_row('tokens', 'kept', '{id}', '{customer_id,digest,hint,name,scopes,allowed_from,cap_kopecks,created_at,expires_at,revoked_at}');
CREATE TRIGGER identities_history AFTER INSERT OR UPDATE OF kind, named, password, totp, totp_since, created_at, changed_at OR DELETE ON identities FOR EACH ROW EXECUTE FUNCTION note_row('identities', 'kept', '{owner_id}', '{kind,named,password,totp,totp_since,created_at,changed_at}');
CREATE TRIGGER nodes_history AFTER INSERT OR UPDATE OF kind, name, location, country_code, city, endpoint_host, endpoint_port, public_key, private_key, state, created_at, key_digest, key_expires_at, key_used_at, secret_digest, joined_at, link_mbit ON nodes FOR EACH ROW EXECUTE FUNCTION note_row('nodes', 'kept', '{id}', '{kind,name,location,country_code,city,endpoint_host,endpoint_port,public_key,"?private_key",state,created_at,key_digest,key_expires_at,key_used_at,secret_digest,joined_at,link_mbit}');
CREATE TRIGGER nodes_hop_key_history_insert AFTER INSERT ON nodes FOR EACH ROW WHEN (NEW.hop_key IS NOT NULL) EXECUTE FUNCTION note_row('nodes, hop key', 'kept', '{id}', '{hop_key}', 'NULL');
CREATE TRIGGER nodes_hop_key_history_update AFTER UPDATE OF hop_key ON nodes FOR EACH ROW WHEN (OLD.hop_key IS DISTINCT FROM NEW.hop_key) EXECUTE FUNCTION note_row('nodes, hop key', 'kept', '{id}', '{hop_key}', 'NULL');
CREATE TRIGGER nodes_report_history AFTER INSERT OR UPDATE OF version, last_seen_at, boot, tunnels, lag_ms, total_bytes ON nodes FOR EACH ROW EXECUTE FUNCTION note_nodes_report_history();
CREATE TRIGGER nodes_status_history AFTER UPDATE OF hop_bytes, stopping_boot, max_ports, drained_at, changed_at ON nodes FOR EACH ROW WHEN (OLD.hop_bytes IS DISTINCT FROM NEW.hop_bytes OR OLD.stopping_boot IS DISTINCT FROM NEW.stopping_boot OR OLD.max_ports IS DISTINCT FROM NEW.max_ports OR OLD.drained_at IS DISTINCT FROM NEW.drained_at OR OLD.changed_at IS DISTINCT FROM NEW.changed_at) EXECUTE FUNCTION note_row('nodes, status', 'latest', '{id}', '{hop_bytes,stopping_boot,max_ports,drained_at,changed_at}', 'NULL,NULL,NULL,NULL,''0''');
CREATE TRIGGER stock_ranges_history_insert AFTER INSERT ON stock_ranges FOR EACH ROW EXECUTE FUNCTION note_stock_ranges_history();
CREATE TRIGGER stock_ranges_history_update AFTER UPDATE OF prefix, node_ids, state, created_at, changed_at ON stock_ranges FOR EACH ROW WHEN (OLD.prefix IS DISTINCT FROM NEW.prefix OR OLD.node_ids IS DISTINCT FROM NEW.node_ids OR OLD.state IS DISTINCT FROM NEW.state OR OLD.created_at IS DISTINCT FROM NEW.created_at OR OLD.changed_at IS DISTINCT FROM NEW.changed_at) EXECUTE FUNCTION note_stock_ranges_history();
CREATE TRIGGER stock_trials_history_insert_update AFTER INSERT OR UPDATE OF problems, seen_as, changed_at ON stock_trials FOR EACH ROW EXECUTE FUNCTION note_stock_trials_history();
CREATE TRIGGER stock_trials_history_delete AFTER DELETE ON stock_trials FOR EACH ROW EXECUTE FUNCTION note_row('stock_trials', 'latest', '{node_id,range_id}', '{problems,seen_as,changed_at}');
CREATE TRIGGER stock_history AFTER UPDATE OF retiring ON stock FOR EACH ROW EXECUTE FUNCTION note_row('stock', 'kept', '{id}', '{retiring}', '''0''');
CREATE TRIGGER stock_quarantine_history AFTER UPDATE OF quarantined ON stock FOR EACH ROW EXECUTE FUNCTION note_row('stock, quarantine', 'kept', '{id}', '{quarantined}', '''0''');
CREATE TRIGGER stock_rest_history AFTER UPDATE OF rest_until ON stock FOR EACH ROW EXECUTE FUNCTION note_row('stock, rest', 'latest', '{id}', '{rest_until}', 'NULL');
CREATE TRIGGER stock_prefixes_history AFTER INSERT OR UPDATE OF country, ipv, added_at, retired_at ON stock_prefixes FOR EACH ROW EXECUTE FUNCTION note_row('stock_prefixes', 'kept', '{prefix}', '{country,ipv,added_at,retired_at}');
CREATE TRIGGER stock_prefixes_quarantine_history AFTER UPDATE OF quarantined ON stock_prefixes FOR EACH ROW EXECUTE FUNCTION note_row('stock_prefixes, quarantine', 'kept', '{prefix}', '{quarantined}', '''0''');
CREATE TRIGGER leases_history AFTER UPDATE OF ended_at, proxy_id ON leases FOR EACH ROW EXECUTE FUNCTION note_row('leases', 'kept', '{slot_id,started_at}', '{ended_at,proxy_id}', '', '{none,proxy_id}');
CREATE TRIGGER proxies_history AFTER UPDATE OF port_type, comment, renew_period, renew_token_id ON proxies FOR EACH ROW EXECUTE FUNCTION note_row('proxies', 'kept', '{id}', '{port_type,comment,renew_period,renew_token_id}', '''http'','''',NULL,NULL');
CREATE TRIGGER proxies_entrance_history AFTER UPDATE OF both_protocols, sources, entry_port ON proxies FOR EACH ROW EXECUTE FUNCTION note_row('proxies, entrance', 'kept', '{id}', '{both_protocols,sources,entry_port}', '''0'','''',NULL');
CREATE TRIGGER proxies_swap_history AFTER UPDATE OF replaced_by ON proxies FOR EACH ROW EXECUTE FUNCTION note_row('proxies, swap', 'kept', '{id}', '{replaced_by}', 'NULL');
CREATE TRIGGER proxies_last_change_history AFTER UPDATE OF renew_tried_at, changed_at ON proxies FOR EACH ROW EXECUTE FUNCTION note_row('proxies, last change', 'latest', '{id}', '{renew_tried_at,changed_at}', '', '{none,started_at}');
CREATE TRIGGER proxy_outages_history AFTER INSERT OR UPDATE OF until_at, cause, given, expires_before, expires_after ON proxy_outages FOR EACH ROW EXECUTE FUNCTION note_row('proxy_outages', 'kept', '{proxy_id,from_at}', '{until_at,cause,given,expires_before,expires_after}');
CREATE TRIGGER subusers_history AFTER INSERT OR UPDATE OF customer_id, login, name, is_default, digest, blocked_at, deleted_at, heir_id, closing_order, day_bytes, month_bytes, total_bytes, tunnels, keep_hosts, created_at ON subusers FOR EACH ROW EXECUTE FUNCTION note_row('subusers', 'kept', '{id}', '{customer_id,login,name,is_default,digest,blocked_at,deleted_at,heir_id,closing_order,day_bytes,month_bytes,total_bytes,tunnels,keep_hosts,created_at}');
CREATE TRIGGER subusers_last_change_history AFTER INSERT OR UPDATE OF changed_at ON subusers FOR EACH ROW EXECUTE FUNCTION note_row('subusers, last change', 'latest', '{id}', '{changed_at}');
CREATE TRIGGER whitelist_entries_history AFTER INSERT OR UPDATE OF comment, created_at OR DELETE ON whitelist_entries FOR EACH ROW EXECUTE FUNCTION note_row('whitelist_entries', 'kept', '{subuser_id,prefix}', '{comment,created_at}');
CREATE TRIGGER whitelist_entries_last_use_history AFTER UPDATE OF last_used_at OR DELETE ON whitelist_entries FOR EACH ROW EXECUTE FUNCTION note_row('whitelist_entries, last use', 'latest', '{subuser_id,prefix}', '{last_used_at}', 'NULL');
CREATE TRIGGER gateway_ports_history AFTER INSERT OR UPDATE OF subuser_id, parameters, ttl_minutes, session, created_at ON gateway_ports FOR EACH ROW EXECUTE FUNCTION note_row('gateway_ports', 'kept', '{port}', '{subuser_id,parameters,ttl_minutes,session,created_at}');
CREATE TRIGGER gateway_ports_resting_history AFTER INSERT OR DELETE ON gateway_ports_resting FOR EACH ROW EXECUTE FUNCTION note_row('gateway_ports_resting', 'kept', '{port}', '{since}');
CREATE TRIGGER gateway_port_next_history AFTER INSERT OR UPDATE OF next ON gateway_port_next FOR EACH ROW EXECUTE FUNCTION note_row('gateway_port_next', 'latest', '{one}', '{next}');
CREATE TRIGGER exits_history AFTER INSERT OR UPDATE OF pool, kind, host, port, credentials, country, state, city, zip, asn, drained_at, created_at, changed_at ON exits FOR EACH ROW EXECUTE FUNCTION note_row('exits', 'kept', '{id}', '{pool,kind,host,port,"?credentials",country,state,city,zip,asn,drained_at,created_at,changed_at}');
CREATE TRIGGER exits_node_history_insert AFTER INSERT ON exits FOR EACH ROW WHEN (NEW.node_id IS NOT NULL OR NEW.offers IS NOT NULL) EXECUTE FUNCTION note_row('exits, node', 'kept', '{id}', '{node_id,offers}', 'NULL,NULL');
CREATE TRIGGER exits_node_history_update AFTER UPDATE OF node_id, offers ON exits FOR EACH ROW WHEN (OLD.node_id IS DISTINCT FROM NEW.node_id OR OLD.offers IS DISTINCT FROM NEW.offers) EXECUTE FUNCTION note_row('exits, node', 'kept', '{id}', '{node_id,offers}', 'NULL,NULL');
CREATE TRIGGER usage_boots_history AFTER INSERT OR UPDATE OF last_at, closed_at ON usage_boots FOR EACH ROW EXECUTE FUNCTION note_usage_boots_history();
CREATE TRIGGER usage_nodes_history AFTER INSERT OR UPDATE OF boot, since ON usage_nodes FOR EACH ROW EXECUTE FUNCTION note_row('usage_nodes', 'latest', '{node}', '{boot,since}');
CREATE TRIGGER usage_budgets_refused_history AFTER UPDATE OF refused, refused_at ON usage_budgets FOR EACH ROW EXECUTE FUNCTION note_row('usage_budgets, refused', 'latest', '{node,purpose}', '{refused,refused_at}', '''0'',NULL');
CREATE TRIGGER vpn_subscriptions_history AFTER INSERT OR UPDATE OF customer_id, device_limit, speed_mbit, auto_renew_months, renew_token_id, link_digest, created_at, disabled_at, swept_at, deleted_at ON vpn_subscriptions FOR EACH ROW EXECUTE FUNCTION note_row('vpn_subscriptions', 'kept', '{uuid}', '{customer_id,device_limit,speed_mbit,auto_renew_months,renew_token_id,link_digest,created_at,disabled_at,swept_at,deleted_at}');
CREATE TRIGGER vpn_subscriptions_renewal_history AFTER UPDATE OF renew_after, renew_problem ON vpn_subscriptions FOR EACH ROW EXECUTE FUNCTION note_row('vpn_subscriptions, renewal', 'latest', '{uuid}', '{renew_after,renew_problem}', '''0'',NULL');
CREATE TRIGGER vpn_peers_history AFTER INSERT OR UPDATE OF subscription_uuid, name, public_key, own_key, ipv4, ipv6, location, created_at, removed_at ON vpn_peers FOR EACH ROW EXECUTE FUNCTION note_row('vpn_peers', 'kept', '{id}', '{subscription_uuid,name,public_key,own_key,ipv4,ipv6,location,created_at,removed_at}');
CREATE TRIGGER vpn_peers_node_history_insert AFTER INSERT ON vpn_peers FOR EACH ROW WHEN (NEW.node_id IS NOT NULL) EXECUTE FUNCTION note_row('vpn_peers, node', 'kept', '{id}', '{node_id}', 'NULL');
CREATE TRIGGER vpn_peers_node_history_update AFTER UPDATE OF node_id ON vpn_peers FOR EACH ROW WHEN (OLD.node_id IS DISTINCT FROM NEW.node_id) EXECUTE FUNCTION note_row('vpn_peers, node', 'kept', '{id}', '{node_id}', 'NULL');
CREATE TRIGGER vpn_peers_last_change_history AFTER INSERT OR UPDATE OF last_handshake_at, changed_at ON vpn_peers FOR EACH ROW EXECUTE FUNCTION note_row('vpn_peers, last change', 'latest', '{id}', '{last_handshake_at,changed_at}');
CREATE TRIGGER vpn_addresses_history AFTER UPDATE OF free_at ON vpn_addresses FOR EACH ROW EXECUTE FUNCTION note_row('vpn_addresses', 'latest', '{ipv4}', '{free_at}', '''0''');
CREATE TRIGGER payment_providers_history AFTER INSERT OR UPDATE OF settings, secret, enabled, changed_at ON payment_providers FOR EACH ROW EXECUTE FUNCTION note_row('payment_providers', 'kept', '{name}', '{settings,"?secret",enabled,changed_at}');
CREATE TRIGGER payments_history AFTER INSERT OR UPDATE OF customer_id, token_id, key, request, provider, method, amount, fee, return_url, state, provider_id, pay_url, qr, credited, debited, changes, created_at, expires_at ON payments FOR EACH ROW EXECUTE FUNCTION note_row('payments', 'kept', '{id}', '{customer_id,token_id,key,request,provider,method,amount,fee,return_url,state,provider_id,pay_url,qr,credited,debited,changes,created_at,expires_at}');
CREATE TRIGGER payments_code_history_insert AFTER INSERT ON payments FOR EACH ROW WHEN (NEW.code IS NOT NULL OR NEW.bonus IS DISTINCT FROM 0) EXECUTE FUNCTION note_row('payments, code', 'kept', '{id}', '{code,bonus}', 'NULL,''0''');
CREATE TRIGGER payments_code_history_update AFTER UPDATE OF code, bonus ON payments FOR EACH ROW WHEN (OLD.code IS DISTINCT FROM NEW.code OR OLD.bonus IS DISTINCT FROM NEW.bonus) EXECUTE FUNCTION note_row('payments, code', 'kept', '{id}', '{code,bonus}', 'NULL,''0''');
CREATE TRIGGER payments_purchase_history_insert AFTER INSERT ON payments FOR EACH ROW WHEN (NEW.purchase_product IS NOT NULL OR NEW.purchase_input IS NOT NULL OR NEW.purchase_price IS NOT NULL OR NEW.purchase_catalogue IS NOT NULL OR NEW.purchase_state IS NOT NULL OR NEW.purchase_order IS NOT NULL OR NEW.purchase_problem IS NOT NULL) EXECUTE FUNCTION note_row('payments, purchase', 'kept', '{id}', '{purchase_product,purchase_input,purchase_price,purchase_catalogue,purchase_state,purchase_order,purchase_problem}', 'NULL,NULL,NULL,NULL,NULL,NULL,NULL');
CREATE TRIGGER payments_purchase_history_update AFTER UPDATE OF purchase_product, purchase_input, purchase_price, purchase_catalogue, purchase_state, purchase_order, purchase_problem ON payments FOR EACH ROW WHEN (OLD.purchase_product IS DISTINCT FROM NEW.purchase_product OR OLD.purchase_input IS DISTINCT FROM NEW.purchase_input OR OLD.purchase_price IS DISTINCT FROM NEW.purchase_price OR OLD.purchase_catalogue IS DISTINCT FROM NEW.purchase_catalogue OR OLD.purchase_state IS DISTINCT FROM NEW.purchase_state OR OLD.purchase_order IS DISTINCT FROM NEW.purchase_order OR OLD.purchase_problem IS DISTINCT FROM NEW.purchase_problem) EXECUTE FUNCTION note_row('payments, purchase', 'kept', '{id}', '{purchase_product,purchase_input,purchase_price,purchase_catalogue,purchase_state,purchase_order,purchase_problem}', 'NULL,NULL,NULL,NULL,NULL,NULL,NULL');
CREATE TRIGGER payment_changes_history AFTER INSERT ON payment_changes FOR EACH ROW EXECUTE FUNCTION note_row('payment_changes', 'kept', '{payment_id,number}', '{kind,state,amount,total,posting,at,note}');
CREATE TRIGGER payment_refunds_history AFTER INSERT OR UPDATE OF amount, before, state, tries, requested_at ON payment_refunds FOR EACH ROW EXECUTE FUNCTION note_row('payment_refunds', 'kept', '{payment_id,step}', '{amount,before,state,tries,requested_at}');
CREATE TRIGGER payment_notices_history AFTER INSERT OR UPDATE OF provider, provider_id, reason, payment_id, amount, currency, at, resolved_at, resolution ON payment_notices FOR EACH ROW EXECUTE FUNCTION note_row('payment_notices', 'kept', '{id}', '{provider,provider_id,reason,payment_id,amount,currency,at,resolved_at,resolution}');
CREATE TRIGGER payment_codes_history AFTER INSERT OR UPDATE OF kind, value, least, uses, until_at, created_at, ended_at, note ON payment_codes FOR EACH ROW EXECUTE FUNCTION note_row('payment_codes', 'kept', '{code}', '{kind,value,least,uses,until_at,created_at,ended_at,note}');
CREATE TRIGGER referrals_history AFTER INSERT OR UPDATE OF referrer_id, at ON referrals FOR EACH ROW EXECUTE FUNCTION note_row('referrals', 'kept', '{customer_id}', '{referrer_id,at}');
CREATE TRIGGER referral_codes_history AFTER INSERT OR UPDATE OF code, created_at OR DELETE ON referral_codes FOR EACH ROW EXECUTE FUNCTION note_row('referral_codes', 'kept', '{customer_id}', '{code,created_at}');
CREATE TRIGGER referral_terms_history AFTER INSERT OR UPDATE OF hundredths, top_ups, changed_at ON referral_terms FOR EACH ROW EXECUTE FUNCTION note_row('referral_terms', 'kept', '{one}', '{hundredths,top_ups,changed_at}');
CREATE TRIGGER operators_history AFTER INSERT OR UPDATE OF name, role, created_at, removed_at OR DELETE ON operators FOR EACH ROW EXECUTE FUNCTION note_row('operators', 'kept', '{id}', '{name,role,created_at,removed_at}');
CREATE TRIGGER operator_tokens_history AFTER INSERT OR UPDATE OF operator_id, digest, hint, name, created_at, expires_at, revoked_at OR DELETE ON operator_tokens FOR EACH ROW EXECUTE FUNCTION note_row('operator_tokens', 'kept', '{id}', '{operator_id,digest,hint,name,created_at,expires_at,revoked_at}');
CREATE TRIGGER operator_answers_history AFTER INSERT OR UPDATE OF request, answer, at OR DELETE ON operator_answers FOR EACH ROW EXECUTE FUNCTION note_row('operator_answers', 'kept', '{key}', '{request,answer,at}');
CREATE TRIGGER audit_log_history AFTER INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION note_row('audit_log', 'kept', '{seq}', '{hash}');
CREATE TRIGGER console_sessions_history AFTER INSERT OR UPDATE OF kind, owner_id, digest, scopes, opened_by, created_at, expires_at, ended_at OR DELETE ON console_sessions FOR EACH ROW EXECUTE FUNCTION note_row('console_sessions', 'kept', '{id}', '{kind,owner_id,digest,scopes,opened_by,created_at,expires_at,ended_at}');
CREATE TRIGGER console_links_history AFTER INSERT OR UPDATE OF kind, owner_id, purpose, digest, created_at, expires_at, used_at OR DELETE ON console_links FOR EACH ROW EXECUTE FUNCTION note_row('console_links', 'kept', '{id}', '{kind,owner_id,purpose,digest,created_at,expires_at,used_at}');
CREATE TRIGGER erasures_history AFTER INSERT OR UPDATE OF requested_by, at, finished_at ON erasures FOR EACH ROW EXECUTE FUNCTION note_row('erasures', 'kept', '{customer_id}', '{requested_by,at,finished_at}');
CREATE TRIGGER checkpoint_amendments_history AFTER INSERT ON checkpoint_amendments FOR EACH ROW EXECUTE FUNCTION note_row('checkpoint_amendments', 'kept', '{checkpoint,number}', '{customer_id,versions,digest_before,digest_after,at}');
CREATE TRIGGER audit_redactions_history AFTER INSERT OR UPDATE OF customer_id, seal, at ON audit_redactions FOR EACH ROW EXECUTE FUNCTION note_row('audit_redactions', 'kept', '{seq}', '{customer_id,seal,at}');
-- @both
INSERT INTO row_history (of_table, row_key, version, content)
SELECT of_table, row_key, kept, content FROM row_contents;
