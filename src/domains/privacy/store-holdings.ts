import type { Trace } from '../../db/row-erasure.ts'

/** The rows of a table about a customer, for an export. */
export type Holding = {
  readonly table: string
  /** The condition for the customer `$1`. */
  readonly of: string
  /** The sort key, unique among these rows. */
  readonly key: readonly string[]
  /** The numeric columns of the key. */
  readonly numbers?: readonly string[]
  /** Columns that are never exported: secrets, digests, other people. */
  readonly hidden?: readonly string[]
  /** Columns of one row that concern another customer or an operator. */
  readonly foreign?: (row: Readonly<Record<string, unknown>>) => readonly string[]
  /** Columns that are exported to operators only. */
  readonly forOperators?: readonly string[] | 'all'
}

/** The condition for rows of the customer's things. */
const of = (column: string, table: string): string => `${column} IN (${own(table)})`
const own = (table: string): string => `SELECT id FROM ${table} WHERE customer_id = $1`
/** House accounts whose postings refer to another customer's payment or to an operator. */
const ofOthers = new Set(['funds:operator', 'funds:referral'])
const subscriptions = 'SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1'

/** All tables about a customer, in the order of an export. */
export const holdings: readonly Holding[] = [
  { table: 'customers', of: 'id = $1', key: ['id'], forOperators: ['note'] },
  { table: 'identities', of: 'owner_id = $1', key: ['owner_id'], hidden: ['named', 'password', 'totp', 'recovery'] },
  { table: 'tokens', of: 'customer_id = $1', key: ['id'], hidden: ['digest'] },
  { table: 'token_spending', of: of('token_id', 'tokens'), key: ['token_id'] },
  {
    table: 'console_sessions',
    // An operator's view is not the customer's session.
    of: `owner_id = $1 AND kind = 'customer' AND opened_by IS NULL`,
    key: ['id'],
    hidden: ['digest', 'opened_by'],
  },
  { table: 'console_links', of: 'owner_id = $1', key: ['id'], hidden: ['digest', 'payload'] },
  { table: 'erasures', of: 'customer_id = $1', key: ['customer_id'] },
  { table: 'accounts', of: 'customer_id = $1', key: ['customer_id'], hidden: ['head', 'revocation_epoch'] },
  {
    table: 'postings',
    of: 'customer_id = $1',
    key: ['seq'],
    numbers: ['seq'],
    hidden: ['hash'],
    foreign: (row) => (ofOthers.has(String(row['house'])) ? ['reference', 'key'] : []),
  },
  { table: 'orders', of: 'customer_id = $1', key: ['id'] },
  { table: 'metadata', of: 'customer_id = $1', key: ['kind', 'subject', 'key'] },
  { table: 'request_log', of: 'customer_id = $1', key: ['at', 'request_id'], numbers: ['at'] },
  { table: 'answers', of: 'customer_id = $1', key: ['key'], hidden: ['request', 'body'] },
  { table: 'events', of: 'customer_id = $1', key: ['seq'], numbers: ['seq'] },
  { table: 'webhooks', of: 'customer_id = $1', key: ['id'], hidden: ['secrets', 'old_secrets'] },
  {
    table: 'webhook_progress',
    of: 'customer_id = $1',
    key: ['webhook_id'],
    hidden: ['lease', 'lease_until', 'leased_at'],
  },
  { table: 'webhook_deliveries', of: 'customer_id = $1', key: ['id'] },
  { table: 'notice_choices', of: 'customer_id = $1', key: ['customer_id'] },
  { table: 'notice_letters', of: 'customer_id = $1', key: ['id'], hidden: ['lease', 'lease_until'] },
  { table: 'notice_days', of: 'customer_id = $1', key: ['customer_id'] },
  { table: 'payments', of: 'customer_id = $1', key: ['id'], hidden: ['request'] },
  {
    table: 'payment_changes',
    // A referral share belongs to the referrer.
    of: `payment_id IN (${own('payments')}) AND kind NOT IN ('share', 'share_back')`,
    key: ['payment_id', 'number'],
    numbers: ['number'],
    forOperators: ['note'],
  },
  { table: 'payment_refunds', of: of('payment_id', 'payments'), key: ['payment_id', 'step'], numbers: ['step'] },
  { table: 'payment_notices', of: of('payment_id', 'payments'), key: ['id'], forOperators: 'all' },
  { table: 'referral_codes', of: 'customer_id = $1', key: ['customer_id'] },
  { table: 'referrals', of: 'customer_id = $1', key: ['customer_id'], hidden: ['referrer_id'] },
  { table: 'proxies', of: 'customer_id = $1', key: ['id'], numbers: ['id'], hidden: ['password', 'password_digest'] },
  {
    table: 'leases',
    of: of('proxy_id', 'proxies'),
    key: ['slot_id', 'started_at'],
    numbers: ['slot_id', 'started_at'],
  },
  {
    table: 'proxy_outages',
    of: of('proxy_id', 'proxies'),
    key: ['proxy_id', 'from_at'],
    numbers: ['proxy_id', 'from_at'],
  },
  { table: 'proxy_days', of: of('proxy_id', 'proxies'), key: ['proxy_id', 'day_at'], numbers: ['proxy_id', 'day_at'] },
  { table: 'vpn_subscriptions', of: 'customer_id = $1', key: ['uuid'], hidden: ['link_digest', 'link_secret'] },
  {
    table: 'vpn_terms',
    of: `subscription_uuid IN (${subscriptions})`,
    key: ['subscription_uuid', 'seq'],
    numbers: ['seq'],
  },
  { table: 'vpn_slots', of: `subscription_uuid IN (${subscriptions})`, key: ['order_id'] },
  {
    table: 'vpn_peers',
    of: `subscription_uuid IN (${subscriptions})`,
    key: ['id'],
    hidden: ['private_key', 'access_keys', 'app_digest'],
  },
  { table: 'subusers', of: 'customer_id = $1', key: ['id'], hidden: ['password', 'digest'] },
  { table: 'whitelist_entries', of: of('subuser_id', 'subusers'), key: ['subuser_id', 'prefix'] },
  { table: 'gateway_ports', of: of('subuser_id', 'subusers'), key: ['port'], numbers: ['port'] },
  { table: 'traffic_accounts', of: of('subuser_id', 'subusers'), key: ['subuser_id', 'pool'], hidden: ['head'] },
  {
    table: 'traffic_alerts',
    of: `(subject IN (SELECT 'vpn:' || uuid FROM vpn_subscriptions WHERE customer_id = $1)
      OR subject IN (SELECT 'premium:' || subuser_id || ':' || pool FROM traffic_accounts
        WHERE subuser_id IN (${own('subusers')})))`,
    key: ['subject'],
  },
  { table: 'traffic_lots', of: of('subuser_id', 'subusers'), key: ['subuser_id', 'pool', 'order_id'] },
  {
    table: 'traffic_movements',
    of: of('subuser_id', 'subusers'),
    key: ['subuser_id', 'pool', 'seq'],
    numbers: ['seq'],
    hidden: ['hash'],
  },
  { table: 'traffic_hours', of: of('subuser_id', 'subusers'), key: ['subuser_id', 'pool', 'hour'], numbers: ['hour'] },
  {
    table: 'traffic_hosts',
    of: of('subuser_id', 'subusers'),
    key: ['subuser_id', 'pool', 'hour', 'host'],
    numbers: ['hour'],
  },
  {
    table: 'audit_log',
    of: `request LIKE '%' || CAST($1 AS TEXT) || '%'`,
    key: ['seq'],
    numbers: ['seq'],
    hidden: ['operator_id', 'name', 'role', 'source', 'hash'],
    forOperators: 'all',
  },
  {
    table: 'operator_answers',
    of: `(request LIKE '%' || CAST($1 AS TEXT) || '%' OR answer LIKE '%' || CAST($1 AS TEXT) || '%')`,
    key: ['key'],
    forOperators: 'all',
  },
]

