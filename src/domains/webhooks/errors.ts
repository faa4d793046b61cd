import { Refusal } from '../../core/refusal.ts'

export const noSuchWebhook = (): Refusal => new Refusal('webhook_not_found')
export const noSuchDelivery = (): Refusal => new Refusal('delivery_not_found')
