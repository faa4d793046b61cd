import { malformed, Refusal } from '../../kernel/refusal.ts'

/** The same words for what does not exist, what is deleted and what is another customer's. */
export const noSuchSubscription = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such VPN subscription.', { charged: false })

export const noSuchDevice = (): Refusal => new Refusal('missing', 'not_found', 'There is no such VPN device.')

export const noDevice = (): Refusal =>
  new Refusal('missing', 'not_found', 'This subscription has no device. Add one with POST /vpn/devices.')

export const whichSubscription = (uuids: readonly string[]): Refusal =>
  malformed([{ field: 'uuid', problem: 'is required, because there are several subscriptions', allowed: uuids }])

export const badLocation = (allowed: readonly string[]): Refusal =>
  malformed([{ field: 'location', problem: `must be one of ${allowed.join(', ')}`, allowed }])

export const badPublicKey = (): Refusal =>
  malformed([{ field: 'public_key', problem: 'must be a WireGuard public key, as "wg pubkey" prints it' }])

export const noLiveNode = (): Refusal =>
  new Refusal('unavailable', 'unavailable', 'No VPN node is up at the moment. Nothing was charged; try again later.', {
    charged: false,
  })

export const noFreeAddress = (): Refusal =>
  new Refusal('unavailable', 'unavailable', 'No VPN address is free at the moment. Nothing was charged.', {
    charged: false,
  })

export const keyInUse = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This public key is in use. Give each device a key of its own.', {
    charged: false,
  })

export const deviceLimitReached = (limit: number): Refusal =>
  new Refusal('conflict', 'conflict', `This subscription has all of its ${limit} devices. Remove one first.`, {
    device_limit: limit,
    charged: false,
  })

export const tooManyFreshDevices = (most: number): Refusal =>
  new Refusal('conflict', 'conflict', `At most ${most} devices can be added in a day. Try again tomorrow.`, {
    most_in_a_day: most,
    charged: false,
  })

export const notRunning = (status: string): Refusal =>
  new Refusal('conflict', 'conflict', `This subscription is ${status}, so no device can be added.`, {
    status,
    charged: false,
  })

export const subscriptionDisabled = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This subscription is disabled. Ask the operator.', {
    status: 'DISABLED',
    charged: false,
  })

export const tooFarAhead = (years: number): Refusal =>
  new Refusal('conflict', 'conflict', `A subscription cannot be paid more than ${years} years ahead.`, {
    charged: false,
  })

export const tooManySubscriptions = (most: number): Refusal =>
  new Refusal('conflict', 'conflict', `A customer has at most ${most} VPN subscriptions.`, { charged: false })

/** Told between processes that renew by themselves, never to a customer: another one was faster. */
export const noLongerDue = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This subscription is not due for renewal any more.', { charged: false })

export const noSuchVpnNode = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no open VPN node of this name.')

export const otherLocation = (chosen: string, offered: string): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `A device of this subscription was asked for in ${chosen}, and that node stands in ${offered}.`,
  )

export const onlyUnused = (): Refusal =>
  new Refusal('conflict', 'conflict', 'Ending a subscription gives back what is unused of it, as its customer could.')
