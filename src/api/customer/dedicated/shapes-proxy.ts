import { z } from '@hono/zod-openapi'
import type { PortType, ProxyStatus } from '../../../domains/dedicated/rules.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import { type CountryCode, readCountry } from '../../../kernel/country.ts'
import { toDateEnd, toIso } from '../../../kernel/time.ts'
import { bodyInteger, moment, queryInteger } from '../../fields.ts'

const ipvMeaning = '`3` IPv4 shared by up to three customers, `4` IPv4 of your own, `6` IPv6 of your own.'
export const exampleMs = 1_760_000_000_000

export const country = () =>
  z
    .string()
    .transform((text, context): CountryCode => {
      const code = readCountry(text)
      if (code) return code
      context.addIssue({ code: 'custom', message: 'must be a country code of two letters (ISO 3166-1)' })
      return z.NEVER
    })
    .openapi({ type: 'string', description: 'ISO 3166-1 alpha-2, any case.', example: 'DE' })

const bodyIpv = () =>
  z.literal([3, 4, 6]).openapi({ type: 'integer', enum: [3, 4, 6], description: ipvMeaning, example: 4 })
export const queryIpv = () =>
  z
    .enum(['3', '4', '6'])
    .transform((text) => Number(text) as Ipv)
    .openapi({ type: 'integer', enum: [3, 4, 6], description: ipvMeaning, example: 4 })

export const bodyPeriod = () =>
  bodyInteger({ min: 1, max: 3650, example: 30, description: 'Days; see the allowed ones in the refusal.' })
export const queryPeriod = () => queryInteger({ min: 1, max: 3650, example: 30, description: 'Days.' })
export const proxyId = () => bodyInteger({ min: 1, max: Number.MAX_SAFE_INTEGER, example: 1201 })

export const bodyIds = () =>
  z
    .array(proxyId())
    .min(1, 'must name at least one proxy')
    .max(1000, 'must name at most 1000 proxies')
    .refine((ids) => new Set(ids).size === ids.length, 'must not name a proxy twice')
    .openapi({ example: [1201, 1202] })

/** `ids=1,2` or `ids=1&ids=2`. */
export const queryIds = () =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((value, context): number[] => {
      const parts = [value].flat().flatMap((text) => text.split(','))
      const ids = parts.map((part) => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN))
      const fine = ids.every(Number.isSafeInteger) && ids.length <= 1000 && new Set(ids).size === ids.length
      if (fine) return ids
      context.addIssue({ code: 'custom', message: 'must be up to 1000 different proxy ids, separated by commas' })
      return z.NEVER
    })
    .openapi({ type: 'string', description: 'Proxy ids, separated by commas or repeated.', example: '1201,1202' })

export const wishFields = {
  country_code: country(),
  period: bodyPeriod(),
  count: bodyInteger({ min: 1, max: 1000, example: 10 }),
  ipv: bodyIpv(),
}

export const shownIpv = () => z.int().openapi({ description: ipvMeaning, example: 4 })

export const proxy = z
  .object({
    id: z.int(),
    ip: z.string().openapi({ description: 'Where to connect.', example: '203.0.113.7' }),
    port: z.int().openapi({ example: 10800 }),
    port_type: z.enum(['http', 'socks']),
    username: z.string(),
    password: z.string(),
    exit_ip: z.string().openapi({ description: 'The address that sites see.', example: '203.0.113.7' }),
    country_code: z.string(),
    ipv: shownIpv(),
    date_end: z.string().openapi({ description: 'UTC.', example: toDateEnd(exampleMs) }),
    expires_at: moment(),
    status: z.enum(['active', 'expired']).openapi({ description: '`expired` can still be prolonged, for 3 days.' }),
    comment: z.string(),
    auto_renew: z
      .int()
      .nullable()
      .openapi({ description: 'Renewed by this many days a day ahead of its end, or null.' }),
  })
  .openapi('Proxy')

export const proxyExample = {
  id: 1201,
  ip: '203.0.113.7',
  port: 10800,
  port_type: 'http' as const,
  username: 'tpxd7k2m',
  password: 'q7r2m9x4c8v1b6n3k5j0',
  exit_ip: '203.0.113.7',
  country_code: 'DE',
  ipv: 4,
  date_end: toDateEnd(exampleMs),
  expires_at: toIso(exampleMs),
  status: 'active' as const,
  comment: '',
  auto_renew: null,
}

export type ShownProxy = {
  readonly id: number
  readonly address: string
  readonly portType: PortType
  readonly username: string
  readonly password: string
  readonly country: string
  readonly ipv: Ipv
  readonly expiresAt: number
  readonly status: ProxyStatus
  readonly comment: string
  readonly renewPeriod: number | null
}

export type GatewayAddress = { readonly host: string; readonly port: number }

/** An IPv6 proxy is reached through the gateway's own address; the others through the address that they leave from. */
export const toProxy = (of: ShownProxy, gateway: GatewayAddress): z.input<typeof proxy> => ({
  id: of.id,
  ip: of.ipv === 6 ? gateway.host : of.address,
  port: gateway.port,
  port_type: of.portType,
  username: of.username,
  password: of.password,
  exit_ip: of.address,
  country_code: of.country,
  ipv: of.ipv,
  date_end: toDateEnd(of.expiresAt),
  expires_at: toIso(of.expiresAt),
  status: of.status,
  comment: of.comment,
  auto_renew: of.renewPeriod,
})
