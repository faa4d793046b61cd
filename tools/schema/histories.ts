/**
 * Rows that `verify` cannot compute from other rows. The database copies each change of them to `row_history` by a
 * trigger, whichever statement made the change. A row that was changed behind the shop's back differs from its copy.
 */
export type History = {
  /** The name in `row_history`: the table, and after a comma which of its columns, where it has several histories. */
  readonly of: string
  /** The columns of the primary key, with spaces between. */
  readonly key: string
  /** The copied columns. Of a column with `?` only IS NULL is copied, so that the history keeps no erased value. */
  readonly columns: string
  /** Values of new rows, one for each column: an SQL literal, or another column. Such a row has no version. */
  readonly initial?: string
  /** `latest` for what changes often: one version, number 0. All others are kept for good, numbered from 1. */
  readonly keep?: 'latest'
  /** The statements that make a version; without it, `insert update`. */
  readonly on?: string
  /** Written by every report of a node or in bulk: the trigger names the columns itself, which is faster. */
  readonly direct?: true
  /** PostgreSQL compares the columns before it calls the function: most updates of the table leave them as they are. */
  readonly guarded?: true
}

/**
 * By the migration that makes the triggers. A released migration does not change: a new history goes under the name of
 * a new migration.
 */
export const histories: Readonly<Record<string, readonly History[]>> = {
  '0002-history-and-checks': [
    // The shop.
    { of: 'migrations', key: 'name', columns: 'checksum applied_at' },
    { of: 'shop', key: 'one', columns: 'mode opened_at' },
    { of: 'counters', key: 'name', columns: 'next', keep: 'latest' },
    { of: 'catalogues', key: 'version', columns: 'text applied_at' },
    // Customers.
    { of: 'customers', key: 'id', columns: 'name created_at blocked_at' },
    {
      of: 'tokens',
      key: 'id',
      columns: `customer_id digest hint name scopes allowed_from cap_kopecks created_at expires_at revoked_at`,
    },
    {
      of: 'identities',
      key: 'owner_id',
      columns: 'kind named password totp totp_since created_at changed_at',
      on: 'insert update delete',
    },
    // Nodes.
    {
      of: 'nodes',
      key: 'id',
      columns: `kind name location country_code city endpoint_host endpoint_port public_key ?private_key state
        created_at key_digest key_expires_at key_used_at secret_digest joined_at link_mbit`,
    },
    { of: 'nodes, hop key', key: 'id', columns: 'hop_key', initial: 'NULL' },
    {
      of: 'nodes, report',
      key: 'id',
      columns: 'version last_seen_at boot tunnels lag_ms total_bytes',
      keep: 'latest',
      direct: true,
    },
    {
      of: 'nodes, status',
      key: 'id',
      columns: 'hop_bytes stopping_boot max_ports drained_at changed_at',
      initial: 'NULL NULL NULL NULL 0',
      keep: 'latest',
      on: 'update',
      guarded: true,
    },
    // Stock.
    { of: 'stock_ranges', key: 'id', columns: 'prefix node_ids state created_at changed_at', direct: true },
    {
      of: 'stock_trials',
      key: 'node_id range_id',
      columns: 'problems seen_as changed_at',
      keep: 'latest',
      on: 'insert update delete',
      direct: true,
    },
    { of: 'stock', key: 'id', columns: 'retiring', initial: '0', on: 'update' },
    { of: 'stock, quarantine', key: 'id', columns: 'quarantined', initial: '0', on: 'update' },
    { of: 'stock, rest', key: 'id', columns: 'rest_until', initial: 'NULL', keep: 'latest', on: 'update' },
    { of: 'stock_prefixes', key: 'prefix', columns: 'country ipv added_at retired_at' },
    { of: 'stock_prefixes, quarantine', key: 'prefix', columns: 'quarantined', initial: '0', on: 'update' },
    { of: 'leases', key: 'slot_id started_at', columns: 'ended_at proxy_id', initial: 'NULL proxy_id', on: 'update' },
    // Dedicated proxies.
    {
      of: 'proxies',
      key: 'id',
      columns: 'port_type comment renew_period renew_token_id',
      initial: "'http' '' NULL NULL",
      on: 'update',
    },
    {
      of: 'proxies, entrance',
      key: 'id',
      columns: 'both_protocols sources entry_port',
      initial: "0 '' NULL",
      on: 'update',
    },
    { of: 'proxies, swap', key: 'id', columns: 'replaced_by', initial: 'NULL', on: 'update' },
    {
      of: 'proxies, last change',
      key: 'id',
      columns: 'renew_tried_at changed_at',
      initial: 'NULL started_at',
      keep: 'latest',
      on: 'update',
    },
    { of: 'proxy_outages', key: 'proxy_id from_at', columns: 'until_at cause given expires_before expires_after' },
    // Premium proxies.
    {
      of: 'subusers',
      key: 'id',
      columns: `customer_id login name is_default digest blocked_at deleted_at heir_id closing_order day_bytes
        month_bytes total_bytes tunnels keep_hosts created_at`,
    },
    { of: 'subusers, last change', key: 'id', columns: 'changed_at', keep: 'latest' },
    { of: 'whitelist_entries', key: 'subuser_id prefix', columns: 'comment created_at', on: 'insert update delete' },
    {
      of: 'whitelist_entries, last use',
      key: 'subuser_id prefix',
      columns: 'last_used_at',
      initial: 'NULL',
      keep: 'latest',
      on: 'update delete',
    },
    { of: 'gateway_ports', key: 'port', columns: 'subuser_id parameters ttl_minutes session created_at' },
    { of: 'gateway_ports_resting', key: 'port', columns: 'since', on: 'insert delete' },
    { of: 'gateway_port_next', key: 'one', columns: 'next', keep: 'latest' },
    {
      of: 'exits',
      key: 'id',
      columns: `pool kind host port ?credentials country state city zip asn drained_at created_at changed_at`,
    },
    { of: 'exits, node', key: 'id', columns: 'node_id offers', initial: 'NULL NULL' },
    // Usage that nodes reported.
    { of: 'usage_boots', key: 'node boot', columns: 'last_at closed_at', keep: 'latest', direct: true },
    { of: 'usage_nodes', key: 'node', columns: 'boot since', keep: 'latest' },
    {
      of: 'usage_budgets, refused',
      key: 'node purpose',
      columns: 'refused refused_at',
      initial: '0 NULL',
      keep: 'latest',
      on: 'update',
    },
    // VPN.
    {
      of: 'vpn_subscriptions',
      key: 'uuid',
      columns: `customer_id device_limit speed_mbit auto_renew_months renew_token_id link_digest created_at disabled_at
        swept_at deleted_at`,
    },
    {
      of: 'vpn_subscriptions, renewal',
      key: 'uuid',
      columns: 'renew_after renew_problem',
      initial: '0 NULL',
      keep: 'latest',
      on: 'update',
    },
    {
      of: 'vpn_peers',
      key: 'id',
      columns: `subscription_uuid name public_key own_key ipv4 ipv6 location created_at removed_at`,
    },
    { of: 'vpn_peers, node', key: 'id', columns: 'node_id', initial: 'NULL' },
    { of: 'vpn_peers, last change', key: 'id', columns: 'last_handshake_at changed_at', keep: 'latest' },
    { of: 'vpn_addresses', key: 'ipv4', columns: 'free_at', initial: '0', keep: 'latest', on: 'update' },
    // Payments.
    { of: 'payment_providers', key: 'name', columns: 'settings ?secret enabled changed_at' },
    {
      of: 'payments',
      key: 'id',
      columns: `customer_id token_id key request provider method amount fee return_url state provider_id pay_url qr
        credited debited changes created_at expires_at`,
    },
    { of: 'payments, code', key: 'id', columns: 'code bonus', initial: 'NULL 0' },
    {
      of: 'payments, purchase',
      key: 'id',
      columns: `purchase_product purchase_input purchase_price purchase_catalogue purchase_state purchase_order
        purchase_problem`,
      initial: 'NULL NULL NULL NULL NULL NULL NULL',
    },
    {
      of: 'payment_changes',
      key: 'payment_id number',
      columns: 'kind state amount total posting at note',
      on: 'insert',
    },
    { of: 'payment_refunds', key: 'payment_id step', columns: 'amount before state tries requested_at' },
    {
      of: 'payment_notices',
      key: 'id',
      columns: `provider provider_id reason payment_id amount currency at resolved_at resolution`,
    },
    { of: 'payment_codes', key: 'code', columns: 'kind value least uses until_at created_at ended_at note' },
    { of: 'referrals', key: 'customer_id', columns: 'referrer_id at' },
    { of: 'referral_codes', key: 'customer_id', columns: 'code created_at', on: 'insert update delete' },
    { of: 'referral_terms', key: 'one', columns: 'hundredths top_ups changed_at' },
    // Operators.
    { of: 'operators', key: 'id', columns: 'name role created_at removed_at', on: 'insert update delete' },
    {
      of: 'operator_tokens',
      key: 'id',
      columns: 'operator_id digest hint name created_at expires_at revoked_at',
      on: 'insert update delete',
    },
    { of: 'operator_answers', key: 'key', columns: 'request answer at', on: 'insert update delete' },
    { of: 'audit_log', key: 'seq', columns: 'hash', on: 'insert' },
    {
      of: 'console_sessions',
      key: 'id',
      columns: 'kind owner_id digest scopes opened_by created_at expires_at ended_at',
      on: 'insert update delete',
    },
    {
      of: 'console_links',
      key: 'id',
      columns: 'kind owner_id purpose digest created_at expires_at used_at',
      on: 'insert update delete',
    },
    // Erasures.
    { of: 'erasures', key: 'customer_id', columns: 'requested_by at finished_at' },
    {
      of: 'checkpoint_amendments',
      key: 'checkpoint number',
      columns: 'customer_id versions digest_before digest_after at',
      on: 'insert',
    },
    { of: 'audit_redactions', key: 'seq', columns: 'customer_id seal at' },
  ],
  '0004-removal-history': [
    { of: 'nodes, removal', key: 'id', columns: 'removed_at', initial: 'NULL', on: 'update' },
    { of: 'exits, removal', key: 'id', columns: 'removed_at', initial: 'NULL', on: 'update' },
  ],
  '0036-webhook-history': [
    {
      of: 'webhooks',
      key: 'id',
      columns: 'customer_id url events ?old_secrets old_until state problem created_at',
      on: 'insert update delete',
    },
  ],
}