/** Tables without personal data, and why. */
export const impersonal: Readonly<Record<string, string>> = {
  shop: 'the shop itself',
  migrations: 'the schema',
  closed_shop: 'the shop itself',
  catalogues: 'price lists',
  counters: 'numbers to give out',
  history_marks: 'random marks of moments',
  password_keys: 'keys of the shop',
  rewinds: 'moments',
  lost_goods: 'logins and addresses of goods that the database has lost, with pseudonyms, deleted after 90 days',
  node_samples: 'figures of nodes for graphs',
  rate_buckets: 'digests of rate-limit keys, deleted after a while',
  checkpoints: 'digests',
  summed_days: 'days',
  posting_sums: 'sums over all customers',
  order_sums: 'sums over all customers',
  checkpoint_amendments: 'digests, and whose erasure made them',
  audit_redactions: 'digests, and whose erasure made them',
  audit_log_end: 'a digest',
  row_history: 'earlier versions of the rows above, blanked with them',
  brand_texts: 'how pages look; visitors read it',
  brand_images: 'how pages look; visitors see it',
  notice_templates: 'texts of the shop',
  mailings: 'texts of operators to all or some customers',
  alerts: 'nodes, kinds of addresses and ids of notices; operators read them',
  event_marks: 'moments up to which ends of any customers were announced',
  event_numbers: 'numbers of the last events of customers',
  payment_providers: 'the shop’s own',
  payment_codes: 'the shop’s own',
  referral_terms: 'the shop’s own',
  operators: 'operators of the shop',
  operator_tokens: 'operators of the shop',
  nodes: 'machines',
  node_boots: 'machines',
  exits: 'addresses to leave from',
  exit_reports: 'machines',
  exit_counts: 'sums over all customers',
  exit_days: 'sums over all customers',
  stock: 'addresses; their holders are in leases',
  stock_prefixes: 'addresses',
  stock_ranges: 'addresses',
  stock_trials: 'machines',
  gateway_ports_resting: 'numbers of ports',
  gateway_port_next: 'a number',
  vpn_addresses: 'addresses; their holders are in vpn_peers',
  vpn_places: 'digests of networks, deleted after minutes',
  usage_boots: 'machines',
  usage_nodes: 'machines',
  usage_budgets: 'machines',
  usage_leases: 'bytes by sub-user and node; traffic_movements has the totals',
  usage_counts: 'bytes by subject and node; those by host are erased with traffic_hosts',
}

