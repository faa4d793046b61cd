import { Refusal } from '../../kernel/refusal.ts'

export const noSuchProxy = (ids: readonly number[]): Refusal =>
  new Refusal(
    'missing',
    'not_found',
    ids.length === 1
      ? `There is no proxy ${ids[0]}. Nothing was changed.`
      : `There are no proxies ${ids.slice(0, 20).join(', ')}. Nothing was changed.`,
    { ids: ids.slice(0, 1000), charged: false },
  )

export const tooManySources = (most: number, ids: readonly number[]): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `A proxy may have ${most} addresses that need no password. Nothing was changed.`,
    { limit: most, ids: ids.slice(0, 1000) },
  )

export const noEntrance = (ids: readonly number[]): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'A line without a login is for proxies with a whitelisted address, and some have none. Whitelist one first.',
    { ids: ids.slice(0, 1000) },
  )

export const replacedLately = (againAt: string): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `This proxy's address was replaced lately. It can be replaced again at ${againAt}.`,
    {
      again_at: againAt,
      charged: false,
    },
  )

export const hasExpired = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This proxy has expired. Prolong it first.', { charged: false })

const named = (ids: readonly number[]): string => ids.slice(0, 20).join(', ')

export const beingWithdrawn = (ids: readonly number[]): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `The addresses of these proxies are being withdrawn and cannot be had for longer: ${named(ids)}. Replace them ` +
      'first, or buy others. Nothing was charged.',
    { ids: ids.slice(0, 1000), charged: false },
  )

export const notServed = (ids: readonly number[]): Refusal =>
  new Refusal(
    'unavailable',
    'unavailable',
    `These proxies have ended and no gateway serves their addresses at the moment: ${named(ids)}. Nothing was ` +
      'charged; try again later.',
    { ids: ids.slice(0, 1000), charged: false },
  )

export const notToRenew = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This proxy is not to be renewed now.', { charged: false })

/** For the operator, who names proxies of any customer. */
export const nothingToEnd = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such proxy, or not any more.')

/** What an order has bought can be ended once. */
export const allEnded = (): Refusal =>
  new Refusal('conflict', 'conflict', 'All that this order has bought has ended already. Nothing was given back now.')

export const notBought = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'This order has prolonged proxies and bought none. End them one by one, or with the order that bought them.',
  )

export const nothingWithin = (prefix: string): Refusal =>
  new Refusal('missing', 'not_found', `Nothing of ${prefix} is in stock.`)
