import type { Kind, Row } from './edits.ts'

/** Edits that `verify` cannot find, and why; of all kinds by default. An empty column means the whole row. */
export type Unseen = {
  readonly table: string
  readonly column: string
  readonly kinds?: readonly Kind[]
  /** The rows in which it cannot be found; all by default. */
  readonly of?: (row: Row) => boolean
  /** Whether the edit occurs among the tried rows only by chance, as with the order of ids. */
  readonly byChance?: true
  readonly because: string
}

/** Counts that are not billed: of dedicated proxies, which are sold by time, and by host. */
const isUnpaid = (row: Row): boolean => /^(proxy|premium-host):/.test(String(row['subject']))

/** A count of a device's bytes. */
const isDevices = (row: Row): boolean => String(row['subject']).startsWith('dev_')
const isDisbelieved = (row: Row): boolean => row['believed_received'] === 0n && row['believed_sent'] === 0n

/** The latest version of a row without content. */
const isEmptyVersion = (row: Row): boolean => row['version'] === 0n && row['content'] === null

/** A budget for bytes by host, which are not billed. */
const isForHosts = (row: Row): boolean => row['purpose'] === 'hosts'

/** An address of the VPN's block that no device has had yet. */
const isFresh = (row: Row): boolean => row['peer_id'] === null && row['free_at'] === 0n