const named = (table: string, rows: string): Trace => ({ table, keys: `row_key IN (${rows})` })
const ids = (table: string): string => `SELECT CAST(id AS TEXT) FROM ${table} WHERE customer_id = $1`

/** The row history about a customer. Versions of sessions and links, deleted by then, begin with the owner. */
export const traces: readonly Trace[] = [
  { table: 'customers', keys: 'row_key = $1' },
  { table: 'identities', keys: 'row_key = $1' },
  { table: 'referral_codes', keys: 'row_key = $1' },
  named('tokens', ids('tokens')),
  ...['console_sessions', 'console_links'].map((table) => ({
    table,
    keys: `row_key IN (SELECT row_key FROM row_history AS known WHERE known.of_table = '${table}'
      AND SUBSTR(known.content, 1, 43) = '''customer'',''' || CAST($1 AS TEXT) || '''')`,
  })),
  {
    table: 'webhooks',
    // Versions of removed endpoints begin with the customer.
    keys: `row_key IN (SELECT row_key FROM row_history AS known WHERE known.of_table = 'webhooks'
      AND SUBSTR(known.content, 1, 32) = '''' || CAST($1 AS TEXT) || '''')`,
  },
  named('proxies', ids('proxies')),
  named('proxies, entrance', ids('proxies')),
  named('vpn_peers', `SELECT id FROM vpn_peers WHERE subscription_uuid IN (${subscriptions})`),
  named('subusers', ids('subusers')),
  named('gateway_ports', `SELECT CAST(port AS TEXT) FROM gateway_ports WHERE subuser_id IN (${own('subusers')})`),
  named('payments', ids('payments')),
  named('payments, purchase', ids('payments')),
  named(
    'operator_answers',
    `SELECT key FROM operator_answers
     WHERE request LIKE '%' || CAST($1 AS TEXT) || '%' OR answer LIKE '%' || CAST($1 AS TEXT) || '%'`,
  ),
  ...['whitelist_entries', 'whitelist_entries, last use'].map(
    (table): Trace => ({
      table,
      beginnings: `SELECT id AS beginning FROM subusers WHERE customer_id = $1`,
      // Entries that still exist were added since, and are deleted first.
      except: `SELECT subuser_id || ' ' || prefix FROM whitelist_entries WHERE subuser_id = $1`,
    }),
  ),
]
