import { createList, createPlural, createRub } from './numbers.ts'

const rub = createRub('en')
const count = createPlural('en')
const days = (number: number): string => count(number, { one: 'day', other: 'days' })
const characters = (number: number): string => count(number, { one: 'character', other: 'characters' })
const bytes = (number: number): string => count(number, { one: 'byte', other: 'bytes' })
const items = (number: number): string => count(number, { one: 'item', other: 'items' })
const upTo = (from: number, to: number): string => (from === 0 ? `at most ${to}` : `${from} to ${to}`)
export const listed = (values: readonly (string | number)[]): string => values.join(', ')
const orOf = createList('en-GB', 'disjunction')
const andOf = createList('en-GB', 'conjunction')
export const braced = (names: readonly string[]): string => names.map((name) => `{${name}}`).join(', ')

const types = {
  whole_number: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
}
export type ValueType = keyof typeof types

const alphabets = {
  letters: 'letters',
  small_letters: 'small letters',
  digits: 'digits',
  dots: 'dots',
  dashes: 'dashes',
  underscores: 'underscores',
}
export type Alphabet = keyof typeof alphabets

const things = { location: 'location', pool: 'pool', vpn_node: 'VPN node', gateway: 'gateway' }
export type NamedThing = keyof typeof things

const jsonFaults = {
  after_end: 'there is something after its end',
  too_deep: 'it nests deeper than 16',
  key_expected: 'a key in double quotes is expected',
  proto_key: 'the key "__proto__" is not allowed',
  duplicate_key: 'a key is given twice',
  colon_expected: '":" is expected',
  comma_or_brace_expected: '"," or "}" is expected',
  comma_or_bracket_expected: '"," or "]" is expected',
  value_expected: 'a value is expected',
  early_end: 'it ends too early',
  string_open: 'a string is not closed, or holds a character that must be escaped',
  string_nul: 'a string holds NUL',
  string_surrogate: 'a string holds half of a surrogate pair',
  number_long: 'a number has too many digits',
  number_large: 'a number is too large',
  number_unsafe: 'a whole number is past 2^53',
  number_negative_zero: '-0 is not accepted as a number',
  number_inexact: 'a number has more digits than can be kept',
}
export type JsonFault = keyof typeof jsonFaults

type Values = readonly (string | number)[]

/**
 * The English sentence of each problem of a field, and of each warning about one. It follows the name of the field. A
 * function's argument names the parameters.
 */
