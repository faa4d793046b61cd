import type { LeaseTerms } from '../traffic/leases/rules.ts'

/** What is set by the operator about premium proxies. */
export type PremiumTerms = LeaseTerms & {
  readonly mostWhitelisted: number
  readonly hostDays: number
  readonly ports: { readonly first: number; readonly last: number }
}

export const shippedTerms: PremiumTerms = {
  leaseBytes: 8_388_608n,
  maxLeaseBytes: 268_435_456n,
  leaseLastsMs: 10 * 60_000,
  mostWhitelisted: 100,
  hostDays: 30,
  ports: { first: 20_000, last: 29_999 },
}
