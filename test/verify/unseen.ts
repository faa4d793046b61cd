import type { Kind, Row } from './edits.ts'

/** Edits that `verify` cannot see, and why not; of all kinds unless said. A column without a name is the whole row. */
export type Unseen = {
  readonly table: string
  readonly column: string
  readonly kinds?: readonly Kind[]
  /** Which rows it cannot be seen in; all unless said. */
  readonly of?: (row: Row) => boolean
  /** Whether it depends on chance, like the order of ids, if it comes up among the rows that are tried. */
  readonly byChance?: true
  readonly because: string
}

/** Counts that nobody pays by: of dedicated proxies, which are sold by time, and by host. */
const isUnpaid = (row: Row): boolean => /^(proxy|premium-host):/.test(String(row['subject']))

/** A count of a device's bytes, and one of which nothing is believed. */
const isDevices = (row: Row): boolean => String(row['subject']).startsWith('dev_')
const isDisbelieved = (row: Row): boolean => row['believed_received'] === 0n && row['believed_sent'] === 0n

/** The latest version of what has nothing to tell. */
const tellsNothing = (row: Row): boolean => row['version'] === 0n && row['content'] === null

/** A budget for where bytes went, which nobody is billed by. */
const isForHosts = (row: Row): boolean => row['purpose'] === 'hosts'

/** An address of the VPN's block that no device has had yet. */
const isFresh = (row: Row): boolean => row['peer_id'] === null && row['free_at'] === 0n

/** Everything else is found. A new column is found or stands here, or the test fails. */
export const unseen: readonly Unseen[] = [
  {
    table: 'answers',
    column: '',
    kinds: ['row deleted'],
    because: 'answers are forgotten after a week, and one that is missing looks like one that was forgotten',
  },
  {
    table: 'proxies',
    column: 'username',
    kinds: ['changed'],
    because:
      'four letters of it are chance; another name is found if it is another proxy’s, and opens nothing if it is nobody’s',
  },
  {
    table: 'proxies',
    column: 'resumed_at',
    of: (row: Row) => row['resumed_at'] === null,
    because: 'one that is missing only lets a later outage begin sooner; one that is there is found in its orders',
  },
  {
    table: 'accounts',
    column: 'revocation_epoch',
    because:
      'a sale only compares it, and asks the tokens and the customer, whose history is kept, where it is another',
  },
  {
    table: 'stock_trials',
    column: 'proven_at',
    because: 'it is the time of the last call, written again by the next; a call from an address without one is found',
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
    because: 'when a node last let go of a place: an outage begins no sooner, and what was given for it is found',
  },
  {
    table: 'stock',
    column: 'known_carrier',
    of: (row: Row) => row['state'] === 'leased',
    because:
      'which gateway its holder was told of decides only whether he is told again; one that there is not is found',
  },
  {
    table: 'events',
    column: '',
    kinds: ['row deleted'],
    byChance: true,
    because: 'the oldest is forgotten with time; one that is missing among later ones is found',
  },
  {
    table: 'event_numbers',
    column: '',
    kinds: ['row doubled'],
    because: 'of whom nothing is kept, no event says which was the last',
  },
  {
    table: 'vpn_terms',
    column: 'used_before',
    kinds: ['raised', 'lowered', 'copied', 'swapped'],
    of: (row) => row['seq'] !== 1n,
    because:
      'what was used before time that goes on is only remembered: within what was used since, no limit depends on it',
  },
  {
    table: 'traffic_lots',
    column: 'order_id',
    kinds: ['copied', 'swapped'],
    byChance: true,
    because:
      'of bytes that were moved to another sub-user only the lot says which of the purchases of one customer, in one pool and with one end, they come from',
  },
  {
    table: 'traffic_hosts',
    column: '',
    kinds: ['row deleted'],
    because:
      'which hosts, for the customer’s eyes: they are forgotten with time, so less than nodes counted is no fault',
  },
  ...['node', 'boot', 'subject', ''].map((column) => ({
    table: 'usage_counts',
    column,
    of: isUnpaid,
    because:
      'what dedicated proxies carry is not paid for, and hosts are shown and not billed; no other row repeats them',
  })),
  ...['node', 'boot'].map((column) => ({
    table: 'usage_counts',
    column,
    kinds: ['copied', 'swapped'] as const,
    of: isDevices,
    because: 'what a device has carried in all is found; which boot of which node counted it, only this row says',
  })),
  {
    table: 'usage_counts',
    column: '',
    kinds: ['row deleted'],
    of: (row: Row) => isDevices(row) && isDisbelieved(row),
    because: 'a claim of which nothing is believed adds to nothing; `usage quarantine` shows one less',
  },
  ...['of_table', 'row_key', ''].map((column) => ({
    table: 'row_history',
    column,
    kinds: ['changed', 'copied', 'swapped', 'row deleted'] as const,
    of: tellsNothing,
    because: 'the latest version of what has nothing to tell is the same as none',
  })),
  {
    table: 'usage_budgets',
    column: '',
    kinds: ['row deleted'],
    of: isForHosts,
    because: 'it begins afresh with the next report, smaller than it was',
  },
  ...(['ipv4', ''] as const).map((column) => ({
    table: 'vpn_addresses',
    column,
    of: isFresh,
    because: 'an address that nobody has had is a number in a list; the block is carved again from its end',
  })),
  ...['exit_id', 'node_id'].map((column) => ({
    table: 'exit_reports',
    column,
    kinds: ['copied', 'swapped'] as const,
    byChance: true as const,
    because: 'of an exit and a gateway that there are, who said what of which is said again within ten seconds',
  })),
  ...['up', 'since_at', 'reason', 'reported_at', ''].map((column) => ({
    table: 'exit_reports',
    column,
    because:
      'what a gateway says of an exit is said again within ten seconds, and is not believed for longer than thirty',
  })),
  {
    table: 'exit_counts',
    column: 'node_id',
    kinds: ['copied', 'swapped'],
    byChance: true,
    because: 'what went through an exit in all is found; which of the gateways counted it is shown to nobody',
  },
  {
    table: 'exit_counts',
    column: 'boot',
    because:
      'what went through an exit in all is found; which boot of a gateway counted it is shown to nobody and billed to nobody',
  },
  ...['source', 'agent', 'used_at'].map((column) => ({
    table: 'console_sessions',
    column,
    because:
      'where a session was opened and when it was last used is for its owner’s eyes, and for whose failed attempts ' +
      'are counted apart; it opens nothing',
  })),
  {
    table: 'console_links',
    column: 'payload',
    because:
      'it is an e-mail address that waits to be confirmed and what was chosen for it, which are not to outlive their ' +
      'day in the history',
  },
  {
    table: 'identities',
    column: 'totp_step',
    because: 'the last code that was used lets nobody in who has neither the password nor the next code',
  },
  { table: 'customers', column: 'note', because: 'what operators note about a customer decides nothing' },
  ...['used_at', 'used_from'].map((column) => ({
    table: 'tokens',
    column,
    because: 'when and from where a token was last used is for its owner’s eyes, and opens nothing',
  })),
  {
    table: 'payments',
    column: 'ask_at',
    because:
      'when a provider is asked next; a payment that is not asked for is told of, and reconciling names the rest',
  },
  ...['buy_at', 'buy_tries'].map((column) => ({
    table: 'payments',
    column,
    because: 'when a purchase that was paid for is tried next; it is bought once under its key, or lapses after 3 days',
  })),
  ...['name', 'back_at', ''].map((column) => ({
    table: 'rate_buckets',
    column,
    because: 'how often somebody has asked decides nothing but when he may ask again, and is forgotten within the hour',
  })),
]
