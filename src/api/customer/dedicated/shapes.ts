import { type CountryCode, readCountry } from '../../../core/country.ts'
import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toDateEnd, toIso } from '../../../core/time.ts'
import { maxDays, maxExported, type PortType, type Proxy, type ProxyStatus } from '../../../domains/dedicated/rules.ts'
import type { TlsEndpoint } from '../../../domains/fleet/rules.ts'
import type { Metadata } from '../../../domains/metadata/rules.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import {
  balanceAfter,
  bodyInteger,
  bodyOneOf,
  bodyTerm,
  checkCopies,
  choice,
  exampleAt,
  flag,
  list,
  moment,
  named,
  orderId,
  part,
  passwordsRefused,
  purchaseOptions,
  queryInteger,
  queryTerm,
  roubles,
  rows,
  shownMetadata,
  soughtMetadata,
  text,
  validUntil,
  whole,
  withTerm,
} from '../../fields.ts'
import { exampleOf, operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const ipvMeaning =
  '`3`: IPv4 address shared by up to three customers; `4`: dedicated IPv4 address; `6`: dedicated IPv6 address.'
const kinds: readonly Ipv[] = [3, 4, 6]

export const country = () =>
  z
    .string()
    .transform((written, context): CountryCode => {
      const code = readCountry(written)
      if (code) return code
      const message = /^[A-Za-z]{2}$/.test(written)
        ? problem('country_unknown', { code: written.toUpperCase() })
        : problem('country_code')
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .openapi({
      type: 'string',
      description:
        'Country code, ISO 3166-1 alpha-2, upper or lower case. `GET /dedicated/country` lists the countries on sale.',
      example: 'DE',
    })

const bodyIpv = () => bodyOneOf([3, 4, 6], { description: ipvMeaning, example: 4 })
const queryIpv = () =>
  z
    .string()
    .transform((written, context): Ipv => {
      const ipv = kinds.find((each) => String(each) === written)
      if (ipv !== undefined) return ipv
      context.addIssue({ code: 'custom', message: problem('one_of', { allowed: kinds }) })
      return z.NEVER
    })
    .openapi({ type: 'integer', enum: [3, 4, 6], description: ipvMeaning, example: 4 })

const period = {
  min: 1,
  max: 3650,
  example: 30,
  description:
    'Term in days. In the default price list: 7, 14, 30, 60 or 90; also 3 for IPv6 and for prolonging. If the term ' +
    'is refused, `allowed` lists the terms of this shop.',
}
const exampleProxy = 1201
const proxyId = () =>
  bodyInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, example: exampleProxy, description: "The proxy's id." })

export const see = {
  country_code: 'GET /dedicated/country',
  period: '/docs#quoteDedicated',
  ids: 'GET /dedicated/list',
}

const operation = operationsOf({ tag: 'Dedicated proxies', see })

const noSuchProxy = new Refusal('proxies_not_found', { ids: [exampleProxy] }, { ids: [exampleProxy], charged: false })

export const bodyIds = () =>
  z
    .array(proxyId())
    .min(1)
    .max(1000)
    .refine((ids) => new Set(ids).size === ids.length, problem('duplicates'))
    .openapi({ description: 'Ids of your proxies, each once.', example: [exampleProxy] })

/** `ids=1,2`, `ids=1&ids=2` or `ids[]=1&ids[]=2`. */
export const queryIds = () =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((value, context): number[] => {
      const parts = [value].flat().flatMap((written) => written.split(','))
      const ids = parts.map((digits) => (/^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN))
      const fine =
        ids.every((id) => Number.isSafeInteger(id) && id > 0) && ids.length <= 1000 && new Set(ids).size === ids.length
      if (fine) return ids
      context.addIssue({ code: 'custom', message: problem('id_list', { max: 1000 }) })
      return z.NEVER
    })
    .openapi({
      type: 'string',
      description: 'Ids of your proxies, separated by commas or repeated.',
      example: String(exampleProxy),
    })

const portType = (description: string) =>
  z
    .enum(['http', 'socks', 'socks5', 'both'])
    .transform((type): PortType => (type === 'socks5' ? 'socks' : type))
    .openapi({
      type: 'string',
      enum: ['http', 'socks', 'socks5', 'both'],
      description: `${description} \`socks5\` is the same as \`socks\`; \`both\` is HTTP and SOCKS5.`,
      example: 'socks',
    })

export const count = { min: 1, max: 1000, example: 10, description: 'Number of proxies.' }

export const orderFields = {
  country_code: country(),
  period: bodyTerm(period),
  count: bodyInteger({ ...count, example: 1 }),
  ipv: bodyIpv(),
  port_type: portType('Protocol of the proxies.').default('http').openapi({ default: 'http' }),
}

const shownIpv = () => whole(ipvMeaning, 4)
const shownCountry = () => text('Country code, ISO 3166-1 alpha-2.', 'DE')
const shownPeriod = () => whole('Term in days.', 30)
const dateEnd = () => text('When the term ends, UTC, in the legacy format.', toDateEnd(exampleAt))
export const expiresAt = () => moment('When the term ends.')

export const proxy = named('Proxy', {
  id: whole("The proxy's id.", exampleProxy),
  ip: text('Address to connect to.', '203.0.113.7'),
  port: whole('Port to connect to.', 10_800),
  port_type: choice('Protocol: HTTP, SOCKS5, or both.', ['http', 'socks', 'both']),
  username: text('User name.', 'tpxd7k2m'),
  password: text(
    'Password. Null for a token without the scope `passwords`, except in the answer to its own purchase.',
    'q7r2m9x4c8v1b6n3k5j0',
  ).nullable(),
  https_host: text(
    'Host name to connect to over TLS (HTTPS proxy), for networks that filter plain proxies; null if there is none.',
    'gw.example.net',
  ).nullable(),
  https_port: whole('Port to connect to over TLS; null if there is none.', 10_443).nullable(),
  browser_host: text(
    'Host name to use in place of `https_host` in programs that send a login only after a 407: browsers, Playwright, ' +
      'wget, Java. Under other names the port can be a web site that answers no 407. Equal to `https_host` if every ' +
      'name gets a 407; null if no name gets one, so such programs cannot use the port.',
    'browser.gw.example.net',
  ).nullable(),
  exit_ip: text('Address that websites see.', '203.0.113.7'),
  country_code: shownCountry(),
  ipv: shownIpv(),
  date_end: dateEnd(),
  expires_at: expiresAt(),
  status: choice('An `expired` proxy can still be prolonged for 3 days.', ['active', 'expired']),
  state: choice('An `interrupted` proxy cannot be used at the moment; its term is paused. See `GET /events`.', [
    'serving',
    'interrupted',
  ]),
  comment: text('Your comment on the proxy.', 'shop 7'),
  metadata: shownMetadata(),
  whitelist: z.array(text('IP address.', '198.51.100.4')).openapi({
    description: 'Client addresses that can connect to `whitelist_port` without a password.',
    example: ['198.51.100.4'],
  }),
  whitelist_port: whole('Port for whitelisted addresses; null if the whitelist is empty.', 20_417).nullable(),
  traffic: part('Traffic relayed for you so far; updated every few seconds.', {
    rx_bytes: whole('Bytes received by you through the proxy.', 1_048_576),
    tx_bytes: whole('Bytes sent by you through the proxy.', 65_536),
  }),
  auto_renew: whole(
    'Days added by automatic renewal, one day before the end; null if automatic renewal is off.',
    30,
  ).nullable(),
})

type ShownFields = 'id' | 'address' | 'portType' | 'username' | 'ipv' | 'expiresAt' | 'interruptedAt' | 'comment'

export type ShownProxy = Pick<Proxy, ShownFields | 'renewPeriod' | 'sources' | 'entryPort'> & {
  readonly country: string
  readonly metadata: Metadata
  /** Null where the caller may not see it. */
  readonly password: string | null
  readonly status: ProxyStatus
  /** The public address of the node that serves the proxy, if it has its own. */
  readonly endpoint: GatewayAddress | null
  /** Where that node accepts proxies over TLS. */
  readonly https: TlsEndpoint | null
  /** Customers connect to another gateway, which relays to the one with the address. */
  readonly isEntered: boolean
  readonly traffic: { readonly received: bigint; readonly sent: bigint }
}

export type GatewayAddress = { readonly host: string; readonly port: number }

/** A proxy with IPv6 or with an entry is reached at its gateway, any other at the address that it leaves from. */
export const entranceOf = (
  of: Pick<ShownProxy, 'ipv' | 'isEntered' | 'endpoint' | 'address'>,
  gateway: GatewayAddress,
): GatewayAddress => {
  const { host, port } = of.endpoint ?? gateway
  return { host: of.ipv === 6 || of.isEntered ? host : of.address, port }
}

export const toProxy = (of: ShownProxy, gateway: GatewayAddress): z.input<typeof proxy> => ({
  id: of.id,
  ip: entranceOf(of, gateway).host,
  port: entranceOf(of, gateway).port,
  port_type: of.portType,
  username: of.username,
  password: of.password,
  // A proxy over TLS speaks HTTP.
  https_host: of.portType === 'socks' ? null : (of.https?.host ?? null),
  https_port: of.portType === 'socks' ? null : (of.https?.port ?? null),
  browser_host: of.portType === 'socks' ? null : (of.https?.browserHost ?? null),
  exit_ip: of.address,
  country_code: of.country,
  ipv: of.ipv,
  date_end: toDateEnd(of.expiresAt),
  expires_at: toIso(of.expiresAt),
  status: of.status,
  state: of.interruptedAt === null ? 'serving' : 'interrupted',
  comment: of.comment,
  metadata: { ...of.metadata },
  whitelist: [...of.sources],
  whitelist_port: of.sources.length > 0 ? of.entryPort : null,
  traffic: { rx_bytes: Number(of.traffic.received), tx_bytes: Number(of.traffic.sent) },
  auto_renew: of.renewPeriod,
})

const notSold = new Refusal(
  'country_not_sold',
  { ipv: 4, country: 'BR', allowed: ['DE', 'NL', 'US'] },
  { field: 'country_code', allowed: ['DE', 'NL', 'US'], see: see.country_code, charged: false },
)
const outOfStock = new Refusal('out_of_stock', { available: 3 }, { available: 3, charged: false })

export const quoteDedicated = operation('quoteDedicated', 'GET /dedicated/quote', {
  summary: 'Price dedicated proxies',
  description: 'Nothing is bought or reserved.',
  query: withTerm(period, {
    country_code: country(),
    period: queryTerm(period),
    count: queryInteger(count),
    ipv: queryIpv(),
  }),
  answer: z.object({
    country_code: shownCountry(),
    period: shownPeriod(),
    count: whole('Number of proxies.', 10),
    ipv: shownIpv(),
    price_rub: roubles('Total price. A purchase at this moment charges this amount.', 1658.7),
    full_price_rub: roubles('Total price before the discount.', 1800),
    price_per_proxy_rub: roubles(
      'Price per proxy, rounded up to the kopeck; multiplied by `count` it may differ from `price_rub`.',
      165.87,
    ),
    discount_percent: z.number().openapi({
      description: 'Combined discount for count and term in percent, rounded down to two decimals.',
      example: 7.85,
    }),
    available: whole('Number of proxies available now; 20000 means 20000 or more.', 1024),
    valid_until: validUntil(),
  }),
  refusals: { not_found: notSold },
})

export const buyDedicated = operation('buyDedicated', 'POST /dedicated/buy', {
  affectsNodes: true,
  summary: 'Buy dedicated proxies',
  description: 'The proxies can be used as soon as the answer arrives.',
  // The order has the pairs too.
  body: withTerm(period, { ...orderFields, ...purchaseOptions }).superRefine(
    ({ metadata = {}, count: ofProxies }, of) => checkCopies(of, metadata, 1 + ofProxies, ['metadata']),
  ),
  answer: z.object({
    order_id: orderId(),
    check_id: whole('Id of the charge in `GET /transactions`; null if the price is 0.', 2).nullable(),
    country_code: shownCountry(),
    period: shownPeriod(),
    count: whole('Number of proxies bought.', 1),
    ipv: shownIpv(),
    price_rub: roubles('Total price charged.', 171),
    balance_rub: balanceAfter(),
    proxies: list('Proxies bought, ready to use.', proxy),
  }),
  refusals: { not_found: notSold, out_of_stock: outOfStock },
  charges: true,
  isSecret: true,
})

const share =
  'Share of this proxy in the total. Shares add up to the total; shares of similar proxies differ by at most one ' +
  'kopeck.'

const withdrawn = { ids: [exampleProxy], charged: false }
const notForLonger = {
  conflict: new Refusal('addresses_withdrawn', { ids: [exampleProxy] }, withdrawn),
  unavailable: new Refusal('addresses_not_served', { ids: [exampleProxy] }, withdrawn),
}

const prolongingQuote = {
  answer: z.object({
    period: shownPeriod(),
    total_price_rub: roubles('Total price. A purchase at this moment charges this amount.', 171),
    price_rub: roubles('The same as `total_price_rub`.', 171),
    items: rows('One entry per proxy.', {
      id: whole("The proxy's id.", exampleProxy),
      ipv: shownIpv(),
      price_rub: roubles(share, 171),
      expires_at: moment('When the term would end.'),
    }),
    valid_until: validUntil(),
  }),
  refusals: { not_found: noSuchProxy, ...notForLonger },
}

export const quoteProlonging = operation('quoteProlonging', 'GET /dedicated/prolong/quote', {
  summary: 'Price prolonging proxies',
  query: withTerm(period, { ids: queryIds(), period: queryTerm(period) }),
  ...prolongingQuote,
})

export const quoteProlongingOfMany = operation('quoteProlongingOfMany', 'POST /dedicated/prolong/quote', {
  summary: 'Price prolonging proxies whose ids do not fit into a URL',
  description: 'Like `GET /dedicated/prolong/quote`, with the ids in the body. Nothing is bought.',
  scope: 'read',
  body: withTerm(period, { ids: bodyIds(), period: bodyTerm(period) }),
  ...prolongingQuote,
})

export const prolongDedicated = operation('prolongDedicated', 'POST /dedicated/prolong', {
  affectsNodes: true,
  summary: 'Prolong proxies, all or none',
  description:
    'The days are added to the current term. Ids, addresses and credentials do not change. A proxy whose address the ' +
    'operator is withdrawing cannot be prolonged; an expired one can be prolonged only while a gateway serves it.',
  body: withTerm(period, { ids: bodyIds(), period: bodyTerm(period), ...purchaseOptions }),
  answer: z.object({
    order_id: orderId(),
    period: shownPeriod(),
    total_price_rub: roubles('Total price charged.', 171),
    price_rub: roubles('The same as `total_price_rub`.', 171),
    balance_rub: balanceAfter(),
    items: rows('Prolonged proxies.', {
      id: whole("The proxy's id.", exampleProxy),
      price_rub: roubles(share, 171),
      date_end: dateEnd(),
      expires_at: expiresAt(),
    }),
  }),
  refusals: { not_found: noSuchProxy, ...notForLonger },
  charges: true,
})

const comment = z
  .string()
  .max(200)
  .refine((written) => !/\p{Cc}/u.test(written), problem('printable_line'))

const updated = () => list('Ids of the changed proxies.', whole("A proxy's id.", exampleProxy))

export const setProtocol = operation('setProtocol', 'POST /dedicated/protocol', {
  affectsNodes: true,
  summary: 'Change the protocol of proxies',
  body: z.object({
    ids: bodyIds(),
    port_type: portType('New protocol.'),
  }),
  answer: z.object({
    port_type: choice('Protocol of the proxies now.', ['http', 'socks', 'both'], 'socks'),
    updated: updated(),
  }),
  refusals: { not_found: noSuchProxy },
})

export const listDedicated = operation('listDedicated', 'GET /dedicated/list', {
  isSecret: true,
  summary: 'List your proxies, newest first',
  query: z.object({
    ...pageQuery,
    status: choice('Only active proxies, or only expired ones that can still be prolonged.', [
      'active',
      'expired',
    ]).optional(),
    country_code: country().optional(),
    ipv: queryIpv().optional(),
    expires_before: z
      .string()
      .optional()
      .openapi({ description: 'Only proxies whose term ends before this time, ISO 8601.', example: toIso(exampleAt) }),
    comment: comment.optional().openapi({ description: 'Only proxies with exactly this comment.' }),
    metadata: soughtMetadata(),
    comment_contains: comment.optional().openapi({
      description:
        'Only proxies whose comment contains this text, in upper or lower case of any alphabet. A page can then be ' +
        'short or empty although `next_cursor` is not null: one request compares about 10,000 comments.',
    }),
  }),
  answer: page({ proxies: list('One page of your proxies.', proxy) }),
})

export const getProxy = operation('getProxy', 'GET /dedicated/{id}', {
  isSecret: true,
  summary: 'Read one of your proxies',
  params: z.object({
    id: queryInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, example: exampleProxy, description: "The proxy's id." }),
  }),
  answer: proxy,
  refusals: { not_found: noSuchProxy },
})

