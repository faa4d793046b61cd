import { z } from '@hono/zod-openapi'
import { type CountryCode, readCountry } from '../../../core/country.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toDateEnd, toIso } from '../../../core/time.ts'
import type { PortType, ProxyStatus } from '../../../domains/dedicated/rules.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import { bodyInteger, exampleAt, moment, queryInteger, text, whole } from '../../fields.ts'
import type { RefusalExample } from '../../operation.ts'

export const tag = 'Dedicated proxies'

const ipvMeaning = '`3` IPv4 shared by up to three customers, `4` IPv4 of your own, `6` IPv6 of your own.'
const kinds: readonly Ipv[] = [3, 4, 6]

export const country = () =>
  z
    .string()
    .transform((written, context): CountryCode => {
      const code = readCountry(written)
      if (code) return code
      const problem = /^[A-Za-z]{2}$/.test(written)
        ? `is no country: ISO 3166-1 has no code ${written.toUpperCase()}`
        : 'must be a country code of two letters (ISO 3166-1)'
      context.addIssue({ code: 'custom', message: problem })
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
export const queryIpv = () =>
  z
    .string()
    .transform((written, context): Ipv => {
      const ipv = kinds.find((each) => String(each) === written)
      if (ipv !== undefined) return ipv
      context.addIssue({ code: 'custom', params: { allowed: kinds } })
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
export const bodyPeriod = () => bodyInteger(period)
export const queryPeriod = () => queryInteger(period)
export const exampleProxy = 1201
export const proxyId = () =>
  bodyInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, example: exampleProxy, description: "The proxy's id." })

export const see = {
  country_code: 'GET /dedicated/country',
  period: '/docs#quoteDedicated',
  ids: 'GET /dedicated/list',
}

export const noSuchProxy: RefusalExample = new Refusal(
  'proxies_not_found',
  { ids: [exampleProxy] },
  { ids: [exampleProxy], charged: false },
)

export const bodyIds = () =>
  z
    .array(proxyId())
    .min(1, 'must name at least one proxy')
    .max(1000, 'must name at most 1000 proxies')
    .refine((ids) => new Set(ids).size === ids.length, 'must not name a proxy twice')
    .openapi({ description: 'Ids of your proxies, each once.', example: [exampleProxy] })

/** `ids=1,2`, `ids=1&ids=2` or `ids[]=1&ids[]=2`. */
export const queryIds = () =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((value, context): number[] => {
      const parts = [value].flat().flatMap((written) => written.split(','))
      const ids = parts.map((part) => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN))
      const fine =
        ids.every((id) => Number.isSafeInteger(id) && id > 0) && ids.length <= 1000 && new Set(ids).size === ids.length
      if (fine) return ids
      context.addIssue({ code: 'custom', message: 'must be up to 1000 different proxy ids, separated by commas' })
      return z.NEVER
    })
    .openapi({
      type: 'string',
      description: 'Ids of your proxies, separated by commas or repeated.',
      example: String(exampleProxy),
    })

/** How many proxies, in a query and in a body. */
export const count = { min: 1, max: 1000, example: 10, description: 'How many proxies.' }

export const wishFields = {
  country_code: country(),
  period: bodyPeriod(),
  count: bodyInteger({ ...count, example: 1 }),
  ipv: bodyIpv(),
}

export const shownIpv = () => whole(ipvMeaning, 4)
export const shownCountry = () => text('The country, ISO 3166-1 alpha-2.', 'DE')
export const shownPeriod = () => whole('Days.', 30)
export const dateEnd = () => text('When it ends, UTC, in the older form.', toDateEnd(exampleAt))
export const expiresAt = () => moment('When it ends.')

export const proxy = z
  .object({
    id: whole('Its id, to name it by in other operations.', exampleProxy),
    ip: text('Where to connect.', '203.0.113.7'),
    port: whole('The port to connect to.', 10_800),
    port_type: z
      .enum(['http', 'socks', 'both'])
      .openapi({ description: 'The protocol that it speaks: HTTP, SOCKS5, or both of them.' }),
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
    status: z.enum(['active', 'expired']).openapi({ description: '`expired` can still be prolonged, for 3 days.' }),
    state: z.enum(['serving', 'interrupted']).openapi({
      description: '`interrupted` cannot be used at the moment; its term stands still. `GET /events` tells more.',
    }),
    comment: text('Your note on it.', 'shop 7'),
    whitelist: z
      .array(text('An address.', '198.51.100.4'))
      .openapi({ description: 'Addresses that need no password, at `whitelist_port`.', example: ['198.51.100.4'] }),
    whitelist_port: whole('The port for whitelisted addresses; null while there is none.', 20_417).nullable(),
    traffic: z
      .object({
        rx_bytes: whole('Bytes that you have received through it.', 1_048_576),
        tx_bytes: whole('Bytes that you have sent through it.', 65_536),
      })
      .openapi({ description: 'What it has carried for you so far, as of a few seconds ago.' }),
    auto_renew: whole('It is renewed by this many days a day ahead of its end; null when it is not.', 30).nullable(),
  })
  .openapi('Proxy')

export const proxyExample = {
  id: exampleProxy,
  ip: '203.0.113.7',
  port: 10800,
  port_type: 'http' as const,
  username: 'tpxd7k2m',
  password: 'q7r2m9x4c8v1b6n3k5j0',
  exit_ip: '203.0.113.7',
  country_code: 'DE',
  ipv: 4,
  date_end: toDateEnd(exampleAt),
  expires_at: toIso(exampleAt),
  status: 'active' as const,
  state: 'serving' as const,
  comment: '',
  whitelist: [],
  whitelist_port: null,
  traffic: { rx_bytes: 0, tx_bytes: 0 },
  auto_renew: null,
}

export type ShownProxy = {
  readonly id: number
  readonly address: string
  readonly portType: PortType
  readonly username: string
  /** Null where the caller may not see it. */
  readonly password: string | null
  readonly country: string
  readonly ipv: Ipv
  readonly expiresAt: number
  readonly status: ProxyStatus
  readonly interruptedAt: number | null
  readonly comment: string
  readonly renewPeriod: number | null
  /** Where the node that carries it is reached, if that is not where all others are. */
  readonly endpoint: GatewayAddress | null
  readonly sources: readonly string[]
  readonly entryPort: number | null
  readonly carried: { readonly received: bigint; readonly sent: bigint }
}

export type GatewayAddress = { readonly host: string; readonly port: number }

/**
 * An IPv6 proxy is reached through the own address of the gateway that carries it; the others through the address that
 * they leave from.
 */
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
  traffic: { rx_bytes: Number(of.carried.received), tx_bytes: Number(of.carried.sent) },
  auto_renew: of.renewPeriod,
})