/** All other edits are found. The test fails for a new column that is neither found nor listed here. */
export const unseen: readonly Unseen[] = [
  {
    table: 'answers',
    column: '',
    kinds: ['row deleted'],
    because: 'answers are deleted after a week, and a missing one looks like a deleted one',
  },
  {
    table: 'answers',
    column: 'token_id',
    because: 'it only chooses which token of the same customer gets the answer again, within a week',
  },
  ...['answers', 'tokens'].map((table) => ({
    table,
    column: 'api_version',
    because: 'it chooses only the form of an answer; the customer may set that of a token at any time',
  })),
  {
    table: 'answers',
    column: 'named_ids',
    because: 'it only chooses which answers an erasure deletes before their week is over; no row repeats it',
  },
  ...[
    ...['', 'name', 'text', 'changed_at'].map((column) => ({ table: 'brand_texts', column })),
    ...['', 'type', 'content', 'changed_at'].map((column) => ({ table: 'brand_images', column })),
  ].map((each) => ({
    ...each,
    because: 'it is how pages look; no row repeats it, and an operator sees it on every page',
  })),
  {
    table: 'stock_prefixes',
    column: 'serving_node',
    kinds: ['changed', 'nulled'],
    because:
      'the reports of gateways write it again; until then a range of IPv6 is sold on another gateway, or not at all',
  },
  {
    table: 'proxies',
    column: 'username',
    kinds: ['changed'],
    because: 'four letters are random; a name of another proxy is found, and any other name opens nothing',
  },
  {
    table: 'proxies',
    column: 'resumed_at',
    of: (row: Row) => row['resumed_at'] === null,
    because: 'a missing value only lets a later outage begin sooner; a present one is found in its orders',
  },
  {
    table: 'accounts',
    column: 'revocation_epoch',
    because: 'a sale only compares it, and reads the tokens and the customer, which have a history, if it differs',
  },
  {
    table: 'accounts',
    column: 'alert_below',
    byChance: true,
    because: 'it decides only whether the customer gets an event, and the customer may change it at any time',
  },
  {
    table: 'proxies',
    column: 'renew_problem',
    because: 'it decides only whether the customer gets an event again, and the next renewal writes it again',
  },
  ...['customer_id', 'kind', 'subject', 'key', 'value', ''].map((column) => ({
    table: 'metadata',
    column,
    byChance: true as const,
    because: 'the customer may change it at any time, and no money, good or access depends on it',
  })),
  ...[
    'customer_id',
    'at',
    'request_id',
    'operation',
    'status',
    'reason',
    'idempotency_key',
    'token_id',
    'is_read',
    '',
  ].map((column) => ({
    table: 'request_log',
    column,
    because: 'a note for the customer, deleted after 7 days, that decides nothing and that no other row repeats',
  })),
  ...['name', 'at', 'after_id', ''].map((column) => ({
    table: 'event_marks',
    column,
    because: 'it decides only which ends are announced; the events that were written are found',
  })),
  ...['done_seq', 'tries', 'took_ms', 'next_at', 'asked', 'lease', 'leased_at'].map((column) => ({
    table: 'webhook_progress',
    column,
    because: 'it decides only when what is sent to an endpoint; the events and deliveries are found',
  })),
  {
    table: 'webhook_progress',
    column: 'lease_until',
    byChance: true,
    because: 'it decides only which shop delivers next; without a lease it is found',
  },
  ...['id', 'webhook_id', 'problem', ''].map((column) => ({
    table: 'webhook_deliveries',
    column,
    because: 'a note of an attempt that contradicts nothing, only shown and deleted after 30 days; its event is found',
  })),
  ...['tries', 'tried_at', 'answer_status', 'took_ms'].map((column) => ({
    table: 'webhook_deliveries',
    column,
    byChance: true as const,
    because: 'a figure of an attempt that fits its status, only shown and deleted after 30 days; its event is found',
  })),
  ...['type', 'subject', 'data', 'raised_at', 'seen_at', ''].map((column) => ({
    table: 'alerts',
    column,
    because: 'the next look for alerts raises it again or ends it; the events of the operators are found',
  })),
  ...['id', 'kind', 'product', 'ends_within_days', 'node_id', 'effective_at', 'state', 'after_customer', ''].map(
    (column) => ({
      table: 'mailings',
      column,
      byChance: true as const,
      because: 'it decides only who gets a message; the audit log has its text and audience, and its events are found',
    }),
  ),
  ...['customers', 'created_at', 'subject_en', 'text_en', 'subject_ru', 'text_ru'].map((column) => ({
    table: 'mailings',
    column,
    because: 'it is shown to operators and sent to customers; the audit log has the text',
  })),
  ...['customer_id', 'kinds', 'language', 'done_seq', 'changed_at', ''].map((column) => ({
    table: 'notice_choices',
    column,
    byChance: true as const,
    because: 'the customer may change it at any time, and it decides only which letters are sent',
  })),
  ...['customer_id', 'day', 'letters', ''].map((column) => ({
    table: 'notice_days',
    column,
    because: 'it decides only whether a letter waits until the next day',
  })),
  ...[
    'id',
    'customer_id',
    'kind',
    'mailing_id',
    'events',
    'more',
    'state',
    'tries',
    'next_at',
    'lease',
    'lease_until',
    'created_at',
    'ended_at',
    '',
  ].map((column) => ({
    table: 'notice_letters',
    column,
    byChance: true as const,
    because: 'a letter that waits or was sent, deleted after 30 days; its events are found',
  })),
  ...['kind', 'language', 'subject', 'text', 'changed_at', ''].map((column) => ({
    table: 'notice_templates',
    column,
    byChance: true as const,
    because: 'a text that operators see and may change at any time; the audit log has it',
  })),
  ...['sent', 'failed', 'unsubscribed', 'no_address'].map((column) => ({
    table: 'mailings',
    column,
    because: 'a count of letters that is only shown to operators',
  })),
  ...['subject', 'whole', 'due_left', ''].map((column) => ({
    table: 'traffic_alerts',
    column,
    because: 'it decides only when the customer gets an event of traffic; the traffic itself is found',
  })),
  ...['tls_host', 'tls_port', 'tls_browser_host', 'tls_vpn', 'tls_pin', 'hop_tls_name'].map((column) => ({
    table: 'nodes',
    column,
    byChance: true as const,
    because: 'the next report of the gateway writes it again, within seconds',
  })),
  ...['hop_tls_port', 'hop_tls_key', 'hops'].map((column) => ({
    table: 'nodes',
    column,
    byChance: true as const,
    because: 'the next report of the gateway writes it again, within seconds; a value of another type is found',
  })),
  {
    table: 'nodes',
    column: 'vpn_links',
    byChance: true,
    because: 'it only says how apps connect, the operator sees it, and no sale or price depends on it',
  },
  {
    table: 'nodes',
    column: 'interface_mbit',
    because: 'the next report of the node writes it again, within seconds; CHECK limits it to 800 Gbit/s',
  },
  ...['state_cursor', 'whole_read_at'].map((column) => ({
    table: 'nodes',
    column,
    because: 'no version since 0.2.0 reads it',
  })),
  {
    table: 'password_keys',
    column: '',
    kinds: ['row deleted'],
    because: 'a missing key is made again; until gateways have it, a new purchase works after their next state page',
  },
  {
    table: 'password_keys',
    column: 'signs_from',
    because: 'a key that signs too early only lets a new purchase wait for the next state page of gateways',
  },
  {
    table: 'nodes',
    column: 'awaits_state',
    because: 'it delays sales of the node until its next state request; the next rewind sets it again',
  },
  {
    table: 'nodes',
    column: 'lost_life',
    because: 'it only limits a list that is shown; the next rewind sets it again',
  },
  ...['', 'source', 'day', 'noted_at', 'summed_at'].map((column) => ({
    table: 'summed_days',
    column,
    byChance: true as const,
    because:
      'a day without a row is read from its postings and summed again; a row for a day whose sums differ is found',
  })),
  ...['posting_sums', 'order_sums'].map((table) => ({
    table,
    column: '',
    kinds: ['row doubled'] as const,
    byChance: true as const,
    because: 'the sums of a day that is not noted are not read, and are replaced when it is summed',
  })),
  {
    table: 'proxy_days',
    column: '',
    kinds: ['row deleted'],
    because: 'it is a bar of a chart; a missing one looks like a day without traffic, and days are deleted after 31',
  },
  ...['history_marks', 'rewinds', 'lost_goods'].map((table) => ({
    table,
    column: '',
    because: 'a missing mark looks like a database that went back, and is noted; the others are shown and not used',
  })),
  ...[
    ...['number', 'made_at', 'nonce', 'ids'].map((column) => ({ table: 'history_marks', column })),
    ...['life', 'noted_at', 'back_to', 'lost_until'].map((column) => ({ table: 'rewinds', column })),
    ...['node_id', 'kind', 'item', 'login', 'address', 'owner', 'reported_at', 'life', 'seen_at'].map((column) => {
      return { table: 'lost_goods', column }
    }),
  ].map((each) => ({
    ...each,
    because: 'no sale, price or delivery depends on it; marks are sealed where they are kept',
  })),
  {
    table: 'stock_trials',
    column: 'proven_at',
    because: 'it is the time of the last call, and the next call writes it again; a call without an address is found',
  },
  {
    table: 'stock_trials',
    column: 'proof_until',
    because:
      'the next call writes it again; too early stops new sales until then, too late lets a claim count until then',
  },
  {
    table: 'stock',
    column: 'lost_at',
    because:
      'the time when a node last stopped serving a slot: an outage begins no sooner, and its compensation is found',
  },
  {
    table: 'stock',
    column: 'known_node',
    of: (row: Row) => row['state'] === 'leased',
    because: 'it decides only whether the customer gets another event; a gateway that does not exist is found',
  },
  {
    table: 'events',
    column: '',
    kinds: ['row deleted'],
    byChance: true,
    because: 'the oldest event is deleted with time; one that is missing among later ones is found',
  },
  {
    table: 'event_numbers',
    column: '',
    kinds: ['row doubled'],
    because: 'a customer without events has no last event to compare',
  },
  {
    table: 'vpn_terms',
    column: 'used_before',
    kinds: ['raised', 'lowered', 'copied', 'swapped'],
    of: (row) => row['seq'] !== 1n,
    because: 'the usage before a running term is only stored: no limit depends on it within the usage since',
  },
  {
    table: 'vpn_peers',
    column: 'app_digest',
    byChance: true,
    because: 'it only says which device of the same subscription an app gets; the limit counts devices',
  },
  ...['device_id', 'place', 'subscription_uuid', 'began_at', 'active_at', ''].map((column) => ({
    table: 'vpn_places',
    column,
    because: 'it says which machines connect now; gateways write it again within 10 s, and it is deleted after minutes',
  })),
  {
    table: 'vpn_subscriptions',
    column: 'used_up_groups',
    because: 'the next report of a node of the group writes it again, from counts that are found; it decides no money',
  },
  ...['last_protocol', 'last_node'].map((column) => ({
    table: 'vpn_peers',
    column,
    because: 'it only shows how a device connected last; nothing depends on it, and the next connection writes it',
  })),
  {
    table: 'vpn_subscriptions',
    column: 'name',
    because: 'the customer chooses the name and may change it at any time; nothing depends on it',
  },
  {
    table: 'traffic_lots',
    column: 'order_id',
    kinds: ['copied', 'swapped'],
    byChance: true,
    because:
      'only the lot names the purchase of bytes moved to another sub-user, among purchases of one customer, pool and expiry',
  },
  {
    table: 'traffic_hosts',
    column: '',
    kinds: ['row deleted'],
    because: 'hosts are only shown to the customer and deleted with time, so a smaller sum than the counts is allowed',
  },
  ...['node', 'boot', 'subject', ''].map((column) => ({
    table: 'usage_counts',
    column,
    of: isUnpaid,
    because: 'bytes of dedicated proxies and of hosts are not billed, and no other row repeats them',
  })),
  ...['node', 'boot'].map((column) => ({
    table: 'usage_counts',
    column,
    kinds: ['copied', 'swapped'] as const,
    of: isDevices,
    because: 'the total of a device is found; only this row names the node and boot that counted it',
  })),
  {
    table: 'usage_counts',
    column: '',
    kinds: ['row deleted'],
    of: (row: Row) => isDevices(row) && isDisbelieved(row),
    because: 'a claim without believed bytes adds to no sum; `usage quarantine` shows one less',
  },
  ...['of_table', 'row_key', ''].map((column) => ({
    table: 'row_history',
    column,
    kinds: ['changed', 'copied', 'swapped', 'row deleted'] as const,
    of: isEmptyVersion,
    because: 'the latest version of a row without content equals no version',
  })),
  {
    table: 'usage_budgets',
    column: '',
    kinds: ['row deleted'],
    of: isForHosts,
    because: 'it starts again with the next report, smaller than before',
  },
  ...(['ipv4', ''] as const).map((column) => ({
    table: 'vpn_addresses',
    column,
    of: isFresh,
    because: 'an unused address is only a number in a list; the block is allocated again from its end',
  })),
  ...['exit_id', 'node_id'].map((column) => ({
    table: 'exit_reports',
    column,
    kinds: ['copied', 'swapped'] as const,
    byChance: true as const,
    because: 'gateways report every exit again within 10 s',
  })),
  ...['up', 'since_at', 'reason', 'reported_at', ''].map((column) => ({
    table: 'exit_reports',
    column,
    because: 'a gateway reports an exit again within 10 s, and a report expires after 30 s',
  })),
  ...['node_id', 'boot', 'total_bytes', 'hop_bytes', 'tunnels', 'reported_at', ''].map((column) => ({
    table: 'node_boots',
    column,
    because: 'figures of earlier processes of a node are only shown to the operator, and bill nothing',
  })),
  {
    table: 'exit_counts',
    column: 'node_id',
    kinds: ['copied', 'swapped'],
    byChance: true,
    because: 'the total of an exit is found; the gateway that counted it is not shown',
  },
  {
    table: 'exit_counts',
    column: 'boot',
    because: 'the total of an exit is found; the boot that counted it is neither shown nor billed',
  },
  ...['source', 'agent', 'used_at'].map((column) => ({
    table: 'console_sessions',
    column,
    because:
      'the address and last use of a session are shown to its owner and separate its failed attempts; ' +
      'they authorize nothing',
  })),
  {
    table: 'console_links',
    column: 'payload',
    because: 'it holds an unconfirmed e-mail address and its password, which the history drops after one day',
  },
  {
    table: 'identities',
    column: 'confirmed_at',
    because: 'nothing else says whether a letter has confirmed an address; the next opened letter writes it again',
  },
  {
    table: 'identities',
    column: 'totp_step',
    because: 'the last used code alone authenticates no one without the password and the next code',
  },
  ...['request_id', 'idempotency_key'].map((column) => ({
    table: 'orders',
    column,
    because: 'it only tells operators which request made the order; a repeat is recognized by the sealed answer',
  })),
  { table: 'customers', column: 'note', because: 'a note of operators about a customer decides nothing' },
  ...['used_at', 'used_from'].map((column) => ({
    table: 'tokens',
    column,
    because: 'the time and address of the last use of a token are only shown to its owner',
  })),
  {
    table: 'payments',
    column: 'ask_at',
    because: 'the time of the next poll; an unpolled payment is notified, and reconciliation names the rest',
  },
  ...['buy_at', 'buy_tries'].map((column) => ({
    table: 'payments',
    column,
    because: 'the time of the next purchase attempt; the purchase is made once under its key, or lapses after 3 days',
  })),
  ...['name', 'back_at', ''].map((column) => ({
    table: 'rate_buckets',
    column,
    because: 'a rate-limit bucket decides only when the next request is allowed, and expires within an hour',
  })),
  ...['node_id', 'at', 'figures', ''].map((column) => ({
    table: 'node_samples',
    column,
    because: 'a point of a graph of the node; nothing is billed or decided by it, and it is deleted after a month',
  })),
]
