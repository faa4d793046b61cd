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

/** A count of bytes that are billed by leases, and one of a device's. */
const isLeased = (row: Row): boolean => String(row['subject']).startsWith('premium:')
const isDevices = (row: Row): boolean => String(row['subject']).startsWith('dev_')

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
  ...['from_at', 'until_at', 'expires_before', 'expires_after', 'given', 'cause', ''].map((column) => ({
    table: 'proxy_outages',
    column,
    of: (row: Row) => row['given'] !== 'time',
    because: 'one for which no time was given moved no end; money that was given is in the ledger',
  })),
  {
    table: 'proxy_outages',
    column: 'cause',
    because: 'why it could not be used decides nothing once it is over',
  },
  {
    table: 'proxies',
    column: 'resumed_at',
    of: (row: Row) => row['resumed_at'] === null,
    because: 'one that is missing only lets a later outage begin sooner; one that is there is found in its orders',
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
  ...['type', 'at', 'order_id', 'subject', 'data', 'customer_id'].map((column) => ({
    table: 'events',
    column,
    because: 'what a customer was told decides nothing, and is forgotten; that none is missing is found',
  })),
  {
    table: 'events',
    column: '',
    kinds: ['row deleted'],
    because: 'the oldest is forgotten with time; one that is missing among later ones is found',
  },
  {
    table: 'events',
    column: 'seq',
    kinds: ['lowered', 'swapped', 'copied'],
    because: 'which of two was told first decides nothing; a number that is missing or given out twice is found',
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
    table: 'traffic_hours',
    column: 'hour',
    kinds: ['swapped', 'copied'],
    because: 'what an account carried in all is counted; in which hour, only this row says',
  },
  {
    table: 'traffic_hours',
    column: 'received',
    kinds: ['swapped'],
    because: 'what an account carried in all is counted; in which hour, only this row says',
  },
  {
    table: 'traffic_hours',
    column: 'sent',
    kinds: ['swapped'],
    because: 'what an account carried in all is counted; in which hour, only this row says',
  },
  {
    table: 'traffic_hosts',
    column: 'hour',
    kinds: ['swapped', 'copied'],
    byChance: true,
    because:
      'which hosts, for the customer’s eyes: they are forgotten with time, so less than nodes counted is no fault',
  },
  {
    table: 'traffic_hosts',
    column: 'received',
    kinds: ['lowered', 'copied', 'swapped'],
    because:
      'which hosts, for the customer’s eyes: they are forgotten with time, so less than nodes counted is no fault',
  },
  {
    table: 'traffic_hosts',
    column: 'sent',
    kinds: ['lowered', 'copied', 'swapped'],
    because:
      'which hosts, for the customer’s eyes: they are forgotten with time, so less than nodes counted is no fault',
  },
  {
    table: 'traffic_hosts',
    column: '',
    kinds: ['row deleted'],
    because:
      'which hosts, for the customer’s eyes: they are forgotten with time, so less than nodes counted is no fault',
  },
  {
    table: 'nodes',
    column: 'stopping_boot',
    because:
      'whether a node stops only it can say, and its next boot says the contrary; nothing that was sold goes by it',
  },
  {
    table: 'usage_counts',
    column: 'updated_at',
    because: 'when a count was last raised is told to nobody, and decides nothing',
  },
  ...['node', 'boot', 'subject', 'received', 'sent', 'believed_received', 'believed_sent', ''].map((column) => ({
    table: 'usage_counts',
    column,
    of: isUnpaid,
    because:
      'what dedicated proxies carry is not paid for, and hosts are shown and not billed; no other row repeats them',
  })),
  ...['believed_received', 'believed_sent'].map((column) => ({
    table: 'usage_counts',
    column,
    of: isLeased,
    because: 'what is billed is found; of a claim in quarantine it is nobody’s loss how much was thought possible',
  })),
  ...['received', 'sent'].map((column) => ({
    table: 'usage_counts',
    column,
    kinds: ['raised', 'copied', 'swapped'] as const,
    of: isDevices,
    because: 'a node may claim anything: what is believed is what counts, and a claim below that is found',
  })),
  {
    table: 'usage_budgets',
    column: '',
    kinds: ['row deleted'],
    of: isForHosts,
    because: 'it begins afresh with the next report, smaller than it was',
  },
  ...['rest', 'at'].map((column) => ({
    table: 'usage_budgets',
    column,
    because:
      'how much more a node can have carried by now is another number with each report, and its link bounds it anyway',
  })),
  ...(['ipv4', ''] as const).map((column) => ({
    table: 'vpn_addresses',
    column,
    of: isFresh,
    because: 'an address that nobody has had is a number in a list; the block is carved again from its end',
  })),
  ...['exit_id', 'node_id', 'up', 'since_at', 'reason', 'said_at', ''].map((column) => ({
    table: 'exit_words',
    column,
    because:
      'what a gateway says of an exit is said again within ten seconds, and is not believed for longer than thirty',
  })),
  ...['relayed', 'most_ports'].map((column) => ({
    table: 'nodes',
    column,
    because: 'a gateway says it again with every report, every two seconds',
  })),
  {
    table: 'nodes',
    column: 'changed_at',
    because: 'when other gateways were last to look; each reads all of them whenever it starts',
  },
  {
    table: 'nodes',
    column: 'drained_at',
    because: 'nothing new comes to a node that is drained, and nothing is lost: "node list" shows it',
  },
  ...['node_id', 'boot'].map((column) => ({
    table: 'exit_counts',
    column,
    because:
      'what went through an exit in all is found; which gateway counted it is shown to nobody and billed to nobody',
  })),
  {
    table: 'exit_counts',
    column: 'received',
    kinds: ['swapped'],
    because:
      'what went through an exit in all is found; which gateway counted it is shown to nobody and billed to nobody',
  },
  {
    table: 'exit_counts',
    column: 'sent',
    kinds: ['swapped'],
    because:
      'what went through an exit in all is found; which gateway counted it is shown to nobody and billed to nobody',
  },
  ...['day', 'received', 'sent'].map((column) => ({
    table: 'exit_days',
    column,
    kinds: ['swapped', 'copied'] as const,
    byChance: true as const,
    because: 'what went through an exit in all is found; on which day, only this row says',
  })),
  {
    table: 'usage_leases',
    column: 'turn',
    because: 'the number of the node’s last question is the node’s own; no byte moves by it',
  },
  {
    table: 'usage_leases',
    column: 'claimable',
    kinds: ['lowered', 'copied'],
    because:
      'how much of a lapsed lease may still be claimed depends on questions that are not kept; no more than lapsed is found',
  },
  {
    table: 'usage_leases',
    column: 'changed_at',
    because: 'it sorts the operator’s list of claims in quarantine, and decides nothing',
  },
  ...['source', 'agent', 'used_at'].map((column) => ({
    table: 'console_sessions',
    column,
    because: 'where a session was opened and when it was last used is for its owner’s eyes, and opens nothing',
  })),
  {
    table: 'console_links',
    column: 'payload',
    because: 'it is an e-mail address that waits to be confirmed, which is not to outlive its day in the history',
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
  ...['problems', 'seen_as', 'changed_at'].map((column) => ({
    table: 'stock_trials',
    column,
    because:
      'what a node said is in the way of addresses that it cannot use is for the operator’s eyes; no sale goes by it',
  })),
  {
    table: 'payments',
    column: 'ask_at',
    because:
      'when a provider is asked next; a payment that is not asked for is told of, and reconciling names the rest',
  },
  ...['name', 'back_at', ''].map((column) => ({
    table: 'rate_buckets',
    column,
    because: 'how often somebody has asked decides nothing but when he may ask again, and is forgotten within the hour',
  })),
]