const dayOfExample = toIso(exampleAt).slice(0, 10)
const bytesByDay = (description: string) =>
  list(`${description} One number for each day, oldest first.`, whole('Bytes.', 1_000_000))

export const getDailyTraffic = operation('getDailyTraffic', 'GET /dedicated/traffic', {
  summary: 'Read the traffic of proxies by day',
  description:
    'Days are in UTC; the last one is today. A day has the bytes that were reported on it, a few seconds after they ' +
    'were relayed. Days are kept for 31 days, as long as the proxy.',
  query: z.object({
    ids: queryIds(),
    days: queryInteger({ min: 1, max: maxDays, example: 7, description: 'Number of days, today included.' }).default(
      maxDays,
    ),
  }),
  answer: z.object({
    first_day: text('First day, UTC.', dayOfExample),
    days: whole('Number of days.', 2),
    proxies: rows('One entry per proxy, in the order of `ids`.', {
      id: whole("The proxy's id.", exampleProxy),
      rx_bytes_by_day: bytesByDay('Bytes received by you.'),
      tx_bytes_by_day: bytesByDay('Bytes sent by you.'),
    }),
  }),
  refusals: { not_found: noSuchProxy },
})

export const listCountries = operation('listCountries', 'GET /dedicated/country', {
  summary: 'List countries on sale for a proxy type',
  query: z.object({ ipv: queryIpv() }),
  answer: z.object({
    ipv: shownIpv(),
    periods: list('Terms for a purchase.', whole('Term in days.', 30)),
    prolong_periods: list('Terms for prolonging.', whole('Term in days.', 30)),
    countries: rows('Countries with a price.', {
      country_code: shownCountry(),
      name: text('Name of the country in English.', 'Germany'),
      name_ru: text('Name of the country in Russian.', 'Германия'),
      available: whole('Number of proxies available now; 20000 means 20000 or more.', 1024),
    }),
  }),
  example: { periods: [7, 14, 30, 60, 90], prolong_periods: [3, 7, 14, 30, 60, 90] },
})