export const problemsEn = {
  // Presence and type.
  required: 'is required',
  misspelt: (of: { sent: string }) => `is required; did you mean it by "${of.sent}"?`,
  required_with: (of: { other: string }) => `is required with ${of.other}`,
  required_by: (of: { provider: string }) => `is required by ${of.provider}`,
  either: (of: { other: string }) => `send either this or ${of.other}, not both`,
  one_field_of: (of: { fields: readonly string[] }) => `must have either ${orOf(of.fields)}, not both`,
  not_with: (of: { others: readonly string[] }) => `must not be sent with ${orOf(of.others)}`,
  only_with: (of: { other: string }) => `must only be sent with ${of.other}`,
  same_as: (of: { other: string }) => `must be the same as ${of.other}, or left out`,
  once: 'must be given once',
  type: (of: { expected: ValueType }) => `must be ${types[of.expected]}`,
  wrong_type: 'has the wrong type',
  wrong_format: 'has the wrong format',
  no_allowed_form: 'has none of the allowed forms',
  name_not_allowed: 'has a name that is not allowed',
  unknown_fields: (of: { names: readonly string[] }) => `has unknown fields: ${listed(of.names)}`,
  unknown_field: 'is not known',
  duplicates: 'must not contain duplicates',
  invalid: 'is not valid',

  // Numbers.
  one_of: (of: { allowed: Values }) => `must be one of ${listed(of.allowed)}`,
  between: (of: { from: number; to: number }) => `must be from ${of.from} to ${of.to}`,
  whole_between: (of: { from: number; to: number }) => `must be a whole number from ${of.from} to ${of.to}`,
  in_steps: (of: { from: number; to: number; step: number }) =>
    `must be from ${of.from} to ${of.to} in steps of ${of.step}`,
  with_cents: (of: { from: number; to: number }) =>
    `must be from ${rub(of.from)} to ${rub(of.to)} with at most two decimals`,
  two_decimals: 'must have at most two decimals',
  at_least: (of: { min: number }) => `must be at least ${of.min}`,
  future: 'must be in the future',
  at_most: (of: { max: number }) => `must be at most ${of.max}`,
  more_than: (of: { min: number }) => `must be more than ${of.min}`,
  less_than: (of: { max: number }) => `must be less than ${of.max}`,
  multiple_of: (of: { step: number }) => `must be a multiple of ${of.step}`,
  plain_digits: 'must be a whole number in plain digits',
  roubles: 'must be more than 0, in roubles with at most two decimals',
  amount_by_method: (of: { from_rub: number; to_rub: number }) =>
    `must be from ${rub(of.from_rub)} to ${rub(of.to_rub)} by this method`,
  amount_too_small: (of: { min_rub: number }) =>
    `must be at least ${rub(of.min_rub)}, so that it pays for what is to be bought`,

  // Lengths and characters.
  min_characters: (of: { min: number }) => `must have at least ${characters(of.min)}`,
  max_characters: (of: { max: number }) => `must have at most ${characters(of.max)}`,
  min_items: (of: { min: number }) => `must have at least ${items(of.min)}`,
  max_json_bytes: (of: { max: number; things: number }) =>
    of.things === 1
      ? `must have at most ${bytes(of.max)} as JSON`
      : `must have at most ${bytes(of.max)} as JSON, because it is copied to ${of.things} things`,
  max_items: (of: { max: number }) => `must have at most ${items(of.max)}`,
  characters: (of: { from: number; to: number }) => `must be ${of.from} to ${characters(of.to)}`,
  printable: (of: { from: number; to: number }) => `must be ${upTo(of.from, of.to)} printable characters`,
  printable_line: 'must be one line of printable characters',
  visible: (of: { from: number; to: number }) => `must be ${of.from} to ${of.to} visible ASCII characters`,
  made_of: (of: { from: number; to: number; of: readonly Alphabet[] }) =>
    `must be ${of.from} to ${of.to} ${andOf(of.of.map((each) => alphabets[each]))}`,
  hex_digits: (of: { digits: number }) => `must be ${of.digits} hexadecimal digits`,
  different_characters: 'must have at least four different characters',

  // Names and ids.
  uuid: 'must be a UUID',
  id: (of: { prefix: string }) => `must be an id like ${of.prefix}_…`,
  id_list: (of: { max: number }) => `must be up to ${of.max} different ids, separated by commas`,
  name_of: (of: { thing: NamedThing }) => `must be the name of a ${things[of.thing]}`,
  latin_name: (of: { max: number }) => `must be a name in Latin letters or digits, at most ${of.max} of them`,
  device_name: "must be 1 to 64 letters, digits, spaces or ._'()+- and begin with a letter or digit",
  operator_name: 'must be 1 to 64 letters, digits, dots, dashes and underscores, and not "tool"',
  account_login: 'must be 3 to 64 letters, digits, dots, dashes and underscores, or your own confirmed e-mail address',
  subuser_login: 'must be 5 to 32 small letters, digits and _, beginning with a letter, and not with tp',
  email: 'must be an e-mail address',
  email_for_receipt: 'is required by this method, for the receipt',
  password_is_login: 'must not be the login',
  second_factor_code: 'is not the code that the second factor shows now, or was used already',
  wireguard_key: 'must be a WireGuard public key, as "wg pubkey" prints it',
  cursor: 'must be a next_cursor that this list has answered with',
  node_cursor: 'was not issued to this node; start again without a cursor',
  boot_ahead: "is more than a day ahead of the shop's clock; the log of the shop says what to do",

  // Places and times.
  country_code: 'must be a country code of two letters (ISO 3166-1), like DE',
  country_unknown: (of: { code: string }) => `is not a country: ISO 3166-1 has no code ${of.code}`,
  country_list: 'must be "any", or two letters each with commas between, like DE,FR',
  date: 'must be a day like 2027-01-31',
  moment: 'must be a date like 2027-01-31 or a moment like 2027-01-31T12:00:00Z',
  later_than: (of: { other: string }) => `must be a later day than ${of.other}`,
  days_after: (of: { other: string; from: number; to: number }) =>
    `must be ${of.from} to ${days(of.to)} after ${of.other}`,
  earlier_by: (of: { other: string; max_days: number }) => `must be at most ${days(of.max_days)} before "${of.other}"`,
  not_before: (of: { other: string }) => `must be a moment that is not before ${of.other}`,
  not_after: (of: { other: string }) => `must not be after "${of.other}"`,

  // The brand.
  colour: 'must be a colour like #0f7563',
  contrast: (of: { has: number; needed: number; nearest: string }) =>
    `must have a contrast of ${of.needed} with white and has ${of.has}; the nearest darker colour is ${of.nearest}`,
  contact: 'must be an e-mail address, or an https:// URL without a login',
  base64: 'must be base64',
  image_type: 'must be a PNG, JPEG, WebP or SVG image',
  image_size: (of: { max_kib: number }) => `must have at most ${of.max_kib} KiB`,
  svg_part: (of: { part: string }) => `has ${of.part}: an SVG must have shapes and texts only`,

  // Addresses.
  address: 'must be an IPv4 or IPv6 address',
  address_or_prefix: 'must be an IPv4 or IPv6 address, or a prefix like 203.0.113.0/24 with no bits past its length',
  prefix: 'must be a prefix like 203.0.113.0/24 with no bits past its length',
  prefix_too_wide: (of: { length: number; version: number }) =>
    `must be no wider than /${of.length} for IPv${of.version}`,
  address_of_kind: (of: { ipv: number; version: number }) =>
    `must be IPv${of.version}, because ipv ${of.ipv} takes no other addresses`,
  address_reserved: 'must be a public address; this one is reserved',
  address_unspecified: 'must not be the unspecified address',
  host: 'must be a host name or an address',
  webhook_url: 'must be an address without a login and fragment, of at most 500 visible ASCII characters',
  webhook_scheme: 'must be an https address',
  webhook_scheme_sandbox: 'must be an http or https address',
  webhook_address: 'must not have a private or reserved IP address: the shop sends to public addresses only',
  webhook_port: 'must have the port 443, or one from 1024 on that no database or mail server uses',
  host_and_port: 'must be a host, optionally with a port',
  web_address: 'must be an http or https address without a user name',
  proxy_url: 'must be http://host:port or socks5://host:port, without login and password',
  asn: 'must be the number of a network, like 3320',

  // Templates of lines and of logins.
  template_or: (of: { allowed: Values }) => `must be a template, or one of ${listed(of.allowed)}`,
  placeholder_unknown: (of: { name: string; known: readonly string[] }) =>
    `has an unknown placeholder {${of.name}}; allowed: ${braced(of.known)}`,
  placeholder_missing: (of: { known: readonly string[] }) => `must have at least one of ${braced(of.known)}`,
  login_template: (of: { max: number }) => `must be 1 to ${of.max} visible ASCII characters without a colon`,
  template_brackets: 'has a bracket that is not closed, or one within another',
  template_idle_brackets: 'has brackets around a part without a placeholder that a customer can choose',
  only_with_template: 'must only be sent with a username that is a template, with {country} and the like in it',
  not_with_template: 'must be left out where the username is a template',
  https_needs_login: 'cannot be https in a format without a login',
  https_not_served: 'cannot be https: no gateway accepts proxies over TLS now',
  login_too_long: (of: { max: number }) => `and the other location fields make a login longer than ${of.max}`,

  // Sales.
  location_not_served: (of: { names: Values }) => `${listed(of.names)} cannot be served by this pool`,
  locations_not_served: (of: { names: Values }) =>
    `${listed(of.names)} cannot be served together with the other locations`,
  pool_without_exits: 'has no exits at the moment',
  other_subuser: 'must be another sub-user than the traffic comes from',
  several_subscriptions: 'is required, because there are several subscriptions',
  payment_method: 'must be a method that GET /payments/methods lists',
  no_payment_method: 'this shop has no payment method yet; ask the seller',
  promo_code_unknown: 'is not a code of this shop',
  promo_code_over: 'has ended',
  promo_code_used_up: 'has reached its maximum number of uses',
  promo_code_used: 'was already used by you',
  promo_code_larger: 'applies only to larger top-ups',
  promo_code_minimum: (of: { min_rub: number }) => `applies to top-ups of at least ${rub(of.min_rub)} RUB`,

  // Settings of a payment provider.
  provider_without_secret: (of: { provider: string }) => `must be left out: ${of.provider} has no secret`,
  setting_unknown: (of: { provider: string; name: string; known: readonly string[] }) =>
    `has an unknown setting "${of.name}"; ${of.provider} has: ${listed(of.known) || 'none'}`,
  setting_wrong: (of: { name: string; meaning: string }) => `has a wrong value for ${of.name}: ${of.meaning}`,
  setting_missing: (of: { provider: string; name: string; meaning: string }) =>
    `must have ${of.name} for ${of.provider}: ${of.meaning}`,
  method_bounds: (of: { method: string; from_rub: number; to_rub: number }) =>
    `must be from ${rub(of.from_rub)} to ${rub(of.to_rub)} roubles by ${of.method}`,
  method_fee: 'must have a fee below 100 percent with at most two decimals, like 2.5',

  // Price lists.
  price_missing: (of: { days: number }) => `has no price for ${days(of.days)}`,
  rising: 'must rise',
  steps_rising: 'must rise, in number and in discount',
  tiers_from_zero: 'must begin with from_gb 0',
  tiers_rising: 'must rise in volume and never in price',

  // The body as a whole.
  not_json: (of: { at: number; fault: JsonFault }) => `not valid JSON at character ${of.at}: ${jsonFaults[of.fault]}`,
  not_yaml: 'is not a price list in YAML or JSON',
  key_twice: (of: { key: string }) => `has the key ${of.key} twice in one place: keep one of them`,
  not_utf8: 'is not UTF-8',
  not_gzip: 'is not a complete gzip stream, as Content-Encoding says',
  cut_short: 'was cut off before its end',
  too_slow: (of: { seconds: number }) =>
    `did not arrive within ${count(of.seconds, { one: 'second', other: 'seconds' })}`,
  not_a_notification: 'is not a notification of this provider',

  // Warnings: the request was carried out.
  ignored_unknown: 'is not known here and was ignored',
  ignored_similar: (of: { nearest: string }) => `is not known here; did you mean ${of.nearest}?`,
  ignored_in_address: 'was ignored in the address; this operation reads it from the body',
  ignored_for: (of: { other: string }) => `was ignored, because ${of.other} is given`,
  read_as: (of: { other: string }) => `was read as ${of.other}`,
  key_misplaced: 'was ignored, so a retry is not safe; send it as the header Idempotency-Key',
  key_unused: 'was ignored: this operation charges nothing and takes no key',
  more_unknown: (of: { fields: number }) =>
    `has ${count(of.fields, { one: 'more field that is', other: 'more fields that are' })} not known here`,
  whitelist_empty:
    'gives lines that admit whitelisted addresses only, and the whitelist is empty: add an address with ' +
    'POST /premium/whitelist/add',
  no_vpn_node_up:
    'No VPN node is up, so the configuration does not connect yet. On a Linux machine with root and WireGuard, ' +
    '"turnpike up --local-nodes vpn" starts one.',
}
