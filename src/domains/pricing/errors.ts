import type { FieldProblem } from '../../core/messages/problems.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'

/** The details of a refusal before any charge. */
export const notCharged = { charged: false }

export const countryNotSold = (ipv: number, country: string, allowed: readonly string[]): Refusal =>
  new Refusal('country_not_sold', { ipv, country, allowed }, { field: 'country_code', allowed, ...notCharged })

export const badPeriod = (allowed: readonly number[]): Refusal => refuseField('period', 'one_of', { allowed })

export const badCatalogue = (problems: readonly FieldProblem[]): Refusal =>
  new Refusal('prices_invalid', { problems }, problems)