export const countAvailable = operation('countAvailable', 'GET /dedicated/count', {
  summary: 'Count available proxies',
  query: z.object({ country_code: country(), ipv: queryIpv() }),
  answer: z.object({
    country_code: shownCountry(),
    ipv: shownIpv(),
    count: whole('Number of proxies available now; 20000 means 20000 or more.', 1024),
  }),
})

export const replaceProxy = operation('replaceProxy', 'POST /dedicated/replace', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Replace the address of a proxy with another of the same type and country',
  description:
    'Free of charge, once a day per proxy. Id, credentials and term do not change. A retry with the same ' +
    '`Idempotency-Key` is safe: it replaces once and gets the first answer.',
  body: z.object({ id: proxyId() }),
  answer: proxy,
  charges: 'free',
  isSecret: true,
  refusals: {
    not_found: noSuchProxy,
    out_of_stock: new Refusal('out_of_stock', { available: 0 }, { available: 0, charged: false }),
    conflict: new Refusal(
      'replaced_recently',
      { again_at: toIso(exampleAt) },
      { again_at: toIso(exampleAt), charged: false },
    ),
  },
})

export const setComment = operation('setComment', 'POST /dedicated/comment', {
  summary: 'Set the comment of proxies',
  body: z.object({
    ids: bodyIds(),
    comment: comment.openapi({
      description: 'Comment without control characters; an empty string removes it.',
      example: 'shop 7',
    }),
  }),
  answer: z.object({ comment: text('Comment of the proxies now.', 'shop 7'), updated: updated() }),
  refusals: { not_found: noSuchProxy },
})

