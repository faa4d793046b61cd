import type { LeaseTerms } from '../traffic/leases/rules.ts'

/** The operator's settings of premium proxies. */
export type PremiumTerms = LeaseTerms & {
  readonly maxWhitelisted: number
  readonly hostDays: number
  readonly ports: { readonly first: number; readonly last: number }
}

export const shippedTerms: PremiumTerms = {
  leaseBytes: 8_388_608n,
  maxLeaseBytes: 268_435_456n,
  leaseLastsMs: 10 * 60_000,
  maxWhitelisted: 100,
  hostDays: 30,
  ports: { first: 20_000, last: 29_999 },
}

/** Where customers reach the gateway: by name, by address, and on which port. */
export type GatewayEndpoint = { readonly host: string; readonly address: string; readonly port: number }

/** The product of premium orders. */
export const product = 'premium'
