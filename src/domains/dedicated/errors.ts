import { Refusal } from '../../core/refusal.ts'

/** How many proxies a message names, and how many the details of a refusal list. */
const maxNamed = 20
const maxListed = 1000

export const aboutProxies = (
  reason: 'proxies_not_found' | 'addresses_withdrawn' | 'addresses_not_served',
  ids: readonly number[],
): Refusal => new Refusal(reason, { ids: ids.slice(0, maxNamed) }, { ids: ids.slice(0, maxListed), charged: false })

export const noSuchProxy = (ids: readonly number[]): Refusal => aboutProxies('proxies_not_found', ids)

export const tooManySources = (max: number, ids: readonly number[]): Refusal =>
  new Refusal('whitelist_limit', { max: max }, { limit: max, ids: ids.slice(0, maxListed) })

export const noEntrance = (ids: readonly number[]): Refusal =>
  new Refusal('whitelist_empty', {}, { ids: ids.slice(0, maxListed) })

export const noHttps = (ids: readonly number[]): Refusal =>
  new Refusal('https_missing', {}, { ids: ids.slice(0, maxListed) })

export const hasExpired = (): Refusal => new Refusal('proxy_expired', {}, { charged: false })

export const nothingToEnd = (): Refusal => new Refusal('proxy_already_ended')

export const nothingWithin = (prefix: string): Refusal => new Refusal('prefix_not_in_stock', { prefix })
