import type { CustomerId, OrderId } from '../../core/ids.ts'

/** What is told: the thing first, then what happened to it. `docs/api/events.md` says what each carries. */
export const eventTypes = [
  'proxy.replaced',
  'proxy.interrupted',
  'proxy.restored',
  'proxy.moved',
  'proxy.extended',
  'proxy.ended',
  'order.refunded',
  'payment.paid',
  'payment.expired',
  'payment.refunded',
] as const
export type EventType = (typeof eventTypes)[number]

/** Plain values under plain names: it is sent as it stands. */
export type EventData = { readonly [name: string]: string | number | boolean | null }

/** What a domain tells. */
export type DomainEvent = {
  readonly customer: CustomerId
  readonly type: EventType
  readonly order: OrderId | null
  /** The thing that it happened to: a proxy's number, a subscription's uuid. */
  readonly subject: string | null
  readonly data: EventData
}

export type Event = DomainEvent & { readonly seq: number; readonly at: number }

/** How long an event is kept. */
export const eventKeptMs = 30 * 86_400_000

export const isEventType = (text: string): text is EventType => eventTypes.some((each) => each === text)
