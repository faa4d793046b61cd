import type { Translation } from './catalogue.ts'

/** Entries of the hash chains that `verify` walks. */
const entries = {
  posting: 'postings',
  movement: 'movements',
  entry: 'entries',
  checkpoint: 'checkpoints',
  event: 'events',
}
export type ChainEntry = keyof typeof entries

/** The promises that `verify` checks, with their names. */
const promises = {
  answer: 'Stored answer',
  api_spent: 'Spent via API',
  audit: 'Audit log',
  balance: 'Balance',
  budget: 'Budget of a node',
  bytes: 'Traffic',
  cap: 'Spending cap',
  chain: 'Chain of postings',
  checkpoint: 'Checkpoint',
  constraint: 'Constraint',
  counter: 'Counter of numbers',
  days: 'Traffic by day',
  delivery: 'Delivered goods',
  event: 'Event',
  exit: 'Exit',
  file: 'Database file',
  history: 'Row history',
  hosts: 'Traffic by host',
  hours: 'Traffic by hour',
  lease: 'Lease',
  lots: 'Bought traffic',
  node: 'Node',
  order: 'Order',
  payment: 'Payment',
  port: 'Port',
  posting: 'Posting',
  price: 'Price',
  refund: 'Refund',
  schema: 'Schema',
  secret: 'Secret',
  'sign-in': 'Sign-in',
  stock: 'Addresses',
  'sub-user': 'Sub-user',
  sum: 'Sum of accounts',
  term: 'Term',
  token: 'Token',
  totals: 'Sums of days',
  'traffic order': 'Traffic order',
  verifier: 'Part of verify',
  vpn: 'VPN',
  webhook: 'Webhook',
}

/** What to do about a finding of a promise; `other` is for the promises without their own advice. */
const advices = {
  schema: 'stop the shop, compare the schema with the migrations, and restore the missing parts before the next write',
  file: 'stop the shop, copy the file aside, and restore the last backup that verifies; later sales are in the copy',
  constraint: 'select the rows that break the constraint, and restore them from a backup',
  history: 'read the versions of the row in row_history and write the right one back; it was changed without the shop',
  totals: 'delete the day from summed_days: the shop sums it again within minutes; find out who changed the row',
  checkpoint: 'keep this database as it is, and compare it with a backup that is older than the checkpoint',
  other: 'compare the row with a backup; a computed value, like a balance, follows from the rows it is computed from',
}

/** Parts of a report that could not be checked. */
const notes = {
  schema_not_compared:
    'The schema was not compared with the migrations: the database user of the shop may not create a schema.',
  found_by_earlier_part:
    'This part found nothing. Earlier parts, or a whole verification, found problems, and no whole round has been ' +
    'free of them since. A whole verification lists those that remain.',
}

