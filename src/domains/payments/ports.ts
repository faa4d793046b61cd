import type { Address } from '../../core/address.ts'
import type { PaymentId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'

/** A payment as its provider has it now. What is credited follows from this, and from no notification. */
export type Seen = {
  readonly providerId: string
  /** Our own id of it, as the provider keeps it; null where it keeps none. */
  readonly reference: string | null
  readonly state: 'pending' | 'paid' | 'expired' | 'cancelled'
  /** What the payer pays or has paid, before the provider's own fee. */
  readonly amount: Kopecks
  readonly currency: string
  /** Of a test shop, where nobody pays anything. */
  readonly isTest: boolean
  /** All that has gone back to the payer by now. */
  readonly refunded: Kopecks
  /** Where the payer goes, while there is such a place. */
  readonly payUrl: string | null
}

/** Where the payer goes to pay. */
export type Opened = {
  readonly providerId: string
  readonly payUrl: string
  /** What a QR code should hold. */
  readonly qr: string
  /** Until when it can be paid, where the provider says so. */
  readonly expiresAt: number | null
}

export type ToOpen = {
  readonly payment: PaymentId
  readonly method: string
  /** What the payer pays, the fee included. */
  readonly amount: Kopecks
  readonly description: string
  readonly returnUrl: string
  /** For the receipt, where the law wants one. It is kept nowhere. */
  readonly email: string | undefined
  /** Who pays, as a name that means nothing outside. */
  readonly payer: string
  readonly expiresAt: number
}

/** What called us in the provider's name: not believed, only a reason to ask. */
export type Notification = {
  readonly headers: Headers
  readonly body: Uint8Array
  readonly from: Address | undefined
}

/** Which payment a notification is about. The reference is ours, and absent where the provider does not send it. */
export type Hint = { readonly providerId: string; readonly reference: string | null }

/**
 * Why a provider is called. Calls are limited, and a share of them is kept back: polls and lists leave calls to
 * opening and refunding payments, and these leave calls to the confirmation of notifications.
 */
export type CallPurpose = 'poll' | 'open' | 'notify'

/** One provider with its settings and its secret, as an adapter speaks to it. */
export type PaymentProvider = {
  /** Whether asking twice to open the same payment opens one. Where it does not, `findOpened` is asked first. */
  readonly opensOnce: boolean
  /** Opens a payment. */
  open(wish: ToOpen): Promise<Opened>
  /** The payment that an `open` has made whose answer never came, if the provider can look for it. */
  findOpened(payment: PaymentId, createdAt: number): Promise<Seen | undefined>
  /** The payment as it is now; undefined if the provider has none of that id. A poll unless said. */
  find(providerId: string, purpose?: CallPurpose): Promise<Seen | undefined>
  /** Who calls is checked first, and refused without a word about why. */
  readNotification(of: Notification): Hint
  /** Gives money back to the payer. `key` is the same for the same refund. */
  refund?(of: {
    readonly providerId: string
    readonly amount: Kopecks
    /** All that was paid, of which nothing has gone back yet. */
    readonly isWhole: boolean
    readonly key: string
  }): Promise<void>
  /** For how long a refund that is asked for again with its key is made once; absent where keys are not known. */
  readonly refundKeyMs?: number
  /** Every payment that the provider has of a time, where it can list them. */
  list?(fromAt: number, toAt: number): AsyncIterable<Seen>
}

/** A way to pay, with the bounds that the provider itself has. */
export type OfferedMethod = {
  readonly method: string
  readonly name: string
  readonly min: Kopecks
  readonly max: Kopecks
  /** How long it can be paid. */
  readonly payableMs: number
}

/** A setting that an adapter knows. */
export type ProviderSetting = {
  readonly name: string
  readonly meaning: string
  readonly isRequired: boolean
  readonly isValid: (text: string) => boolean
}

/** A kind of provider: what it offers, what it needs to know, and how to speak to it. One file each. */
export type ProviderKind = {
  readonly name: string
  readonly methods: readonly OfferedMethod[]
  readonly settings: readonly ProviderSetting[]
  readonly needsSecret: boolean
  /** Only in a sandbox. */
  readonly isSandbox: boolean
  /** How to speak to it; absent where nobody outside is asked, and the operator's word counts. */
  readonly connect?: (settings: Readonly<Record<string, string>>, secret: string) => PaymentProvider
}

/** The provider has said no: what was asked for has not happened, and will not. `reason` is for the log. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused'
}

/** Nobody knows whether it has happened: no answer, half an answer, or a fault on the other side. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** A notification that does not prove where it comes from. */
export class NotTheProvider extends Error {
  override readonly name = 'NotTheProvider'
}

/** A notification that comes from the provider and makes no sense. */
export class UnreadableNotification extends Error {
  override readonly name = 'UnreadableNotification'
}
