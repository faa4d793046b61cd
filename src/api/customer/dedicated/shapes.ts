import { type CountryCode, readCountry } from '../../../core/country.ts'
import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toDateEnd, toIso } from '../../../core/time.ts'
import type { PortType, Proxy, ProxyStatus } from '../../../domains/dedicated/rules.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import {
  balanceAfter,
  bodyInteger,
  choice,
  exampleAt,
  flag,
  list,
  moment,
  named,
  orderId,
  part,
  passwordsRefused,
  queryInteger,
  roubles,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { exampleOf, operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const ipvMeaning = '`3` IPv4 shared by up to three customers, `4` IPv4 of your own, `6` IPv6 of your own.'
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
      description: 'The country, ISO 3166-1 alpha-2, in any case. `GET /dedicated/country` lists those that are sold.',
      example: 'DE',
    })

const bodyIpv = () =>
  z
    .preprocess((sent) => kinds.find((each) => String(each) === sent) ?? sent, z.literal([3, 4, 6]))
    .openapi({ type: 'integer', enum: [3, 4, 6], description: ipvMeaning, example: 4 })
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
    'Days. As shipped 7, 14, 30, 60 and 90, for IPv6 and for prolonging 3 as well; `allowed` in the refusal ' +
    'lists those of this shop.',
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

export const count = { min: 1, max: 1000, example: 10, description: 'How many proxies.' }

export const orderFields = {
  country_code: country(),
  period: bodyInteger(period),
  count: bodyInteger({ ...count, example: 1 }),
  ipv: bodyIpv(),
}

const shownIpv = () => whole(ipvMeaning, 4)
const shownCountry = () => text('The country, ISO 3166-1 alpha-2.', 'DE')
const shownPeriod = () => whole('Days.', 30)
const dateEnd = () => text('When it ends, UTC, in the older form.', toDateEnd(exampleAt))
export const expiresAt = () => moment('When it ends.')

export const proxy = named('Proxy', {
  id: whole('Its id, to name it by in other operations.', exampleProxy),
  ip: text('Where to connect.', '203.0.113.7'),
  port: whole('The port to connect to.', 10_800),
  port_type: choice('The protocol that it speaks: HTTP, SOCKS5, or both of them.', ['http', 'socks', 'both']),
  username: text('The user name to log in with.', 'tpxd7k2m'),
  password: text(
    'The password to log in with. Null for a token without the scope `passwords`, but never in what it has bought.',
    'q7r2m9x4c8v1b6n3k5j0',
  ).nullable(),
  exit_ip: text('The address that sites see.', '203.0.113.7'),
  country_code: shownCountry(),
  ipv: shownIpv(),
  date_end: dateEnd(),
  expires_at: expiresAt(),
  status: choice('`expired` can still be prolonged, for 3 days.', ['active', 'expired']),
  state: choice('`interrupted` cannot be used at the moment; its term stands still. `GET /events` tells more.', [
    'serving',
    'interrupted',
  ]),
  comment: text('Your note on it.', 'shop 7'),
  whitelist: z
    .array(text('An address.', '198.51.100.4'))
    .openapi({ description: 'Addresses that need no password, at `whitelist_port`.', example: ['198.51.100.4'] }),
  whitelist_port: whole('The port for whitelisted addresses; null while there is none.', 20_417).nullable(),
  traffic: part('What it has carried for you so far, as of a few seconds ago.', {
    rx_bytes: whole('Bytes that you have received through it.', 1_048_576),
    tx_bytes: whole('Bytes that you have sent through it.', 65_536),
  }),
  auto_renew: whole('It is renewed by this many days a day ahead of its end; null when it is not.', 30).nullable(),
})

type ShownFields = 'id' | 'address' | 'portType' | 'username' | 'ipv' | 'expiresAt' | 'interruptedAt' | 'comment'

export type ShownProxy = Pick<Proxy, ShownFields | 'renewPeriod' | 'sources' | 'entryPort'> & {
  readonly country: string
  /** Null where the caller may not see it. */
  readonly password: string | null
  readonly status: ProxyStatus
  /** The public address of the node that serves the proxy, if it has its own. */
  readonly endpoint: GatewayAddress | null
  readonly traffic: { readonly received: bigint; readonly sent: bigint }
}

