import { malformed, Refusal } from '../../core/refusal.ts'

export const noCatalogue = (): Refusal => new Refusal('no_prices', {}, { charged: false })

/** The details of a refusal before any charge. */
export const notCharged = { charged: false }

export const countryNotSold = (ipv: number, country: string, allowed: readonly string[]): Refusal =>
  new Refusal('country_not_sold', { ipv, country, allowed }, { field: 'country_code', allowed, ...notCharged })

export const badPeriod = (allowed: readonly number[]): Refusal =>
  malformed([{ field: 'period', problem: `must be one of ${allowed.join(', ')}`, allowed }])

export const badCatalogue = (problems: readonly string[]): Refusal =>
  new Refusal('prices_invalid', { problems }, { problems })
