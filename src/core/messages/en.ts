import { createMoment, createPlural, createRub } from './numbers.ts'
import { type FieldProblem, listProblems } from './problems.ts'
import { problemsEn } from './problems-en.ts'

const rub = createRub('en')
const moment = createMoment('en')
const count = createPlural('en')

const databaseProblems = {
  late: 'The database did not answer in time.',
  unwritable: 'The database cannot be written to now.',
  changed: 'The database was replaced by another state of it.',
  missing: 'The database does not exist.',
  closed: 'The database admits no connection now.',
  unconfirmed: 'The database has not confirmed in time that a standby has the change.',
  stalled: 'The database confirms no change now, so nothing was changed.',
}

const statuses: Readonly<Record<string, string>> = {
  EXPIRED: 'expired',
  DISABLED: 'disabled',
}
export type DatabaseProblem = keyof typeof databaseProblems

/** The English sentence of each reason for a refusal. A function's argument names the parameters. */
export const en = {
  node_kind_wrong: (of: { kind: string }) => `A node of the kind "${of.kind}" may not use this path.`,
  node_path_not_found: 'The node API has no such path.',
  method_not_allowed: (of: { methods: readonly string[] }) => `Use ${of.methods.join(' or ')} here.`,
  node_private_key_missing: 'The shop has no private key of this node.',
  order_not_found: 'There is no such order.',
  subuser_not_found: 'There is no such sub-user.',
  payment_not_found: 'There is no such payment.',
  token_not_found: 'There is no such token.',
  proxy_not_found: 'There is no such proxy.',
  subscription_not_found: 'There is no such subscription.',
  verification_running: 'A verification is running already. GET /verify shows its progress.',
  verification_too_soon:
    'Nothing was started: on SQLite the shop answers nothing else while SQLite checks its file, so a whole ' +
    'verification may start once in 10 minutes, and a part once in 30 seconds. Repeat the request after the seconds ' +
    'in Retry-After, or run "turnpike verify" on the machine of the shop, which has no such limit.',
  node_not_found: 'There is no such node. "turnpike node list" shows the nodes.',
  customer_not_found: 'There is no such customer. "turnpike customer list" shows the customers.',
  view_needs_session: 'Sign in to the console to view as a customer.',
  refund_amount_with_end: 'Leave amount_rub and again out: end decides how much is refunded.',
  exit_not_found: 'There is no such exit. "turnpike exit list" shows the exits.',
  exit_in_service: (of: { id: string }) =>
    `This exit is in service. Take it out of service first: "turnpike exit drain ${of.id}".`,
  notice_not_found: 'There is no such notice, or it is already resolved.',
  reconciliation_running: 'A comparison is running already. GET /payment-reconciliation shows its progress.',
  reconciliation_failed: 'The comparison failed. The log of the shop has the error.',
  code_not_found: 'There is no such code, or it has ended already.',
  price_list_not_found: 'There is no such price list.',
  view_is_read_only: 'An operator who views the console as a customer cannot change or export anything.',
  password_first: 'Nothing has changed: set a password first. Until then this session can only read.',
  webhook_not_found: 'There is no such endpoint. GET /webhooks lists the endpoints.',
  notices_off: 'Nothing was changed: this shop sends no e-mail.',
  notices_no_address: 'Nothing was changed: the account has no e-mail address that notices could go to.',
  mailing_not_found: 'There is no such mailing. "turnpike mailing list" shows the mailings.',
  delivery_not_found: 'There is no such delivery, or it is older than 30 days.',
  webhook_limit: (of: { max: number }) =>
    `Nothing was added: a customer may have ${of.max} endpoints. Remove one that is not used any more.`,
  webhook_disabled: 'Nothing was sent: the endpoint is disabled. Enable it with POST /webhooks/update first.',
  webhook_waiting_limit: (of: { max: number }) =>
    `Nothing was sent: ${of.max} tests and repetitions of this endpoint wait already. Repeat the request later.`,
  session_not_found: 'There is no such session.',
  body_too_large: (of: { max_kib: number }) => `A request body is at most ${of.max_kib} KiB.`,
  url_too_long: (of: { max_kib: number }) =>
    `A URL is at most ${of.max_kib} KiB. Send long lists of ids in parts, or in the body of a POST.`,
  headers_too_large: (of: { max_kib: number }) => `The headers of a request are at most ${of.max_kib} KiB in all.`,
  body_not_json: 'Send the body as JSON with Content-Type: application/json.',
  body_encoding_unknown: 'Send the body uncompressed or with Content-Encoding: gzip.',
  rate_limited: 'Too many requests. Repeat the request after the number of seconds in Retry-After.',
  change_limit: (of: { rows: number; per_hour: number; left: number }) =>
    `Nothing was changed: the request changes ${of.rows} rows, and ${of.left} are left of your allowance of ` +
    `${of.per_hour} an hour. Repeat it after the seconds in Retry-After, or change fewer at once.`,
  session_needed: 'Sign in to the console: this operation accepts no token, whatever its scopes are.',
  other_customer_signed_in: 'Another customer has signed in in this browser. Nothing was bought. Reload the page.',
  connection_closed: 'The connection closed before the answer. Nothing was changed.',
  shop_stopping: 'The shop is shutting down. Nothing was changed; try again in a moment.',
  internal_error:
    'Internal error of the shop. Repeat a purchase only with the same Idempotency-Key. Quote the X-Request-Id to ' +
    'support.',
  path_not_found: 'The API has no such path. /docs lists all operations.',
  file_not_found: 'There is no such file. Reload the page.',
  vpn_subscription_not_found: 'There is no such VPN subscription.',
  vpn_device_not_found: 'There is no such VPN device.',
  vpn_device_missing: 'This subscription has no device. Add one with POST /vpn/devices.',
  no_vpn_node_up: 'No VPN node is up at the moment. Nothing was charged; try again later.',
  no_vpn_address_free: 'No VPN address is free at the moment. Nothing was charged; ask the seller.',
  public_key_in_use: 'Another device uses this public key. Generate a separate key for each device.',
  device_limit: (of: { limit: number }) =>
    `This subscription already has ${count(of.limit, { one: 'device', other: 'devices' })}, its maximum. Remove one ` +
    'first, or buy a slot for one more (`POST /vpn/devices/increase`) if the shop sells slots.',
  daily_device_limit: (of: { max: number }) => `At most ${of.max} devices can be added in a day. Try again tomorrow.`,
  slot_limit: (of: { max: number }) => `A subscription has at most ${of.max} bought device slots. Nothing was charged.`,
  subscription_not_active: (of: { status: string }) =>
    `This subscription is ${statuses[of.status] ?? of.status}, so no device can be added.`,
  subscription_disabled: 'This subscription is disabled. Ask the seller.',
  paid_too_far_ahead: (of: { years: number }) =>
    `A subscription cannot be paid more than ${of.years} years ahead. Nothing was charged.`,
  subscription_limit: (of: { max: number }) =>
    `A customer has at most ${of.max} VPN subscriptions. Nothing was charged.`,
  renewal_not_due: 'This subscription is no longer due for renewal.',
  vpn_node_not_found: 'There is no open VPN node of this name.',
  device_location_differs: (of: { chosen: string; offered: string }) =>
    `A device of this subscription was requested in ${of.chosen}, but this node is in ${of.offered}.`,
  subscription_refund_is_unused_part: 'Ending a subscription refunds its unused part, never the whole price.',
  idempotency_key_reused: (of: { order: string | null }) =>
    'This Idempotency-Key was used for a different request, which ' +
    `succeeded${of.order === null ? '' : ` as order ${of.order}`}. Repeat that one exactly to get its answer ` +
    'again, or use a new key for a new purchase.',
  request_in_progress: 'A request with this Idempotency-Key is still running. Repeat it in a moment to get its answer.',
  operator_key_reused: 'This --key was used for another action. Use a new key.',
  role_too_low: (of: { needed: string; has: string }) =>
    `This operation requires the role "${of.needed}". Your role is "${of.has}".`,
  operator_not_found: 'There is no such operator.',
  operator_removed: 'This operator was removed.',
  operator_name_taken: (of: { name: string }) => `There is an operator called "${of.name}" already.`,
  operator_name_invalid: 'A name is 1 to 64 letters, digits, dots, dashes and underscores, and not "tool".',
  last_owner: 'This is the last owner. Add another owner first.',
  customer_blocked: 'This account is blocked. Ask the seller.',
  token_address_not_allowed:
    'This token may not be used from this address. Use an address on its list, or another token.',
  scope_missing: (of: { needed: string }) => `This token lacks the scope "${of.needed}". Use a token that has it.`,
  passwords_scope_missing: 'Passwords, keys and secret links are shown only with the scope "passwords".',
  token_limit: (of: { max: number }) => `A customer has at most ${of.max} open tokens. Revoke one first.`,
  daily_token_limit: (of: { max: number }) => `At most ${of.max} tokens can be created in a day. Try again tomorrow.`,
  sandbox_token_in_production: 'TURNPIKE_SANDBOX_TOKEN works only in a sandbox, and this shop is in production.',
  balance_too_small: (of: { balance_rub: number; amount_rub: number }) =>
    `The customer’s balance is ${rub(of.balance_rub)} RUB, so ${rub(of.amount_rub)} RUB cannot be taken from it.`,
  spending_cap_reached: (of: { cap_rub: number; spent_rub: number }) =>
    `The spending cap of this token is ${rub(of.cap_rub)} RUB, of which ${rub(of.spent_rub)} RUB are spent. ` +
    'The price exceeds the rest. Nothing was charged; use another token.',
  balance_too_large: 'The balance would exceed the maximum of the ledger. No money was moved.',
  customer_erased: 'This customer was erased: the balance can only come nearer to zero. No money was moved.',
  charge_not_found: 'There is no such charge to refund.',
  charge_already_refunded: (of: { given_rub: number }) =>
    `This charge has been refunded already: ${rub(of.given_rub)} RUB.`,
  operator_key_of_other_transaction: (of: { seq: number; customer: string }) =>
    `This key was used for another transaction: number ${of.seq} of ${of.customer}. Use a new key.`,
  refund_too_large: (of: { left_rub: number }) =>
    `At most ${rub(of.left_rub)} RUB of this charge can still be refunded.`,
  sign_in_failed: 'Login, password or code is wrong.',
  code_required: 'Enter the current code of your authenticator app.',
  too_many_attempts: 'Too many attempts. Wait a few minutes and try again.',
  too_many_sessions: 'Too many sign-ins. Wait a few minutes; open sessions stay valid.',
  sign_in_busy: 'Too many sign-ins are running at the moment. Try again in a minute.',
  session_invalid: 'Sign in: the request has no valid session.',
  link_invalid: 'This link is not valid: it was used, has expired, or is incomplete. Ask for a new link.',
  link_outdated: 'The account was used after this link was created. Ask the seller for a new link.',
  link_needs_owner:
    'This customer has used the account (a password, a token, a session or money) and has no e-mail address for ' +
    'the link. Ask an owner of the shop.',
  login_taken: 'This login is taken. Choose another one.',
  password_missing: 'Set a password first: a second factor is used together with a password.',
  second_factor_exists: 'There is a second factor already. Remove it first.',
  second_factor_missing: 'There is no second factor to confirm.',
  registration_closed: 'Registration is closed in this shop. Ask the seller for an account.',
  mail_not_configured: 'This shop sends no e-mail. Ask the seller for a sign-in link.',
  debt_left: (of: { debt_rub: number }) => `You owe ${rub(of.debt_rub)} RUB. Pay your debt first, or ask the seller.`,
  balance_left: (of: { balance_rub: number }) =>
    `The balance is ${rub(of.balance_rub)} RUB. To give it up, repeat the request with "give_up_balance": true.`,
  subuser_login_taken: 'This login is taken. Choose another one, or leave the field out to get a generated login.',
  subuser_limit: (of: { max: number }) => `A customer has at most ${of.max} sub-users. Delete one first.`,
  default_subuser_stays: 'The default sub-user cannot be deleted. Block it instead.',
  whitelist_full: (of: { max: number }) => `A whitelist has at most ${of.max} entries. Remove one first.`,
  no_exit_usable: (of: { pool: string }) =>
    `No exit of ${of.pool} can be used at the moment. Nothing was charged; try again later.`,
  address_in_stock: 'This address is in stock as a dedicated proxy. Retire it there first: "turnpike stock retire".',
  address_in_block: (of: { block: string }) =>
    `This address is in the block ${of.block}, which is sold as dedicated proxies. Use an address outside the ` +
    'block, or ' +
    'retire the block first: "turnpike stock retire".',
  traffic_order_not_found: 'There is no such purchase of traffic.',
  no_unused_traffic: 'This order has no unused traffic.',
  no_traffic_to_move: (of: { pool: string }) => `There is no free traffic in ${of.pool} to move.`,
  traffic_refund_is_unused_part: 'Ending an order of traffic refunds its unused part, never the whole price.',
  insufficient_traffic: (of: { required_gb: number; available_gb: number }) =>
    `This requires ${of.required_gb} GB of traffic; ${of.available_gb} GB are available.`,
  traffic_limit: 'A sub-user can have at most 8,000,000 GB of traffic in a pool.',
  open_payment_limit: (of: { max: number }) =>
    `You have ${of.max} payments open already. Pay one, or wait until they expire.`,
  refused_payment_limit: (of: { max: number }) =>
    `The payment provider refused ${of.max} of your payments within an hour. Wait, or pay by another method.`,
  payment_key_reused: (of: { payment: string }) =>
    `This Idempotency-Key was used for a different payment, ${of.payment}. Repeat that one exactly to get its ` +
    'answer again, or use a new key for a new payment.',
  provider_refused: 'The payment provider refused the payment. Try another method or amount.',
  provider_silent:
    'The payment provider does not answer. Try again with the same Idempotency-Key, or with another method.',
  notification_not_authentic: 'The notification is not authentic: its signature or sender does not match the provider.',
  notice_limit: 'Too many unresolved notices wait for the operator. Send the notification again later.',
  provider_not_found: (of: { known: readonly string[] }) =>
    `There is no such payment provider. There are: ${of.known.join(', ')}.`,
  provider_not_configured: (of: { name: string }) =>
    `${of.name} is not set up. See "turnpike payments provider set --help".`,
  payment_not_manual: 'The provider confirms this payment automatically; it cannot be marked as paid manually.',
  payment_is_other: (of: { payment: string; customer: string; amount_rub: number }) =>
    `The payment ${of.payment} is ${rub(of.amount_rub)} RUB of the customer ${of.customer}. Nothing was credited. ` +
    'Credit that amount to that customer, or use another key and reference.',
  payment_amount_is_other: (of: { payment: string; amount_rub: number }) =>
    `The payment ${of.payment} is ${rub(of.amount_rub)} RUB. Nothing was credited. Credit that amount, or use ` +
    'another key and reference.',
  payment_id_as_key: (of: { payment: string }) =>
    `${of.payment} is the id of a payment, and only its credit may have it as its key. Nothing was debited. ` +
    'Use another key.',
  payment_not_paid: (of: { payment: string; provider: string }) =>
    `${of.provider} does not report the payment ${of.payment} as paid in full. Nothing was credited. ` +
    'See "turnpike payments show" and "turnpike payments unmatched".',
  payment_not_confirmed: (of: { payment: string; provider: string }) =>
    `${of.provider} does not answer about the payment ${of.payment}. Nothing was credited. Try again later; the shop ` +
    'also asks by itself.',
  payment_not_credited: 'This payment has not been credited.',
  provider_cannot_refund: (of: { provider: string }) =>
    `${of.provider} has no refunds by API. Pay the money out yourself and debit the balance.`,
  refund_exceeds_payment: (of: { left_rub: number }) =>
    `At most ${rub(of.left_rub)} RUB of this payment can still be refunded.`,
  refund_under_way: (of: { amount_rub: number }) =>
    `The provider has not answered a refund of ${rub(of.amount_rub)} RUB of this payment yet, so no other refund can ` +
    'start. Repeat that refund first: with its key, or without a key and with the same amount.',
  referral_share_spent: (of: { referrer: string }) =>
    `The refund also takes back the share of the referrer ${of.referrer}, who has spent it: the share would ` +
    'become a debt. ' +
    'Repeat with "into_debt": true (--into-debt) to allow that.',
  refund_refused_by_provider: 'The payment provider refused the refund.',
  refund_without_answer:
    'The payment provider does not answer. The shop records the outcome once the provider reports it; the same ' +
    'request can be repeated.',
  provider_list_unavailable: (of: { provider: string }) =>
    `${of.provider} does not answer, so its payments could not be compared. Try again later.`,
  provider_list_refused: (of: { provider: string }) =>
    `${of.provider} refused to list its payments. Check that its secret is still valid.`,
  notice_without_amount:
    'This notice has no paid amount in roubles. Credit the customer separately, then resolve the notice.',
  promo_code_attempts: 'Too many unknown codes. Wait a few minutes and try again.',
  promo_code_exists: (of: { code: string }) => `The code ${of.code} already exists. A code cannot be reused.`,
  referrer_already_set: 'This customer has a referrer already.',
  referrer_is_customer: 'Customers cannot refer themselves.',
  referrer_is_newer: 'The referrer must have registered before the referred customer.',
  held_price_limit: (of: { max: number }) =>
    `${of.max} of your open payments already hold a price, the maximum. Pay one of them, or top up and then buy.`,
  held_amount_limit: (of: { max_rub: number }) =>
    `Your open payments can hold prices of at most ${rub(of.max_rub)} RUB in total. Top up and then buy.`,
  erasure_not_confirmed: (of: {
    balance_rub: number
    proxies: number
    vpn_subscriptions: number
    traffic_bytes: number
  }) =>
    `Erasure cannot be undone. The customer loses: ${rub(of.balance_rub)} RUB, proxies: ${of.proxies}, VPN ` +
    `subscriptions: ${of.vpn_subscriptions}, traffic: ${of.traffic_bytes / 1e9} GB. Repeat the request with ` +
    '"confirm": true (--yes).',
  erasure_with_open_payments: (of: { open_payments: number }) =>
    `This customer has open payments: ${of.open_payments}. Their money would have no owner. Wait until they are ` +
    'paid or expire.',
  history_differs: (of: { checkpoint: number }) =>
    `The row history under checkpoint ${of.checkpoint} does not match its digest, so it was not erased. Run ` +
    '"turnpike verify"; the erasure continues once verify finds nothing.',
  no_port_free: 'No gateway port is free. Use a login and a password.',
  port_limit: (of: { max: number; free: number }) =>
    `A customer has at most ${of.max} ports, and ${of.free} are left. Request fewer, or use a login and a password.`,
  node_name_taken: 'A node with this name already exists. Choose another name.',
  node_name_local: (of: { name: string }) =>
    `The shop finds the node of its own machine by the name ${of.name}. Give other nodes other names.`,
  node_open: (of: { name: string }) =>
    `This node is open and would continue to claim bytes. Close it first: "turnpike node close ${of.name}", or "node ` +
    'revoke".',
  node_has_exits: (of: { count: number }) =>
    `${of.count === 1 ? '1 exit belongs' : `${of.count} exits belong`} to this gateway. Give each to another gateway ` +
    'with "turnpike exit assign", or remove it with "turnpike exit remove".',
  node_has_ranges: (of: { count: number }) =>
    `${of.count === 1 ? '1 range is' : `${of.count} ranges are`} assigned to this gateway. Assign them to another ` +
    'one first, with "turnpike stock assign" or "turnpike stock move".',
  node_has_proxies: (of: { count: number }) =>
    `Customers hold ${of.count === 1 ? '1 address' : `${of.count} addresses`} that no other gateway serves. Bring ` +
    'them to another gateway, or replace them with "turnpike proxy replace".',
  node_closed: 'This node is closed. Open it first, with "turnpike node open".',
  node_not_gateway: 'Only gateways can be entries and exits. This node is a VPN node.',
  node_not_entry: (of: { name: string }) =>
    `${of.name} is not an entry. Make it one first: "turnpike node entry ${of.name}".`,
  node_is_entry: (of: { name: string }) =>
    `${of.name} is an entry. An entry has no entry of its own; end it first: "turnpike node entry ${of.name} --undo".`,
  node_is_exit: (of: { name: string }) =>
    `Customers of ${of.name} enter at another gateway. End that first: "turnpike node exit ${of.name}".`,
  entry_in_use: (of: { count: number }) =>
    `Customers of ${of.count === 1 ? '1 other gateway' : `${of.count} other gateways`} enter here. End each path ` +
    'first with "turnpike node exit NAME", or give the gateway another entry with "--via".',
  invalid_join_key:
    'This join key is not valid: it is unknown, expired or used. "turnpike node key NAME" creates a new one.',
  node_secret_invalid:
    'Send the secret that this node got when it joined as "Authorization: Bearer <secret>". This one is not valid.',
  shop_url_missing: 'This cannot be sold now: the shop has no public address configured. Ask the seller.',
  address_not_public:
    'Private, loopback and reserved addresses are not stock in production: customers could not use them.',
  no_prices: 'The shop has no prices yet. Nothing was charged; ask the seller.',
  vpn_not_sold: 'VPN is not for sale here.',
  vpn_slots_not_sold: 'More devices for a VPN subscription are not for sale here.',
  pool_not_sold: (of: { pool: string }) => `Traffic of the pool ${of.pool} is not for sale here.`,
  ipv_not_sold: (of: { ipv: number }) => `A proxy with ipv ${of.ipv} is not for sale here.`,
  country_not_sold: (of: { ipv: number; country: string; allowed: readonly string[] }) =>
    `A proxy with ipv ${of.ipv} in ${of.country} is not for sale here. Countries on sale: ${of.allowed.join(', ')}.`,
  prices_invalid: (of: { problems: readonly FieldProblem[] }) =>
    `The catalogue cannot be applied. ${listProblems(problemsEn, of.problems)}`,
  address_not_found: 'There is no such address in stock. "turnpike stock list" shows the stock.',
  address_part_of_block: (of: { block: string }) =>
    `This address is part of the block ${of.block}, which can only be closed as a whole.`,
  range_not_found: (of: { prefix: string }) =>
    `No address within ${of.prefix} is in stock. "turnpike stock ranges" shows the stock.`,
  gateway_not_found: (of: { name: string }) =>
    `There is no gateway called ${of.name}. "turnpike node list" shows them.`,
  addresses_being_added: 'Another import is adding these addresses. Repeat the command when it has finished.',
  address_is_exit:
    'One of these addresses is an exit of a premium pool. Drain that exit first: "turnpike exit list" shows the exits.',
  whitelist_limit: (of: { max: number }) => `A proxy has at most ${of.max} whitelisted addresses. Nothing was changed.`,
  https_missing:
    'At least one of the proxies cannot be reached over TLS: it is set to SOCKS5, or its gateway has no TLS port. ' +
    'Export without `protocol`, or leave these proxies out.',
  whitelist_empty:
    'A line without a login requires a whitelisted address, and some of these proxies have none. Whitelist an ' +
    'address first.',
  replaced_recently: (of: { again_at: string }) =>
    `The address of this proxy was replaced recently. It can be replaced again on ${moment(of.again_at)}.`,
  proxy_expired: 'This proxy has expired. Prolong it first.',
  addresses_withdrawn: (of: { ids: readonly number[] }) =>
    `The addresses of these proxies are being withdrawn, so they cannot be prolonged: ${of.ids.join(', ')}. ` +
    'Replace them first, or buy others. Nothing was charged.',
  addresses_not_served: (of: { ids: readonly number[] }) =>
    `These proxies have ended and no gateway serves their addresses at the moment: ${of.ids.join(', ')}. ` +
    'Nothing was charged; try again later.',
  proxy_not_renewable: 'This proxy is not due for renewal.',
  proxy_already_ended: 'There is no such proxy, or it has ended.',
  order_already_ended: 'Everything bought with this order has already ended. Nothing was refunded.',
  order_prolonged_only:
    'This order has prolonged proxies and bought none. End them one by one, or with the order that bought them.',
  prefix_not_in_stock: (of: { prefix: string }) =>
    `No address of ${of.prefix} is in stock. "turnpike stock ranges" shows the stock.`,
  database_busy: 'The shop is busy. Nothing was changed; try again in a moment.',
  database_moved:
    "The file of the shop's database was moved or replaced, so nothing was changed and no money moved. Try again " +
    'when the operator has restarted the shop.',
  database_unavailable: (of: { problem: DatabaseProblem }) =>
    `${databaseProblems[of.problem]} Repeat the request in a moment: with the same Idempotency-Key it has one ` +
    'effect at most. If you sent no key, check your orders first.',
  session_header_missing: (of: { header: string }) => `Send the header ${of.header}: 1 with a session.`,
  request_from_other_site: 'The browser sent this request from another site. Nothing was changed.',
  request_from_other_origin: 'A page of another origin sent this request. Nothing was changed.',
  token_missing: 'Send an API token as "Authorization: Bearer <token>". This request has none.',
  token_malformed:
    'Send an API token as "Authorization: Bearer <token>". This text is not a token: compare it with the original.',
  token_unknown: 'This API token is not known here. Check that it is for this shop, or create another one.',
  token_ended: 'This API token has expired or was revoked. Create another one.',
  operator_token_missing:
    'Send an operator\'s token as "Authorization: Bearer tpo_…", or sign in. This request has neither.',
  operator_token_malformed:
    'Send an operator\'s token as "Authorization: Bearer tpo_…". This text is not a token: check it.',
  operator_token_unknown:
    "This operator's token is not known here. Check that it is for this shop, or create another one.",
  operator_token_ended:
    "This operator's token has expired or was revoked, or the operator was removed. Create another one.",
  insufficient_funds: (of: { required_rub: number; balance_rub: number }) =>
    `This costs ${rub(of.required_rub)} RUB and the balance is ${rub(of.balance_rub)} RUB. Nothing was charged; top ` +
    'up and try again.',
  insufficient_funds_with_debt: (of: { required_rub: number; debt_rub: number }) =>
    `This costs ${rub(of.required_rub)} RUB, and you owe ${rub(of.debt_rub)} RUB: a payment was charged back ` +
    'after its money was spent. Nothing can be bought before the debt is paid. Nothing was charged; top up and ' +
    'try again.',
  order_cannot_be_ended: 'This order bought nothing that can be ended early.',
  slots_end_with_subscription:
    'Device slots end with their subscription. Refund this order without ending it, or end the subscription.',
  notification_not_confirmed:
    'The shop could not confirm the payment: the provider does not answer. Send the notification again later.',
  refund_is_spent: (of: { balance_rub: number; bonus_rub: number }) =>
    `${of.bonus_rub > 0 ? `The bonus of ${rub(of.bonus_rub)} RUB is taken back too. ` : ''}The balance is only ` +
    `${rub(of.balance_rub)} RUB: the rest would become a debt. Repeat with "into_debt": true (--into-debt) to allow ` +
    'that.',
  price_changed: (of: { price_rub: number; max_price_rub: number }) =>
    `The price is now ${rub(of.price_rub)} RUB, above your limit of ${rub(of.max_price_rub)} RUB. ` +
    'Nothing was charged. Repeat the request with a higher max_price_rub to buy at this price.',
  out_of_stock: (of: { available: number }) =>
    `${of.available === 0 ? 'No addresses are' : `Only ${of.available} ${of.available === 1 ? 'is' : 'are'}`} ` +
    'available now. Nothing was charged.',
  no_gateway_up: 'No gateway that serves these addresses is up at the moment. Nothing was charged; try again later.',
  proxies_not_found: (of: { ids: readonly number[] }) =>
    `There ${of.ids.length === 1 ? 'is no proxy' : 'are no proxies'} ${of.ids.join(', ')}. Nothing was changed.`,
  invalid_request: (of: { problems: readonly FieldProblem[] }) =>
    `The request is not valid. ${listProblems(problemsEn, of.problems)}`,
  /** By a command on this machine, or as a remote shop has worded it. */
  here: (of: { text: string }) => of.text,
}