export const setAutoRenew = operation('setAutoRenew', 'POST /dedicated/auto-renew', {
  summary: 'Switch automatic renewal of proxies on or off',
  description:
    'Each renewal is charged one day before the end. A refused renewal, for example because the balance is too low, ' +
    'is retried every hour. Renewals count towards the spending cap of the token that makes this request.',
  body: withTerm(period, {
    ids: bodyIds(),
    period: bodyTerm(period)
      .nullable()
      .openapi({ description: 'Days added by each renewal; null switches automatic renewal off.' }),
  }),
  answer: z.object({
    period: whole('Days added by each renewal; null if automatic renewal is off.', 30).nullable(),
    updated: updated(),
  }),
  refusals: { not_found: noSuchProxy },
})

export const checkOutcome = {
  works: flag('Whether a test request through the proxy succeeded.'),
  took_ms: z
    .number()
    .nullable()
    .openapi({ description: 'Duration of the test request in milliseconds; null if it failed.', example: 12.5 }),
  problem: text('Reason of the failure; null if the proxy works.').nullable(),
}

export const checkProxy = operation('checkProxy', 'POST /dedicated/check', {
  summary: 'Check a proxy with a real connection',
  body: z.object({ id: proxyId() }),
  answer: z.object({ id: whole("The proxy's id.", exampleProxy), ...checkOutcome }),
  refusals: { not_found: noSuchProxy },
})

