import { fieldProblem } from '../../core/messages/problems.ts'
import { malformed, Refusal, refuseField } from '../../core/refusal.ts'

/** One answer for a subscription that does not exist, is deleted, or belongs to another customer. */
export const noSuchSubscription = (): Refusal => new Refusal('vpn_subscription_not_found', {}, { charged: false })

export const noSuchDevice = (): Refusal => new Refusal('vpn_device_not_found')

export const noDevice = (): Refusal => new Refusal('vpn_device_missing')

export const whichSubscription = (uuids: readonly string[]): Refusal =>
  malformed([{ ...fieldProblem('uuid', 'several_subscriptions'), allowed: uuids }])

export const badLocation = (allowed: readonly string[]): Refusal => refuseField('location', 'one_of', { allowed })

export const badPublicKey = (): Refusal => refuseField('public_key', 'wireguard_key')

export const noLiveNode = (): Refusal => new Refusal('no_vpn_node_up', {}, { charged: false })

export const noFreeAddress = (): Refusal => new Refusal('no_vpn_address_free', {}, { charged: false })

export const keyInUse = (): Refusal => new Refusal('public_key_in_use', {}, { charged: false })

export const deviceLimitReached = (limit: number): Refusal =>
  new Refusal('device_limit', { limit }, { device_limit: limit, charged: false })

export const tooManyFreshDevices = (max: number): Refusal =>
  new Refusal('daily_device_limit', { most: max }, { most_in_a_day: max, charged: false })

export const notRunning = (status: string): Refusal =>
  new Refusal('subscription_not_active', { status }, { status, charged: false })

export const subscriptionDisabled = (): Refusal =>
  new Refusal('subscription_disabled', {}, { status: 'DISABLED', charged: false })

export const tooFarAhead = (years: number): Refusal => new Refusal('paid_too_far_ahead', { years }, { charged: false })

export const tooManySubscriptions = (max: number): Refusal =>
  new Refusal('subscription_limit', { most: max }, { charged: false })

/** Thrown inside automatic renewal only: another process has renewed the subscription. */
export const noLongerDue = (): Refusal => new Refusal('renewal_not_due', {}, { charged: false })

export const noSuchVpnNode = (): Refusal => new Refusal('vpn_node_not_found')

export const otherLocation = (chosen: string, offered: string): Refusal =>
  new Refusal('device_location_differs', { chosen, offered })

export const onlyUnused = (): Refusal => new Refusal('subscription_refund_is_unused_part')
