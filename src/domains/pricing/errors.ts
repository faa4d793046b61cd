import { Refusal } from '../../kernel/refusal.ts'

export const noCatalogue = (): Refusal =>
  new Refusal('unavailable', 'unavailable', 'The shop has no prices yet. Nothing was charged.', { charged: false })

export const notSold = (what: string): Refusal =>
  new Refusal('missing', 'not_found', `${what} is not for sale here.`, { charged: false })

/** A country that has no price, with those that have one. */
export const countryNotSold = (what: string, allowed: readonly string[]): Refusal =>
  new Refusal('missing', 'not_found', `${what} is not for sale here. There are ${allowed.join(', ')}.`, {
    field: 'country_code',
    allowed,
    charged: false,
  })

/** A period that has no price, with those that have one. */
export const badPeriod = (allowed: readonly number[]): Refusal =>
  new Refusal(
    'malformed',
    'invalid_request',
    `The request is not valid. period: must be one of ${allowed.join(', ')}`,
    [{ field: 'period', problem: `must be one of ${allowed.join(', ')}`, allowed }],
  )

export const badCatalogue = (problems: readonly string[]): Refusal =>
  new Refusal('malformed', 'invalid_request', `The catalogue cannot be applied. ${problems.join('; ')}`, {
    problems,
  })
