import type { Address } from '../../core/address.ts'
import type { PaymentId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'

/** A payment as its provider reports it now. Credits follow from this, never from a notification. */
export type ProviderPayment = {
  readonly providerId: string
  /** Our id of the payment, as the provider keeps it; null where it keeps none. */
  readonly reference: string | null
  readonly state: 'pending' | 'paid' | 'expired' | 'cancelled'
  /** What the payer pays or has paid, before the provider's own fee. */
  readonly amount: Kopecks
  readonly currency: string
  /** Of a test shop, where no money moves. */
  readonly isTest: boolean
  /** The total that has gone back to the payer. */
  readonly refunded: Kopecks
  readonly payUrl: string | null
}

/** Where the payer pays. */
export type OpenedPayment = {
  readonly providerId: string
  readonly payUrl: string
  /** The content of a QR code. */
  readonly qr: string
  /** Until when it can be paid, where the provider says so. */
  readonly expiresAt: number | null
}

export type OpenRequest = {
  readonly payment: PaymentId
  readonly method: string
  /** What the payer pays, the fee included. */
  readonly amount: Kopecks
  readonly description: string
  readonly returnUrl: string
  /** For the receipts of the payment and its refunds, where the law requires them. The shop does not store it. */
  readonly email: string | undefined
  /** A pseudonym of the customer. */
  readonly payer: string
  readonly expiresAt: number
}

/** A request in a provider's name. It is only a reason to ask the provider. */
export type Notification = {
  readonly headers: Headers
  readonly body: Uint8Array
  readonly from: Address | undefined
}

/** The payment that a notification is about. `reference` is our id, null where the provider does not send it. */
export type Hint = { readonly providerId: string; readonly reference: string | null }

/**
 * Why a provider is called. Calls are rate limited: polls and lists leave a reserve to opening and refunding payments,
 * and these leave one to the confirmation of notifications.
 */
export type CallPurpose = 'poll' | 'open' | 'notify'

/** A connection to one provider, with its settings and its secret. */
export type PaymentProvider = {
  /** Whether opening the same payment twice opens one. Where it does not, `findOpened` is asked first. */
  readonly opensOnce: boolean
  open(request: OpenRequest): Promise<OpenedPayment>
  /** The payment of an `open` whose answer never came, if the provider can look for it. */
  findOpened(payment: PaymentId, createdAt: number): Promise<ProviderPayment | undefined>
  /** Undefined if the provider has no such payment. The purpose is `poll` unless given. */
  find(providerId: string, purpose?: CallPurpose): Promise<ProviderPayment | undefined>
  /** Throws NotTheProvider unless the sender is proven. */
  readNotification(of: Notification): Hint
  /** Gives money back to the payer. `key` is the same for the same refund. */
  refund?(of: {
    readonly providerId: string
    readonly amount: Kopecks
    /** Whether this is the whole payment. */
    readonly isWhole: boolean
    readonly key: string
  }): Promise<void>
  /** How long the provider keeps a refund's idempotency key; absent where it knows none. */
  readonly refundKeyMs?: number
  /** All payments of a time, where the provider can list them. */
  list?(fromAt: number, toAt: number): AsyncIterable<ProviderPayment>
}

/** A method with the provider's own bounds. */
export type OfferedMethod = {
  readonly method: string
  readonly name: string
  readonly min: Kopecks
  readonly max: Kopecks
  readonly payableMs: number
}

export type ProviderSetting = {
  readonly name: string
  readonly meaning: string
  readonly isRequired: boolean
  readonly isValid: (text: string) => boolean
}

/** A kind of provider: its methods, its settings, and how to connect to it. */
export type ProviderKind = {
  readonly name: string
  readonly methods: readonly OfferedMethod[]
  readonly settings: readonly ProviderSetting[]
  readonly needsSecret: boolean
  readonly isSandbox: boolean
  /** Absent where there is no service to ask: the operator marks payments as paid. */
  readonly connect?: (settings: Readonly<Record<string, string>>, secret: string) => PaymentProvider
}

/** The provider refused; the request had no effect. The message is for the log. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused'
}

/** The outcome is unknown: no answer, half an answer, or a fault of the provider. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** A notification that does not prove its sender. */
export class NotTheProvider extends Error {
  override readonly name = 'NotTheProvider'
}

/** A notification of the provider that cannot be parsed. */
export class UnreadableNotification extends Error {
  override readonly name = 'UnreadableNotification'
}
