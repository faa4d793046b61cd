import { rub } from './numbers.ts'
import { type FieldProblem, listProblems } from './problems.ts'
import { problemsEn } from './problems-en.ts'

const databaseProblems = {
  late: 'The database did not answer in time.',
  unwritable: 'The database cannot be written now.',
}
export type DatabaseProblem = keyof typeof databaseProblems

/** The English sentence of each reason for a refusal. A function's argument names the parameters. */
export const en = {
  node_kind_wrong: (of: { kind: string }) => `This is not for a node of the kind "${of.kind}".`,
  node_path_not_found: 'There is nothing at this path for a node.',
  method_not_allowed: (of: { methods: readonly string[] }) => `Use ${of.methods.join(' or ')} here.`,
  node_private_key_missing: 'The shop has no private key of this node.',
  order_not_found: 'There is no such order.',
  subuser_not_found: 'There is no such sub-user.',
  payment_not_found: 'There is no such payment.',
  token_not_found: 'There is no such token.',
  proxy_not_found: 'There is no such proxy.',
  subscription_not_found: 'There is no such subscription.',
  verification_running: 'A verification is running already. GET /verify shows its progress.',
  node_not_found: 'There is no such node.',
  customer_not_found: 'There is no such customer.',
  view_needs_session: 'Sign in to the console to view as a customer.',
  refund_amount_with_end: 'Leave amount_rub and again out: end decides how much is refunded.',
  exit_not_found: 'There is no such exit.',
  notice_not_found: 'There is no such notice, or it was dealt with already.',
  reconciliation_running: 'A comparison is running already. GET /payment-reconciliation shows its progress.',
  reconciliation_failed: 'The comparison failed. The log of the shop has the error.',
  code_not_found: 'There is no such code, or it has ended already.',
  price_list_not_found: 'There is no such price list.',
  view_is_read_only: 'An operator who looks at a customer’s pages cannot change or export anything there.',
  password_first: 'Nothing has changed: set a password first. Until then this session can only read.',
  session_not_found: 'There is no such session.',
  body_too_large: (of: { most_kib: number }) => `A request body is at most ${of.most_kib} KiB.`,
  body_not_json: 'Send the body as JSON with Content-Type: application/json.',
  body_encoding_unknown: 'Send the body as it is or with Content-Encoding: gzip.',
  rate_limited: 'Too many requests. Wait as long as Retry-After says.',
  session_needed: 'Sign in to the console for this. A token may not do it, whatever its scopes are.',
  connection_closed: 'The connection closed before the answer. Nothing was changed.',
  shop_stopping: 'The shop is shutting down. Nothing was changed; try again in a moment.',
  internal_error: 'Something went wrong on our side. Quote the X-Request-Id when you ask us.',
  path_not_found: 'There is nothing at this path. See /docs for what there is.',
  file_not_found: 'There is no such file. Reload the page.',
  vpn_subscription_not_found: 'There is no such VPN subscription.',
  vpn_device_not_found: 'There is no such VPN device.',
  vpn_device_missing: 'This subscription has no device. Add one with POST /vpn/devices.',
  no_vpn_node_up: 'No VPN node is up at the moment. Nothing was charged; try again later.',
  no_vpn_address_free: 'No VPN address is free at the moment. Nothing was charged.',
  public_key_in_use: 'This public key is in use. Give each device a key of its own.',
  device_limit: (of: { limit: number }) => `This subscription has all of its ${of.limit} devices. Remove one first.`,
  daily_device_limit: (of: { most: number }) => `At most ${of.most} devices can be added in a day. Try again tomorrow.`,
  subscription_not_active: (of: { status: string }) => `This subscription is ${of.status}, so no device can be added.`,
  subscription_disabled: 'This subscription is disabled. Ask the operator.',
  paid_too_far_ahead: (of: { years: number }) => `A subscription cannot be paid more than ${of.years} years ahead.`,
  subscription_limit: (of: { most: number }) => `A customer has at most ${of.most} VPN subscriptions.`,
  renewal_not_due: 'This subscription is not due for renewal any more.',
  vpn_node_not_found: 'There is no open VPN node of this name.',
  device_location_differs: (of: { chosen: string; offered: string }) =>
    `A device of this subscription was requested in ${of.chosen}, and that node is in ${of.offered}.`,
  subscription_refund_is_unused_part: 'Ending a subscription refunds its unused part, never the whole price.',
  idempotency_key_reused: (of: { order: string | null }) =>
    'This Idempotency-Key was used for a different request, which ' +
    `succeeded${of.order === null ? '' : ` as order ${of.order}`}. Repeat that one exactly to get its answer ` +
    'again, or use a new key for a new purchase.',
  request_in_progress: 'A request with this Idempotency-Key is still running. Repeat it in a moment to get its answer.',
  operator_key_reused: 'This --key was used for something else. Use a new one for a new action.',
  role_too_low: (of: { needed: string; has: string }) =>
    `This needs the role "${of.needed}", and yours is "${of.has}".`,
  operator_not_found: 'There is no such operator.',
  operator_removed: 'This operator was removed.',
  operator_name_taken: (of: { name: string }) => `There is an operator called "${of.name}" already.`,
  operator_name_invalid: 'A name is 1 to 64 letters, digits, dots, dashes and underscores, and not "tool".',
  last_owner: 'This is the last owner. Make another one first.',
  customer_blocked: 'This customer is blocked. Ask the operator.',
  token_address_not_allowed: 'This token may not be used from this address.',
  scope_missing: (of: { needed: string }) => `This token lacks the scope "${of.needed}".`,
  passwords_scope_missing: 'Passwords, keys and secret links are shown only with the scope "passwords".',
  token_limit: (of: { most: number }) => `A customer has at most ${of.most} open tokens. Revoke one first.`,
  daily_token_limit: (of: { most: number }) => `At most ${of.most} tokens can be made in a day. Try again tomorrow.`,
  sandbox_token_in_production: 'TURNPIKE_SANDBOX_TOKEN is for a sandbox, and this shop is in production.',
  balance_too_small: (of: { balance_rub: number; amount_rub: number }) =>
    `The customer’s balance is ${rub(of.balance_rub)} RUB, so ${rub(of.amount_rub)} RUB cannot be taken from it.`,
  spending_cap_reached: (of: { cap_rub: number; spent_rub: number }) =>
    `This token may spend ${rub(of.cap_rub)} RUB in all and has spent ${rub(of.spent_rub)} RUB. Use another token.`,
  balance_too_large: 'The balance would be larger than the ledger holds.',
  customer_erased: 'This customer was erased, so the balance has no owner. No money was moved.',
  charge_not_found: 'There is no such charge to refund.',
  charge_already_refunded: (of: { given_rub: number }) =>
    `This charge has been refunded already: ${rub(of.given_rub)} RUB.`,
  operator_key_of_other_transaction: (of: { seq: number; customer: string }) =>
    `This key has moved something else: it is transaction ${of.seq} of ${of.customer}. Take another key.`,
  refund_too_large: (of: { left_rub: number }) =>
    `A refund is at most what is left of the charge: ${rub(of.left_rub)} RUB.`,
  sign_in_failed: 'Login, password or code is wrong.',
  code_required: 'Give the code that your second factor shows now.',
  too_many_attempts: 'Too many attempts. Wait a few minutes and try again.',
  too_many_sessions: 'You have signed in too often. Wait a few minutes; open sessions stay open.',
  sign_in_busy: 'Too many people sign in at this moment. Try again in a moment.',
  session_invalid: 'Sign in: there is no session, or it has ended.',
  link_invalid: 'This link does not work: it was used, is too old, or never was one.',
  link_outdated: 'The account was used since this link was made. Ask the shop for a new link.',
  link_needs_owner:
    'This customer has used the account (a password, a token, a session or money) and has no e-mail address for ' +
    'the link. Ask an owner of the shop.',
  login_taken: 'This login is taken. Choose another one.',
  password_missing: 'Set a password first: a second factor is used together with a password.',
  second_factor_exists: 'There is a second factor already. Remove it first.',
  second_factor_missing: 'There is no second factor to confirm.',
  registration_closed: 'This shop does not take new customers by itself. Ask the operator.',
  mail_not_configured: 'This shop sends no mail. Ask the operator for a link to sign in with.',
  debt_left: (of: { debt_rub: number }) => `You owe ${of.debt_rub} RUB. Pay your debt first, or ask the operator.`,
  balance_left: (of: { balance_rub: number }) =>
    `There are ${of.balance_rub} RUB on the balance. Repeat the request with "give_up_balance": true to give them up.`,
  subuser_login_taken: 'This login is taken. Choose another, or leave it out to get one.',
  subuser_limit: (of: { most: number }) => `A customer may have ${of.most} sub-users. Delete one first.`,
  default_subuser_stays: 'The default sub-user cannot be deleted. Block it instead.',
  whitelist_full: (of: { most: number }) => `A whitelist holds ${of.most} entries. Remove one first.`,
  no_exit_usable: (of: { pool: string }) =>
    `No exit of ${of.pool} can be used at the moment. Nothing was charged; try again later.`,
  address_in_stock: 'This address is in stock as a dedicated proxy. Retire it there first: "turnpike stock retire".',
  address_in_block: (of: { block: string }) =>
    `This address is in the block ${of.block}, which is sold as dedicated proxies. Take one outside of it, or ` +
    'retire the block first: "turnpike stock retire".',
  traffic_order_not_found: 'There is no such purchase of traffic.',
  no_unused_traffic: 'This order has no unused traffic.',
  no_traffic_to_move: (of: { pool: string }) => `There is no free traffic in ${of.pool} to move.`,
  traffic_refund_is_unused_part: 'Ending an order of traffic refunds its unused part, never the whole price.',
  insufficient_traffic: (of: { required_gb: number; available_gb: number }) =>
    `This takes ${of.required_gb} GB of traffic and ${of.available_gb} GB are free.`,
  traffic_limit: 'A sub-user cannot hold more traffic than 8,000,000 GB in a pool.',
  open_payment_limit: (of: { most: number }) =>
    `You have ${of.most} payments open already. Pay one, or wait until they expire.`,
  refused_payment_limit: (of: { most: number }) =>
    `The payment provider refused ${of.most} of your payments within an hour. Wait, or pay by another method.`,
  payment_key_reused: (of: { payment: string }) =>
    `This Idempotency-Key was used for a different payment, ${of.payment}. Repeat that one exactly to get its ` +
    'answer again, or use a new key for a new payment.',
  provider_refused: 'The payment provider did not accept this. Try another method or amount.',
  provider_silent:
    'The payment provider does not answer. Try again with the same Idempotency-Key, or with another method.',
  notification_not_authentic: 'This is not known to come from the provider.',
  notice_limit: 'Too many notices wait for the operator. Send it again later.',
  provider_not_found: (of: { known: readonly string[] }) =>
    `There is no such payment provider. There are: ${of.known.join(', ')}.`,
  provider_not_configured: (of: { name: string }) =>
    `${of.name} is not set up. See "turnpike payments provider set --help".`,
  payment_not_manual: 'The provider itself says whether this payment was made; it is not marked by hand.',
  payment_not_credited: 'This payment has not been credited.',
  provider_cannot_refund: (of: { provider: string }) =>
    `${of.provider} gives no money back by itself. Pay it out yourself and debit it.`,
  refund_exceeds_payment: (of: { left_rub: number }) =>
    `At most ${rub(of.left_rub)} RUB of this payment can still be given back.`,
  refund_under_way: (of: { amount_rub: number }) =>
    `A refund of ${rub(of.amount_rub)} RUB of this payment has no answer from the provider yet, so no other is asked ` +
    'for. Repeat that one first: under its key, or without a key and with the same amount.',
  referral_share_spent: (of: { referrer: string }) =>
    `The share of the referrer ${of.referrer} is taken back too. It is spent, so it would become a debt. ` +
    'Repeat with "into_debt": true (--into-debt) to allow that.',
  refund_refused_by_provider: 'The payment provider did not accept this.',
  refund_without_answer:
    'The payment provider does not answer. The shop records the outcome once the provider reports it; the same ' +
    'request can be repeated.',
  provider_list_unavailable: (of: { provider: string }) =>
    `${of.provider} does not answer, so its list could not be compared. Try again later.`,
  provider_list_refused: (of: { provider: string }) =>
    `${of.provider} does not give its list out. Look whether its secret is still right.`,
  notice_without_amount:
    'This notice has no paid amount in roubles. Credit the customer separately, then resolve the notice.',
  promo_code_attempts: 'Too many unknown codes. Wait a few minutes and try again.',
  promo_code_exists: (of: { code: string }) =>
    `There is a code ${of.code} already. Codes are never used for something else.`,
  referrer_already_set: 'This customer has a referrer already.',
  referrer_is_customer: 'A customer cannot be the referrer of the same customer.',
  referrer_is_newer: 'The referrer must have become a customer before the referred customer.',
  held_price_limit: (of: { most: number }) =>
    `${of.most} of your open payments hold a price already. Pay one of them, or top up first and buy then.`,
  held_amount_limit: (of: { most_rub: number }) =>
    `Your open payments may hold prices of ${rub(of.most_rub)} RUB in all. Top up first and buy then.`,
  erasure_not_confirmed: (of: {
    balance_rub: number
    proxies: number
    vpn_subscriptions: number
    traffic_bytes: number
  }) =>
    `This cannot be undone, and takes with it: ${of.balance_rub} RUB, proxies: ${of.proxies}, VPN ` +
    `subscriptions: ${of.vpn_subscriptions}, bytes of traffic: ${of.traffic_bytes}. Repeat the request with ` +
    '"confirm": true (--yes).',
  erasure_with_open_payments: (of: { open_payments: number }) =>
    `This customer has open payments: ${of.open_payments}. Their money would have no owner. Wait until they are over.`,
  history_differs: (of: { checkpoint: number }) =>
    `The row history under checkpoint ${of.checkpoint} does not match its digest, so it was not erased. Run ` +
    '"turnpike verify"; the erasure continues once verify finds nothing.',
  no_port_free: 'No port is free for this. Use a login and a password.',
  port_limit: (of: { most: number; free: number }) =>
    `A customer may hold ${of.most} ports, and ${of.free} are left. Ask for fewer, or use a login and a password.`,
  node_name_taken: 'There is a node of this name already.',
  node_open: (of: { name: string }) =>
    `This node is open and would continue to claim bytes. Close it first: "turnpike node close ${of.name}", or "node ` +
    'revoke".',
  node_closed: 'This node is closed. Open it first, with "turnpike node open".',
  invalid_join_key: 'This key lets no node in: it is unknown, expired or used. "turnpike node key" makes a new one.',
  node_secret_invalid:
    'Send the secret that this node has joined with as "Authorization: Bearer <secret>". This one is not valid.',
  shop_url_missing: 'This cannot be sold now: the shop is not set up to be reached from elsewhere. Ask the operator.',
  address_not_public:
    'Private, loopback and reserved addresses are not stock in production: customers could not use them.',
  no_prices: 'The shop has no prices yet. Nothing was charged.',
  vpn_not_sold: 'VPN is not for sale here.',
  pool_not_sold: (of: { pool: string }) => `Traffic of the pool ${of.pool} is not for sale here.`,
  ipv_not_sold: (of: { ipv: number }) => `A proxy with ipv ${of.ipv} is not for sale here.`,
  country_not_sold: (of: { ipv: number; country: string; allowed: readonly string[] }) =>
    `A proxy with ipv ${of.ipv} in ${of.country} is not for sale here. There are ${of.allowed.join(', ')}.`,
  prices_invalid: (of: { problems: readonly FieldProblem[] }) =>
    `The catalogue cannot be applied. ${listProblems(problemsEn, of.problems)}`,
  address_not_found: 'There is no such address in stock.',
  address_part_of_block: (of: { block: string }) =>
    `This is a part of the block ${of.block}, which is closed as a whole or not at all.`,
  range_not_found: (of: { prefix: string }) => `Nothing in stock is within ${of.prefix}.`,
  gateway_not_found: (of: { name: string }) =>
    `There is no gateway called ${of.name}. "turnpike node list" shows them.`,
  addresses_being_added: 'Another import is adding these addresses. Repeat the command when it has finished.',
  address_is_exit:
    'An address of these is an exit of a premium pool. Drain that exit first: "turnpike exit list" shows them.',
  whitelist_limit: (of: { most: number }) =>
    `A proxy may have ${of.most} addresses that need no password. Nothing was changed.`,
  whitelist_empty:
    'A line without a login is for proxies with a whitelisted address, and some have none. Whitelist one first.',
  replaced_recently: (of: { again_at: string }) =>
    `This proxy's address was replaced lately. It can be replaced again at ${of.again_at}.`,
  proxy_expired: 'This proxy has expired. Prolong it first.',
  addresses_withdrawn: (of: { ids: readonly number[] }) =>
    `The addresses of these proxies are being withdrawn, so they cannot be prolonged: ${of.ids.join(', ')}. ` +
    'Replace them first, or buy others. Nothing was charged.',
  addresses_not_served: (of: { ids: readonly number[] }) =>
    `These proxies have ended and no gateway serves their addresses at the moment: ${of.ids.join(', ')}. ` +
    'Nothing was charged; try again later.',
  proxy_not_renewable: 'This proxy is not due for renewal.',
  proxy_already_ended: 'There is no such proxy, or it has ended.',
  order_already_ended: 'Everything that this order bought has ended already. Nothing was refunded.',
  order_prolonged_only:
    'This order has prolonged proxies and bought none. End them one by one, or with the order that bought them.',
  prefix_not_in_stock: (of: { prefix: string }) => `Nothing of ${of.prefix} is in stock.`,
  database_busy: 'The shop is busy. Nothing was changed; try again in a moment.',
  database_unavailable: (of: { problem: DatabaseProblem }) =>
    `${databaseProblems[of.problem]} Repeat the request in a moment: with the same Idempotency-Key it has one ` +
    'effect at most. If you sent no key, check your orders first.',
  session_header_missing: (of: { header: string }) => `Send the header ${of.header}: 1 with a session.`,
  request_from_other_site: 'This was sent by another site.',
  request_from_other_origin: 'This was sent by a page of another origin.',
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
    `This costs ${rub(of.required_rub)} RUB and the balance is ${rub(of.balance_rub)} RUB. Top up and try again.`,
  insufficient_funds_with_debt: (of: { required_rub: number; debt_rub: number }) =>
    `This costs ${rub(of.required_rub)} RUB, and you owe ${rub(of.debt_rub)} RUB: a payment was taken back ` +
    'after its money was spent. Nothing can be bought before the debt is paid. Top up and try again.',
  order_cannot_be_ended: 'Nothing that this order has bought can be ended.',
  notification_not_confirmed: 'The provider was asked and does not answer. Send it again later.',
  refund_is_spent: (of: { balance_rub: number; bonus_rub: number }) =>
    `${of.bonus_rub > 0 ? `Its bonus of ${rub(of.bonus_rub)} RUB goes back too. ` : ''}The balance is only ` +
    `${rub(of.balance_rub)} RUB: the rest would become a debt. Repeat with "into_debt": true (--into-debt) to allow ` +
    'that.',
  out_of_stock: (of: { available: number }) =>
    `${of.available === 0 ? 'None' : `Only ${of.available}`} are free here now. Nothing was charged.`,
  no_gateway_up: 'No gateway that has them is up at the moment. Nothing was charged; try again later.',
  proxies_not_found: (of: { ids: readonly number[] }) =>
    `There ${of.ids.length === 1 ? 'is no proxy' : 'are no proxies'} ${of.ids.join(', ')}. Nothing was changed.`,
  invalid_request: (of: { problems: readonly FieldProblem[] }) =>
    `The request is not valid. ${listProblems(problemsEn, of.problems)}`,
  /** By a command on this machine, or as a remote shop has worded it. */
  here: (of: { text: string }) => of.text,
}