/** The row or the thing that a finding is about. */
const subjects = {
  account: (of: { customer: string }) => `account of ${of.customer}`,
  accounts: 'all accounts',
  address: (of: { address: string }) => `address ${of.address}`,
  answer: (of: { customer: string; key: string }) => `answer of ${of.customer} to key ${of.key}`,
  audit_entry: (of: { seq: number }) => `entry ${of.seq} of the audit log`,
  audit_log: 'the audit log',
  block: (of: { prefix: string }) => `block ${of.prefix}`,
  budget: (of: { node: string }) => `budget of ${of.node}`,
  checkpoint: (of: { number: number }) => `checkpoint ${of.number}`,
  checkpoint_kept: (of: { number: number | null; hash: string }) =>
    of.number === null ? `checkpoint ${of.hash}` : `checkpoint ${of.number}, ${of.hash}`,
  constraint: (of: { table: string; name: string }) => `${of.table}: ${of.name}`,
  counter: (of: { name: 'slot' | 'proxy' }) => `counter of ${of.name === 'slot' ? 'slots' : 'proxies'}`,
  device: (of: { id: string }) => `device ${of.id}`,
  webhook: (of: { id: string }) => `endpoint ${of.id}`,
  delivery: (of: { id: string }) => `delivery ${of.id}`,
  event: (of: { seq: number; customer: string }) => `event ${of.seq} of ${of.customer}`,
  exit: (of: { id: string }) => `exit ${of.id}`,
  file: 'database file',
  lease: (of: { slot: number }) => `lease of slot ${of.slot}`,
  login: (of: { owner: string }) => `login of ${of.owner}`,
  movement: (of: { seq: number; pool: string; subuser: string }) =>
    `movement ${of.seq} of ${of.pool} traffic of ${of.subuser}`,
  /** A part of the schema, by the name that the database has for it. */
  named: (of: { name: string }) => of.name,
  node: (of: { name: string }) => `node ${of.name}`,
  order: (of: { id: string }) => `order ${of.id}`,
  outage: (of: { proxy: number }) => `outage of proxy ${of.proxy}`,
  part: (of: { name: string }) => `part ${of.name}`,
  payment: (of: { id: string }) => `payment ${of.id}`,
  peer_value: (of: { what: string; value: string }) => `${of.what} ${of.value}`,
  slot: (of: { id: number }) => `slot ${of.id}`,
  port: (of: { port: number }) => `port ${of.port}`,
  posting: (of: { seq: number; customer: string }) => `posting ${of.seq} of ${of.customer}`,
  provider: (of: { name: string }) => `provider ${of.name}`,
  proxy: (of: { id: number }) => `proxy ${of.id}`,
  range: (of: { id: number }) => `range ${of.id}`,
  row: (of: { table: string; key: string }) => `${of.table} ${of.key}`,
  shop: 'shop',
  subject: (of: { subject: string }) => of.subject,
  subject_at_node: (of: { subject: string; node: string }) => `${of.subject} at ${of.node}`,
  subscription: (of: { uuid: string }) => `subscription ${of.uuid}`,
  subuser: (of: { id: string }) => `sub-user ${of.id}`,
  table: (of: { table: string }) => of.table,
  token: (of: { id: string }) => `token ${of.id}`,
  traffic: (of: { pool: string; subuser: string }) => `${of.pool} traffic of ${of.subuser}`,
  sums_of_day: (of: { of: 'postings' | 'orders'; day: string }) => `sums of the ${of.of} of ${of.day}`,
  traffic_account: (of: { pool: string; subuser: string }) => `account of ${of.pool} traffic of ${of.subuser}`,
}

/**
 * The sentence of each problem. Amounts are texts in roubles and moments are texts in ISO 8601, because a damaged row
 * may hold any number.
 */
