import type { CustomerId, OrderId } from '../../core/ids.ts'

/** The thing, then what happened to it. `docs/api/events.md` lists the data of each. */
export const eventTypes = [
  'order.created',
  'proxy.expiring',
  'proxy.expired',
  'proxy.renewed',
  'proxy.replaced',
  'proxy.interrupted',
  'proxy.restored',
  'proxy.moved',
  'proxy.extended',
  'proxy.ended',
  'traffic.low',
  'vpn.expiring',
  'vpn.expired',
  'vpn.renewed',
  'device.seen',
  'renewal.failed',
  'balance.low',
  'order.refunded',
  'payment.paid',
  'payment.expired',
  'payment.refunded',
  'password.set',
  'password.changed',
  'email.set',
  'second_factor.set',
  'second_factor.removed',
  'recovery_codes.made',
  'recovery_code.used',
  'webhook.disabled',
] as const
export type EventType = (typeof eventTypes)[number]

/** Plain JSON, sent as it is. */
export type EventData = { readonly [name: string]: string | number | boolean | null }

/** An event as a domain reports it. */
export type DomainEvent = {
  readonly customer: CustomerId
  readonly type: EventType
  readonly order: OrderId | null
  /** A proxy's number or a subscription's uuid. */
  readonly subject: string | null
  readonly data: EventData
}

export type CustomerEvent = DomainEvent & { readonly seq: number; readonly at: number }

export const eventKeptMs = 30 * 86_400_000

export const isEventType = (text: string): text is EventType => eventTypes.some((each) => each === text)

/** How many days before the end of a proxy or a subscription its customer gets an event. */
export const announcedDays = [1, 3, 7] as const

/** A row that ends: its time and its id, by which rows that end together are ordered. */
export type EndingRow = { readonly at: number; readonly id: string }