const ip = () =>
  z
    .string()
    .max(64, problem('address'))
    .openapi({ description: 'IPv4 or IPv6 address of a client.', example: '198.51.100.4' })

const changed = z.object({
  ip: text('Address from the request.', '198.51.100.4'),
  proxies: list('The proxies after the change.', proxy),
})

export const allowSource = operation('allowSource', 'POST /dedicated/whitelist/add', {
  affectsNodes: true,
  summary: 'Add an address to the whitelist of proxies',
  description:
    'For clients that cannot send a password: connect to `ip` at `whitelist_port`. Each proxy has its own port, so ' +
    'customers who share a source address are distinguished. Up to 10 addresses per proxy; the password still works.',
  body: z.object({ ids: bodyIds(), ip: ip() }),
  answer: changed,
  refusals: {
    not_found: noSuchProxy,
    conflict: new Refusal('whitelist_limit', { max: 10 }, { limit: 10, ids: [exampleProxy] }),
    out_of_stock: new Refusal('no_port_free', {}, { available: 0 }),
  },
})

export const disallowSource = operation('disallowSource', 'POST /dedicated/whitelist/remove', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Remove an address from the whitelist of proxies',
  description: 'Open tunnels from the address are closed. A proxy with an empty whitelist has no `whitelist_port`.',
  body: z.object({ ids: bodyIds(), ip: ip() }),
  answer: changed,
  refusals: { not_found: noSuchProxy },
  example: { proxies: [{ ...exampleOf(proxy), whitelist: [], whitelist_port: null }] },
})