const problems = {
  check_failed: (of: { error: string }) => `the check failed: ${of.error}`,
  part_failed: (of: { error: string }) => `the check ended before all rows were read: ${of.error}`,
  table_unreadable: (of: { error: string }) => `the table cannot be read: ${of.error}`,
  id_date: (of: { stored: string; expected: string }) =>
    `the stored time of creation is ${of.stored}, the id was made at ${of.expected}`,
  rows_counted: (of: { rows: number; counted: number; by: 'accounts' | 'payments' }) =>
    `${of.rows} rows exist, the ${of.by} count ${of.counted}`,
  checksum: 'the checksum does not match the stored figures',
  counted_unknown: 'nodes have reported bytes for it, and it does not exist',
  counter_behind: (of: { next: number; last: number }) => `the next number is ${of.next}, and ${of.last} is in use`,
  kind_differs: (of: { stored: string; expected: string }) => `it is of the kind ${of.stored}, expected ${of.expected}`,
  price_differs: (of: { order: string; stored: string; expected: string }) =>
    `the price of order ${of.order} is ${of.stored}, its price list gives ${of.expected}`,

  chain_gap: (of: { entry: ChainEntry; seq: number; expected: number }) =>
    `its number is ${of.seq}, expected ${of.expected}: ${entries[of.entry]} are missing`,
  chain_hash: (of: { entry: ChainEntry }) => `its hash does not match its content and the ${of.entry} before it`,
  chain_date: (of: { entry: ChainEntry; stored: string; before: string }) =>
    `its time is ${of.stored}, before that of the previous ${of.entry}, ${of.before}`,
  chain_count: (of: { entry: ChainEntry; stored: number; found: number }) =>
    `the row counts ${of.stored} ${entries[of.entry]}, ${of.found} exist`,
  chain_head: (of: { entry: ChainEntry }) => `the stored head is not the hash of the last ${of.entry}`,
  chain_end_date: (of: { entry: ChainEntry; stored: string; expected: string }) =>
    `the stored time of the last ${of.entry} is ${of.stored}, expected ${of.expected}`,
  entry_redacted: 'an erasure has redacted this entry, and the content does not match its seal',

  part_missing: 'the migrations create it, and the database does not have it',
  part_differs: 'its definition differs from the one that the migrations create',
  part_unknown: 'no migration creates it',
  constraint_broken: (of: { rows: number }) => `${of.rows} rows break it`,
  reference_broken: (of: { parent: string }) => `a row refers to a row of ${of.parent} that does not exist`,
  file_damaged: (of: { report: string }) => `the integrity check of SQLite reports: ${of.report}`,
  row_changed: 'the row differs from its last version in row_history',
  row_gone: 'the row does not exist, and row_history has no deletion of it',
  versions_missing: 'versions of the row are missing in row_history',
  version_number: (of: { keeps_all: boolean }) =>
    of.keeps_all
      ? 'row_history has the version 0 of the row; versions of this table are numbered from 1'
      : 'row_history has a numbered version of the row; of this table only the version 0 is kept',
  key_differs: 'the secrets of this shop were sealed with another key than the present one',

  balance_after: (of: { stored: string; expected: string }) => `balance_after is ${of.stored}, expected ${of.expected}`,
  balance_negative: (of: { kind: string; stored: string }) =>
    `the balance after it is ${of.stored}, and a ${of.kind} must not leave a debt`,
  balance_differs: (of: { stored: string; expected: string }) =>
    `the balance is ${of.stored}, its postings sum to ${of.expected}`,
  api_spent: (of: { stored: string; expected: string }) =>
    `api_spent is ${of.stored}, its postings sum to ${of.expected}`,
  posting_sign: (of: { kind: string; stored: string; sign: 'negative' | 'positive' }) =>
    `a ${of.kind} must be ${of.sign}, this posting is ${of.stored}`,
  posting_house: (of: { kind: string; house: string }) => `a ${of.kind} must not be posted to ${of.house}`,
  refund_without_charge: (of: { charge: number | null }) =>
    of.charge === null
      ? 'it is a refund and names no charge'
      : `it refunds posting ${of.charge}, which is no earlier charge of this account`,
  refund_too_large: (of: { charge: number; stored: string; max: string }) =>
    `the refunds of charge ${of.charge} sum to ${of.stored}, the charge is ${of.max}`,
  refund_elsewhere: (of: { charge: number }) => `order, token or house is not that of charge ${of.charge}`,
  sum_not_zero: (of: { kopecks: string }) => `all accounts sum to ${of.kopecks} kopecks, expected 0`,
  token_spent: (of: { stored: string; expected: string }) =>
    `its spending is ${of.stored}, its postings sum to ${of.expected}`,
  token_over_cap: (of: { spent: string; cap: string }) => `it spent ${of.spent}, its cap is ${of.cap}`,
  token_owner: (of: { customer: string }) => `${of.customer} paid with it and does not own it`,
  accounts_counted: (of: { customers: number; accounts: number }) =>
    `there are ${of.customers} customers and ${of.accounts} accounts`,
  day_sums: (of: { stored: string; expected: string }) =>
    `the sums of the day are "${of.stored}", its rows have "${of.expected}"`,
  checkpoint_absent: 'it was kept elsewhere and is not in this database',
  checkpoint_stamp: (of: { stored: number; last: number }) =>
    `row versions name checkpoint ${of.stored}, the last one is ${of.last}`,
  checkpoint_versions: (of: { stored: number; found: number }) =>
    `it covers ${of.stored} row versions; the ${of.found} that name it do not have its digest`,
  checkpoint_amendments: 'the recorded erasures of its row versions do not lead from one digest to the next',
  checkpoint_erased: (of: { expected: number; found: number }) =>
    `erasures have blanked ${of.expected} of its row versions, ${of.found} are blank`,
  checkpoint_accounts: (of: { stored: string; found: string }) =>
    `it covers ${of.stored}; the postings up to then give ${of.found}, or another digest`,

  charge_without_order: (of: { order: string | null }) =>
    of.order === null ? 'the charge names no order' : `the charge names order ${of.order}, which has another charge`,
  orders_without_account: 'some orders belong to customers without an account',
  order_uncharged: (of: { price: string }) => `its price is ${of.price}, and it has no charge`,
  order_charge_missing: (of: { charge: number }) => `its charge, posting ${of.charge}, does not exist`,
  order_charge_other: (of: { charge: number; order: string | null }) =>
    `its charge, posting ${of.charge}, is for ${of.order === null ? 'no order' : `order ${of.order}`}`,
  order_amount: (of: { charged: string; price: string }) => `its charge is ${of.charged}, its price is ${of.price}`,
  order_token: (of: { charge: number }) => `posting ${of.charge} charged it through another token than its own`,
  order_house: (of: { stored: string; expected: string }) =>
    `its charge is posted to ${of.stored}, expected ${of.expected}`,
  order_unreadable: 'its stored input or calculation cannot be read',
  order_price: (of: { price: string }) => `its price of ${of.price} does not follow from its input and its price list`,

  refund_step: (of: { step: number }) => `a refund at the provider names step ${of.step}, which does not exist`,
  payments_posted: (of: { postings: number; steps: number }) =>
    `${of.postings} postings name a payment, ${of.steps} steps of payments moved money`,
  step_missing: (of: { step: number }) => `step ${of.step} is missing`,
  step_state: (of: { step: number; from: string | null; to: string }) =>
    `step ${of.step} leads from ${of.from ?? 'nothing'} to ${of.to}, which is not allowed`,
  step_total: (of: { step: number; stored: string; expected: string }) =>
    `step ${of.step} has the total ${of.stored}, expected ${of.expected}`,
  steps_counted: (of: { stored: number; found: number }) => `the payment counts ${of.stored} steps, ${of.found} exist`,
  payment_state: (of: { stored: string; expected: string | null }) =>
    `its state is ${of.stored}, its steps end with ${of.expected ?? 'nothing'}`,
  payment_sum: (of: { column: 'credited' | 'debited'; stored: string; expected: string }) =>
    `${of.column} is ${of.stored}, its steps sum to ${of.expected}`,
  payment_amount: (of: { credited: string; amount: string }) =>
    `${of.credited} were credited, the payment is of ${of.amount}`,
  step_without_posting: (of: { step: number }) => `step ${of.step} moved money, and no posting matches it`,
  posting_without_step: (of: { posting: number; customer: string }) =>
    `posting ${of.posting} of ${of.customer} names it, and no step moved that money`,

  webhook_secret: 'its secrets cannot be opened with the key of this shop',
  webhook_address: 'its address is none that a customer may add',
  webhook_progress: 'how far it is does not match its customer, its events or its waiting deliveries',
  delivery_mismatch: 'it does not match its endpoint or its event',
  delivery_result: 'its status does not match its attempts',
  event_changed: 'its content does not match its checksum',
  event_type: (of: { type: string }) => `there is no event type ${of.type}`,
  event_unreadable: 'its data is not a JSON object',
  event_last: (of: { kept: number }) => `it is recorded as the last one, and ${of.kept} is the last one that is kept`,
  event_unnumbered: 'the last number of this customer’s events is not recorded',

  login_changed: 'login or e-mail address does not match the recorded digest',
  entry_unknown: 'its entry is not a gateway of this shop',
  private_key_other: 'the private key does not belong to the public key',
  password_key_sealed: 'a key of proxy passwords cannot be decrypted',
  private_key_sealed: 'the private key cannot be decrypted',
  private_key_kept: 'a private key is stored, and this device must have none',
  access_keys_sealed: 'its keys for proxies over TLS are missing or cannot be decrypted',
  access_keys_kept: 'keys for proxies over TLS are stored, and a removed device must have none',
  password_digest: 'the password does not match the digest that nodes have',
  password_sealed: 'the password cannot be decrypted',
  subuser_heir: (of: { heir: string }) =>
    `its traffic goes to sub-user ${of.heir}, which does not exist or is another customer’s`,
  port_login: 'its login cannot be read, or is not that of its sub-user',

  lease_none: (of: { held: boolean }) => (of.held ? 'it is held and has no open lease' : 'it never had a lease'),
  lease_begin: (of: { stored: string; bought: string }) =>
    `its first lease begins at ${of.stored}, it was bought at ${of.bought}`,
  leases_apart: 'its leases do not follow one another',
  lease_open: (of: { proxy: number }) => `proxy ${of.proxy} has ended, and the lease is open`,
  lease_end: (of: { stored: string; expected: string }) =>
    `its last lease ended at ${of.stored}, the proxy at ${of.expected}`,
  lease_address: (of: { proxy: number; shown: string; leased: string }) =>
    `proxy ${of.proxy} shows ${of.shown}, the lease is of ${of.leased}`,
  lease_without_proxy: (of: { proxy: number }) => `proxy ${of.proxy} leases it and does not exist`,
  proxy_ended_held: (of: { ended: string }) => `it was ended at ${of.ended}, and is still held`,
  proxy_replaced: (of: { stored: string | null }) =>
    of.stored === null
      ? 'it has several leases, and no time of replacement'
      : `it was replaced at ${of.stored}, and its last two leases do not meet then`,
  proxy_username: (of: { username: string }) => `the user name ${of.username} does not hold its number`,
  proxy_unordered: (of: { order: string }) => `order ${of.order} did not buy it`,
  proxy_owner: (of: { stored: string; expected: string }) => `${of.stored} has it, ${of.expected} bought it`,
  proxy_begin: (of: { stored: string; bought: string }) => `it begins at ${of.stored}, it was bought at ${of.bought}`,
  proxy_resumed: (of: { stored: string }) => `it was resumed at ${of.stored}, and no order prolonged it then`,
  proxy_end: (of: { stored: string; expected: string | null }) =>
    `it expires at ${of.stored}, its orders and outages give ${of.expected ?? 'no end'}`,
  proxies_missing: (of: { count: number }) => `${of.count} of its proxies do not exist`,
  proxy_missing: 'the proxy does not exist',
  address_kind: (of: { address: string; ipv: number }) => `the address ${of.address} is not one for ipv ${of.ipv}`,
  address_held_twice: (of: { address: string; shared: boolean }) =>
    of.shared
      ? `its customer has another proxy with the address ${of.address}`
      : `another proxy has the address ${of.address}`,
  slot_held_twice: (of: { slot: number }) => `another proxy has the slot ${of.slot}`,
  outage_base: (of: { stored: string | null }) =>
    `an outage prolonged the end ${of.stored ?? 'of nothing'}, which the proxy did not have`,
  outage_open: (of: { stored: string | null; open: number }) =>
    of.stored === null
      ? `${of.open} outages are open, and the proxy is not interrupted`
      : `it is interrupted since ${of.stored}, and its ${of.open} open outages do not match`,
  outage_early: (of: { begun: string }) => `an outage began before the proxy, which begins at ${of.begun}`,

  range_prefix: (of: { prefix: string }) => `the prefix ${of.prefix} cannot be read`,
  trial_wrong: (of: { node: string }) =>
    `node ${of.node} reports on it and may not, or reports addresses outside of it`,
  trial_proof: (of: { node: string; from: string | null }) =>
    `the proof of node ${of.node}, a call from ${of.from ?? 'no address'}, is outside the range or has no time`,
  serving_node_wrong: (of: { node: string | null }) =>
    of.node === null ? 'no node serves it, and one could' : `node ${of.node} serves it and has not reported it`,
  known_node: (of: { node: string }) =>
    `the node that its customer knows, ${of.node}, is no gateway, or the slot is not leased`,
  node_without_range: (of: { node: string }) => `node ${of.node} serves it, and it is in no range`,
  slot_range: (of: { range: number }) => `its address is not in its range, ${of.range}`,
  slot_state: (of: { state: string }) =>
    of.state === 'leased'
      ? 'its state is leased, and no lease is open'
      : `its state is ${of.state}, and a lease is open`,
  slot_overlap: 'two leases of it overlap, or it does not exist',
  slot_free_from: 'free_from is not the end of its last lease',
  address_two_kinds: 'it is in stock as two kinds',
  address_is_exit: 'it is in stock and is an exit of a premium pool',
  address_unreadable: (of: { address: string }) => `the address ${of.address} cannot be read`,
  country_unknown: (of: { country: string }) => `there is no country ${of.country}`,

  movement_sums: (of: { stored: string; expected: string }) =>
    `after it the row has ${of.stored}; the movements sum to ${of.expected}`,
  movement_negative: (of: { found: string }) => `a sum up to it is below zero: ${of.found}`,
  bytes_differ: (of: { stored: string; expected: string }) =>
    `the account has ${of.stored}; its movements sum to ${of.expected}`,
  lots_rest: (of: { stored: string; expected: string }) =>
    `its lots hold ${of.stored} bytes, the account ${of.expected}`,
  lots_size: (of: { stored: string; expected: string }) =>
    `its lots came with ${of.stored} bytes, its movements with ${of.expected}`,
  lots_stray: 'the lots belong to an account that does not exist',
  moved_uneven: (of: { bytes: string }) => `it moved ${of.bytes} bytes more in than out`,
  lease_totals: (of: { stored: string; expected: string }) =>
    `its nodes have ${of.stored}; the account gives ${of.expected}`,
  lease_bytes_lost: (of: { bytes: string }) => `the account leased ${of.bytes} bytes, and no node has them`,
  lease_count: 'its count is not the one that the node reported, or more was billed than is accepted of it',
  budget_node: 'its node has never reported',
  budget_missing: (of: { of: 'counts' | 'leases' }) =>
    of.of === 'counts'
      ? 'the node has reported counts and has no budget'
      : 'the node has used leases and has no budget for them',
  count_without_lease: 'the node has counted bytes, and has no lease for them',
  boot_unknown: (of: { of: 'count' | 'lease' }) => `the boot of the node that has this ${of.of} has never reported`,
  exit_days: 'its days do not sum to the bytes that gateways have counted',
  exit_report: 'a report names this exit, and the exit or the gateway that reported does not exist',
  hours_differ: (of: { stored: string; billed: string }) =>
    `its hours sum to ${of.stored} bytes; ${of.billed} were billed, and nodes must have counted as many`,
  days_over: (of: { stored: string; counted: string }) =>
    `its days show ${of.stored} bytes, nodes have counted ${of.counted}`,
  hosts_over: (of: { stored: string; counted: string }) =>
    `it shows ${of.stored} bytes, nodes have counted ${of.counted}`,
  order_named: (of: { table: 'traffic_lots' | 'traffic_movements' }) =>
    `rows of ${of.table} name it, and it is no order for traffic`,
  traffic_action: (of: { action: string }) => `its action is ${of.action}, expected buy, move or delete`,
  traffic_input: (of: { action: string }) => `its input is not that of the action ${of.action}`,
  traffic_moved: (of: { stored: string; moved: string }) =>
    `it says that ${of.stored} bytes were moved, the movements sum to ${of.moved}`,
  traffic_undelivered: 'it was paid, and no bytes were delivered',
  traffic_delivered_twice: (of: { count: number }) => `it was delivered ${of.count} times`,
  traffic_delivered: (of: { pool: string; bytes: string }) =>
    `${of.bytes} bytes of ${of.pool} were delivered, and its calculation has another pool or amount`,
  price_list_missing: 'its price list does not exist',
  traffic_priced: 'it was priced for another pool or amount than its input names',
  traffic_subuser: (of: { stored: string }) => `it was delivered to ${of.stored}, its input names another sub-user`,
  lots_expiry: (of: { expected: string | null }) =>
    of.expected === null
      ? 'its bytes expire, and its price list says that they do not'
      : `its bytes do not expire at ${of.expected}, as its price list says`,
  lots_pool: (of: { expected: string }) => `some of its bytes are not in the pool ${of.expected}`,
  lots_subuser: (of: { subuser: string; bytes: string }) =>
    `the lot of ${of.subuser} is missing or has less than the ${of.bytes} bytes that were bought`,
  lots_left: (of: { left: string; bought: string }) => `${of.left} bytes of it are left, ${of.bought} were bought`,
  lots_owner: 'another customer has some of its bytes',

  term_number: (of: { term: number; expected: number }) => `a term has the number ${of.term}, expected ${of.expected}`,
  term_overlap: (of: { term: number }) => `term ${of.term} begins before the term before it ends`,
  term_length: (of: { term: number; months: number }) => `term ${of.term} does not last ${of.months} months`,
  term_used: (of: { term: number; stored: string; max: string }) =>
    `term ${of.term} says that ${of.stored} bytes were used before it, at most ${of.max} can have been`,
  term_refund_open: (of: { term: number }) => `term ${of.term} is refunded, and the subscription is not deleted`,
  term_refund_large: (of: { term: number; stored: string; max: string }) =>
    `${of.stored} of term ${of.term} were refunded, its unused part is ${of.max}`,
  term_refund: (of: { term: number; stored: string; expected: string }) =>
    `term ${of.term} says that ${of.stored} were refunded, the ledger says ${of.expected}`,
  term_unpaid: (of: { term: number; order: string }) => `order ${of.order}, which paid term ${of.term}, does not exist`,
  term_customer: (of: { term: number; order: string }) =>
    `term ${of.term} was paid by order ${of.order} of another customer`,
  term_action: (of: { term: number; stored: string; expected: string }) =>
    `term ${of.term} was paid by the action ${of.stored}, expected ${of.expected}`,
  term_months: (of: { term: number; months: number }) =>
    `term ${of.term} lasts ${of.months} months, the input of its order names another period`,
  term_calculation: (of: { term: number; order: string }) =>
    `order ${of.order} was priced for another subscription or period than term ${of.term}`,
  term_product: (of: { term: number; stored: string }) => `term ${of.term} was paid by an order for ${of.stored}`,
  term_price: (of: { term: number; stored: string; expected: string }) =>
    `the price of term ${of.term} is ${of.stored}, its order was for ${of.expected}`,
  term_early: (of: { term: number; begins: string; paid: string }) =>
    `term ${of.term} begins at ${of.begins}, it was paid at ${of.paid}`,
  term_plan: (of: { order: string; months: number }) =>
    `order ${of.order} names no price list that sells ${of.months} months`,
  term_traffic: (of: { term: number; stored: string | null; expected: string | null }) =>
    `term ${of.term} grants ${of.stored ?? 'any'} bytes, its price list ${of.expected ?? 'any'}`,
  subscription_unpaid: 'no order has paid for it',
  subscription_end: (of: { stored: string; expected: string }) =>
    `it expires at ${of.stored}, its terms end at ${of.expected}`,
  subscription_day: (of: { stored: number; expected: number }) =>
    `its terms end on day ${of.stored} of a month, expected ${of.expected}`,
  subscription_traffic: (of: { stored: string | null; expected: string | null }) =>
    `its traffic limit is ${of.stored ?? 'unset'}, its terms grant ${of.expected ?? 'any traffic'}`,
  subscription_speed: (of: { stored: number | null; expected: number | null }) =>
    `its speed is ${of.stored ?? 'unlimited'}, the last paid price list says ${of.expected ?? 'unlimited'}`,
  subscription_devices: (of: { stored: number; expected: number }) =>
    `it allows ${of.stored} devices, the last paid price list ${of.expected}`,
  subscription_slots: (of: { stored: number; expected: number }) =>
    `it has ${of.stored} bought device slots, its orders paid for ${of.expected}`,
  term_devices: (of: { term: number; stored: number; expected: number }) =>
    `term ${of.term} has ${of.stored} devices without bought slots, its price list and earlier terms ${of.expected}`,
  slots_end: (of: { stored: string | null; expected: string | null }) =>
    `unpaid slots end ${of.stored ?? 'never'}, and by the terms ${of.expected ?? 'never'}`,
  term_slots: (of: { term: number; stored: number; expected: number }) =>
    `term ${of.term} renewed ${of.stored} device slots, its order or the terms before it say ${of.expected}`,
  slots_order: (of: { order: string }) =>
    `device slots were not bought by order ${of.order} at the price that it names`,
  slots_time: (of: { order: string }) =>
    `the device slots of order ${of.order} do not last from the purchase to the end of the term`,
  slots_refund: (of: { order: string; stored: string; expected: string }) =>
    `${of.stored} of the device slots of order ${of.order} were refunded, expected ${of.expected}`,
  subscription_held: (of: { held: number; max: number; deleted: boolean }) =>
    of.deleted
      ? `it is deleted, and has ${of.held} devices`
      : `it has ${of.held} devices, at most ${of.max} are allowed`,
  link_kept: 'it is deleted, and its link is stored',
  link_sealed: 'its link cannot be decrypted',
  link_digest: 'its link does not match the digest by which it is found',
  carried_bytes: (of: { stored: string; expected: string; by: 'devices' | 'nodes' }) =>
    `its transferred bytes are ${of.stored}, its ${of.by} report ${of.expected}`,
  peers_share: (of: { count: number }) => `${of.count} devices have it at the same time`,
  peer_address: 'its address is not assigned to it',
  peer_ipv6: (of: { stored: string }) => `its IPv6 address ${of.stored} does not end with its IPv4 address`,
  address_stray: 'it is assigned to a device that does not have it',
  peers_stray: (of: { count: number }) => `${of.count} devices belong to no subscription`,
  terms_counted: (of: { orders: number; terms: number }) => `${of.orders} orders exist, and ${of.terms} terms`,
}

/** Differences between the list of a payment provider and the payments of the shop. */
const differences = {
  not_listed: 'credited here, and not in the provider’s list',
  unknown_there: 'the provider has no such payment',
  unknown_here: 'paid at the provider, and no payment here',
  not_paid_there: (of: { state: string }) => `credited here, ${of.state} at the provider`,
  not_paid_here: (of: { state: string }) => `paid at the provider, ${of.state} here`,
  paid_twice: 'paid at the provider a second time',
  amount: (of: { there: string; here: string }) => `${of.there} RUB at the provider, ${of.here} RUB here`,
  refunded: (of: { there: string; here: string }) =>
    `${of.there} RUB refunded at the provider, ${of.here} RUB debited here`,
}

/** The English sentences of findings and differences. A function's argument names the parameters. */
export const findingsEn = { promises, advices, notes, subjects, problems, differences }

/** The same catalogues in any language. */
export type FindingSentences = {
  readonly [Name in keyof typeof findingsEn]: Translation<(typeof findingsEn)[Name]>
}
