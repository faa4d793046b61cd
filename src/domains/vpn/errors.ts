import { Refusal } from '../../core/refusal.ts'

/** One answer for a subscription that does not exist, is deleted, or belongs to another customer. */
export const noSuchSubscription = (): Refusal => new Refusal('vpn_subscription_not_found', {}, { charged: false })

export const noSuchDevice = (): Refusal => new Refusal('vpn_device_not_found')

export const noLiveNode = (): Refusal => new Refusal('no_vpn_node_up', {}, { charged: false })

export const keyInUse = (): Refusal => new Refusal('public_key_in_use', {}, { charged: false })

export const subscriptionDisabled = (): Refusal =>
  new Refusal('subscription_disabled', {}, { status: 'DISABLED', charged: false })