export const resetPasswords = operation('resetPasswords', 'POST /dedicated/password/reset', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Replace the passwords of proxies',
  description: 'Tunnels opened with the old password are closed within two seconds. User names do not change.',
  body: z.object({ ids: bodyIds() }),
  answer: z.object({ proxies: list('Proxies with their new passwords.', proxy) }),
  refusals: { not_found: noSuchProxy },
})

export const exportDedicated = operation('exportDedicated', 'GET /dedicated/export', {
  isSecret: true,
  maxRows: maxExported,
  summary: 'Export proxies as a file',
  description:
    'Exports all active proxies, newest first, or those in `ids`; at most 10000. `txt` has one line per proxy, in ' +
    'the format of `format_id` or `template`; `csv` has a header row; `json` is the same as in `GET ' +
    '/dedicated/list`. ' +
    'A line without a login is for whitelisted addresses and contains the `whitelist_port`. Without the scope ' +
    '`passwords`, a `txt` export with passwords is refused, and `csv` and `json` contain no passwords.',
  query: z.object({
    format: z.enum(['txt', 'csv', 'json']).default('txt').openapi({ description: 'File format.' }),
    format_id: z
      .enum(['1', '2', '3', '4'])
      .optional()
      .openapi({
        type: 'integer',
        enum: [1, 2, 3, 4],
        default: 1,
        description:
          '1 host:port:login:password, 2 login:password@host:port, 3 host:port for whitelisted addresses, ' +
          '4 protocol://login:password@host:port. Only with `txt`.',
        example: 2,
      }),
    template: z.string().optional().openapi({
      description: 'Line template of {host}, {port}, {login}, {password} and {protocol}. Only with `txt`.',
      example: '{login}:{password}@{host}:{port}',
    }),
    protocol: z.enum(['https']).optional().openapi({
      description: 'Lines for HTTPS proxies: `https_host` and `https_port`. Only with `txt`.',
    }),
    ids: queryIds().optional(),
  }),
  answer: z.object({ proxies: list('Your proxies.', proxy), count: whole('Number of proxies.', 1) }),
  files: ['text/plain', 'text/csv'],
  refusals: {
    ...passwordsRefused,
    not_found: noSuchProxy,
    conflict: new Refusal('whitelist_empty', {}, { ids: [exampleProxy] }),
  },
})