export type GatewayAddress = { readonly host: string; readonly port: number }

/** An IPv6 proxy is reached at the address of its gateway, any other at the address that it leaves from. */
export const toProxy = (of: ShownProxy, gateway: GatewayAddress): z.input<typeof proxy> => ({
  id: of.id,
  ip: of.ipv === 6 ? (of.endpoint ?? gateway).host : of.address,
  port: (of.endpoint ?? gateway).port,
  port_type: of.portType,
  username: of.username,
  password: of.password,
  exit_ip: of.address,
  country_code: of.country,
  ipv: of.ipv,
  date_end: toDateEnd(of.expiresAt),
  expires_at: toIso(of.expiresAt),
  status: of.status,
  state: of.interruptedAt === null ? 'serving' : 'interrupted',
  comment: of.comment,
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
  summary: 'Price of dedicated proxies',
  description: 'Nothing is bought and nothing is held.',
  query: z.object({
    country_code: country(),
    period: queryInteger(period),
    count: queryInteger(count),
    ipv: queryIpv(),
  }),
  answer: z.object({
    country_code: shownCountry(),
    period: shownPeriod(),
    count: whole('How many proxies.', 10),
    ipv: shownIpv(),
    price_rub: roubles('What all of them cost together. This is what is charged.', 1658.7),
    price_per_proxy_rub: roubles(
      'The price of one, rounded up to the kopeck: times `count` it may differ from `price_rub`.',
      165.87,
    ),
    discount_percent: z.number().openapi({
      description: 'What the discounts for number and term come to, in percent, rounded down to two decimals.',
      example: 7.85,
    }),
    available: whole('How many are free now; 20000 stands for that many or more.', 1024),
  }),
  refusals: { not_found: notSold },
})

export const buyDedicated = operation('buyDedicated', 'POST /dedicated/buy', {
  summary: 'Buy dedicated proxies',
  description: 'They work the moment the answer arrives.',
  body: z.object(orderFields),
  answer: z.object({
    order_id: orderId(),
    check_id: whole(
      'The number of the charge among your transactions; null when nothing was to be paid.',
      2,
    ).nullable(),
    country_code: shownCountry(),
    period: shownPeriod(),
    count: whole('How many were bought.', 1),
    ipv: shownIpv(),
    price_rub: roubles('What all of them cost together.', 171),
    balance_rub: balanceAfter(),
    proxies: list('What was bought, ready to use.', proxy),
  }),
  refusals: { not_found: notSold, out_of_stock: outOfStock },
  charges: true,
})

const share = 'Its share of the total; shares of like proxies differ by at most a kopeck, and sum to it.'

const withdrawn = { ids: [exampleProxy], charged: false }
const notForLonger = {
  conflict: new Refusal('addresses_withdrawn', { ids: [exampleProxy] }, withdrawn),
  unavailable: new Refusal('addresses_not_served', { ids: [exampleProxy] }, withdrawn),
}

export const quoteProlonging = operation('quoteProlonging', 'GET /dedicated/prolong/quote', {
  summary: 'Price of prolonging proxies',
  query: z.object({ ids: queryIds(), period: queryInteger(period) }),
  answer: z.object({
    period: shownPeriod(),
    total_price_rub: roubles('What all of them cost together. This is what is charged.', 171),
    items: rows('Each proxy.', {
      id: whole("The proxy's id.", exampleProxy),
      ipv: shownIpv(),
      price_rub: roubles(share, 171),
      expires_at: moment('When it would end.'),
    }),
  }),
  refusals: { not_found: noSuchProxy, ...notForLonger },
})

