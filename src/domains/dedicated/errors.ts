import { Refusal } from '../../core/refusal.ts'

/** How many of many proxies a sentence names, and how many the details of a refusal do. */
const mostNamed = 20
const mostListed = 1000

export const noSuchProxy = (ids: readonly number[]): Refusal =>
  new Refusal('proxies_not_found', { ids: ids.slice(0, mostNamed) }, { ids: ids.slice(0, mostListed), charged: false })

export const tooManySources = (most: number, ids: readonly number[]): Refusal =>
  new Refusal('whitelist_limit', { most }, { limit: most, ids: ids.slice(0, mostListed) })

export const noEntrance = (ids: readonly number[]): Refusal =>
  new Refusal('whitelist_empty', {}, { ids: ids.slice(0, mostListed) })

export const replacedLately = (againAt: string): Refusal =>
  new Refusal(
    'replaced_recently',
    { again_at: againAt },
    {
      again_at: againAt,
      charged: false,
    },
  )

export const hasExpired = (): Refusal => new Refusal('proxy_expired', {}, { charged: false })

export const beingWithdrawn = (ids: readonly number[]): Refusal =>
  new Refusal(
    'addresses_withdrawn',
    { ids: ids.slice(0, mostNamed) },
    { ids: ids.slice(0, mostListed), charged: false },
  )

export const notServed = (ids: readonly number[]): Refusal =>
  new Refusal(
    'addresses_not_served',
    { ids: ids.slice(0, mostNamed) },
    { ids: ids.slice(0, mostListed), charged: false },
  )

export const notToRenew = (): Refusal => new Refusal('proxy_not_renewable', {}, { charged: false })

/** For the operator, who names proxies of any customer. */
export const nothingToEnd = (): Refusal => new Refusal('proxy_already_ended')

/** What an order has bought can be ended once. */
export const allEnded = (): Refusal => new Refusal('order_already_ended')

export const notBought = (): Refusal => new Refusal('order_prolonged_only')

export const nothingWithin = (prefix: string): Refusal => new Refusal('prefix_not_in_stock', { prefix })