export const prolongDedicated = operation('prolongDedicated', 'POST /dedicated/prolong', {
  summary: 'Prolong proxies, all or none',
  description:
    'Time is added to what is left. Ids, addresses and credentials stay. An address that the operator withdraws is ' +
    'not had for longer, and one that has ended only while a gateway serves it.',
  body: z.object({ ids: bodyIds(), period: bodyInteger(period) }),
  answer: z.object({
    order_id: orderId(),
    period: shownPeriod(),
    total_price_rub: roubles('What all of them cost together.', 171),
    price_rub: roubles('The same as `total_price_rub`.', 171),
    balance_rub: balanceAfter(),
    items: rows('Each proxy, as it now is.', {
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

const updated = () => list('The ids of the proxies that were changed.', whole("A proxy's id.", exampleProxy))

export const setProtocol = operation('setProtocol', 'POST /dedicated/protocol', {
  summary: 'Change the protocol of proxies',
  body: z.object({
    ids: bodyIds(),
    port_type: z
      .enum(['http', 'socks', 'socks5', 'both'])
      .transform((type): PortType => (type === 'socks5' ? 'socks' : type))
      .openapi({
        type: 'string',
        enum: ['http', 'socks', 'socks5', 'both'],
        description: 'The protocol to speak from now on; `socks5` is the same as `socks`, `both` is HTTP and SOCKS5.',
        example: 'socks',
      }),
  }),
  answer: z.object({
    port_type: choice('The protocol that they speak now.', ['http', 'socks', 'both'], 'socks'),
    updated: updated(),
  }),
  refusals: { not_found: noSuchProxy },
})

export const listDedicated = operation('listDedicated', 'GET /dedicated/list', {
  isSecret: true,
  summary: 'List your proxies, newest first',
  query: z.object({
    ...pageQuery,
    status: choice('Only those in use, or only those in grace.', ['active', 'expired']).optional(),
    country_code: country().optional(),
    ipv: queryIpv().optional(),
    expires_before: z
      .string()
      .optional()
      .openapi({ description: 'ISO 8601; what ends before it.', example: toIso(exampleAt) }),
    comment: comment.optional().openapi({ description: 'Exactly this comment.' }),
  }),
  answer: page({ proxies: list('One page of your proxies.', proxy) }),
})

export const listCountries = operation('listCountries', 'GET /dedicated/country', {
  summary: 'Countries that a kind of proxy is sold in',
  query: z.object({ ipv: queryIpv() }),
  answer: z.object({
    ipv: shownIpv(),
    periods: list('For how many days it can be bought.', whole('Days.', 30)),
    prolong_periods: list('By how many days it can be prolonged.', whole('Days.', 30)),
    countries: rows('Each country that has a price.', {
      country_code: shownCountry(),
      name: text('Its name in English.', 'Germany'),
      name_ru: text('Its name in Russian.', 'Германия'),
      available: whole('How many are free now; 20000 stands for that many or more.', 1024),
    }),
  }),
  example: { periods: [7, 14, 30, 60, 90], prolong_periods: [3, 7, 14, 30, 60, 90] },
})

export const countAvailable = operation('countAvailable', 'GET /dedicated/count', {
  summary: 'How many proxies are free',
  query: z.object({ country_code: country(), ipv: queryIpv() }),
  answer: z.object({
    country_code: shownCountry(),
    ipv: shownIpv(),
    count: whole('How many are free now; 20000 stands for that many or more.', 1024),
  }),
})

export const replaceProxy = operation('replaceProxy', 'POST /dedicated/replace', {
  isDestructive: true,
  summary: 'Swap a bad address for another of the same kind',
  description: 'Once a day for each proxy. Id, credentials and term stay.',
  body: z.object({ id: proxyId() }),
  answer: proxy,
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
  summary: 'Note something on proxies',
  body: z.object({
    ids: bodyIds(),
    comment: comment.openapi({
      description: 'Your note, without control characters; empty removes it.',
      example: 'shop 7',
    }),
  }),
  answer: z.object({ comment: text('The note that they have now.', 'shop 7'), updated: updated() }),
  refusals: { not_found: noSuchProxy },
})

export const setAutoRenew = operation('setAutoRenew', 'POST /dedicated/auto-renew', {
  summary: 'Renew proxies by themselves, or stop that',
  description:
    'Charged one day ahead of the end, tried every hour while the balance does not cover it. It is spent by the ' +
    'token that asks for it here, within its cap.',
  body: z.object({
    ids: bodyIds(),
    period: bodyInteger(period).nullable().openapi({ description: 'Days; null stops it.' }),
  }),
  answer: z.object({
    period: whole('Days that are bought each time; null when it was stopped.', 30).nullable(),
    updated: updated(),
  }),
  refusals: { not_found: noSuchProxy },
})

export const checkProxy = operation('checkProxy', 'POST /dedicated/check', {
  summary: 'Try a proxy with a real connection',
  body: z.object({ id: proxyId() }),
  answer: z.object({
    id: whole("The proxy's id.", exampleProxy),
    works: flag('Whether a request went through it and came back.'),
    took_ms: z
      .number()
      .nullable()
      .openapi({ description: 'Milliseconds until it did; null when it did not.', example: 12.5 }),
    problem: text('What went wrong; null when it works.').nullable(),
  }),
  refusals: { not_found: noSuchProxy },
})

const ip = () =>
  z
    .string()
    .max(64, problem('address'))
    .openapi({ description: 'The IPv4 or IPv6 address of a client.', example: '198.51.100.4' })

const changed = z.object({
  ip: text('The address, as it was sent.', '198.51.100.4'),
  proxies: list('The proxies, as they now are.', proxy),
})

export const allowSource = operation('allowSource', 'POST /dedicated/whitelist/add', {
  summary: 'Let an address use proxies without a password',
  description:
    'For browsers and programs that send none: connect to `ip` at `whitelist_port`, which stands for this one proxy, ' +
    'so two customers behind one address are told apart. Up to 10 addresses a proxy; the password goes on to work.',
  body: z.object({ ids: bodyIds(), ip: ip() }),
  answer: changed,
  refusals: {
    not_found: noSuchProxy,
    conflict: new Refusal('whitelist_limit', { most: 10 }, { limit: 10, ids: [exampleProxy] }),
    out_of_stock: new Refusal('no_port_free', {}, { available: 0 }),
  },
})

export const disallowSource = operation('disallowSource', 'POST /dedicated/whitelist/remove', {
  isDestructive: true,
  summary: 'Ask an address for the password again',
  description: 'Its open tunnels end. Without any address left a proxy has no `whitelist_port`.',
  body: z.object({ ids: bodyIds(), ip: ip() }),
  answer: changed,
  refusals: { not_found: noSuchProxy },
  example: { proxies: [{ ...exampleOf(proxy), whitelist: [], whitelist_port: null }] },
})

export const resetPasswords = operation('resetPasswords', 'POST /dedicated/password/reset', {
  isDestructive: true,
  summary: 'Give proxies new passwords',
  description: 'Tunnels with the old password are closed within two seconds. User names stay.',
  body: z.object({ ids: bodyIds() }),
  answer: z.object({ proxies: list('The proxies with their new passwords.', proxy) }),
  refusals: { not_found: noSuchProxy },
})

export const exportDedicated = operation('exportDedicated', 'GET /dedicated/export', {
  isSecret: true,
  summary: 'Your proxies as a file',
  description:
    'All that are in use, newest first, or those of `ids`; at most 10000. `txt` has a line for each, in one of the ' +
    'four formats of `generate` or by a template; `csv` has a header; `json` is as `list` shows them. A line ' +
    'without a login is for whitelisted addresses and has the `whitelist_port`. Without the scope `passwords`, ' +
    'lines with a password are refused, and `csv` and `json` have none.',
  query: z.object({
    format: z.enum(['txt', 'csv', 'json']).default('txt').openapi({ description: 'What to write.' }),
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
      description: 'A line of your own out of {host}, {port}, {login}, {password} and {protocol}. Only with `txt`.',
      example: '{login}:{password}@{host}:{port}',
    }),
    ids: queryIds().optional(),
  }),
  answer: z.object({ proxies: list('Your proxies.', proxy), count: whole('How many there are.', 1) }),
  files: ['text/plain', 'text/csv'],
  refusals: {
    ...passwordsRefused,
    not_found: noSuchProxy,
    conflict: new Refusal('whitelist_empty', {}, { ids: [exampleProxy] }),
  },
})
