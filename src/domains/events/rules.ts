import { type CustomerId, type OrderId, operatorsOwner } from '../../core/ids.ts'
import type { Metadata, MetadataKind } from '../metadata/rules.ts'

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
  'price.announced',
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

/** Events of the operators; `docs/operate/alerts.md` lists the data of each. */
export const alertTypes = [
  'stock.low',
  'node.lost',
  'range.lost',
  'payment.unmatched',
  'verify.finding',
  'certificate.ending',
] as const
export type AlertType = (typeof alertTypes)[number]

/** Types of the operators' activity feed. The index `events_of_feed` has these and no others. */
export const feedTypes = [
  'order.refunded',
  'payment.paid',
  'payment.refunded',
  'stock.low',
  'node.lost',
  'range.lost',
  'payment.unmatched',
  'verify.finding',
  'certificate.ending',
] as const satisfies readonly (EventType | AlertType)[]
export type FeedType = (typeof feedTypes)[number]

/** An event's place in the feed: events of one instant are ordered by customer and number. */
export type FeedPosition = { readonly at: number; readonly customer: string; readonly seq: number }

/** Plain JSON, sent as it is. Only `metadata` is an object: the customer's own pairs on the thing. */
export type EventData = {
  readonly [name: string]: string | number | boolean | null | Metadata
}

/** Keeps the plain values and `metadata`, which are all that a domain writes. */
export const toEventData = (value: unknown): EventData =>
  Object.fromEntries(Object.entries(value ?? {}).filter(isPlainEntry))

const isPlainEntry = (entry: [string, unknown]): entry is [string, EventData[string]] =>
  entry[1] === null ||
  ['string', 'number', 'boolean'].includes(typeof entry[1]) ||
  (entry[0] === 'metadata' && isMetadata(entry[1]))

const isMetadata = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && Object.values(value).every((each) => typeof each === 'string')

/** The thing of an event that can have metadata: its kind and id. */
export function thingOf(subject: string): { readonly kind: MetadataKind; readonly id: string } | undefined {
  const proxy = /^proxy:(\d+)$/.exec(subject)?.[1]
  if (proxy !== undefined) return { kind: 'proxy', id: proxy }
  if (subject.startsWith('ord_')) return { kind: 'order', id: subject }
  if (subject.startsWith('sub_')) return { kind: 'subuser', id: subject }
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(subject) ? { kind: 'vpn', id: subject } : undefined
}

/** An event as a domain reports it. */
export type DomainEvent = {
  readonly customer: CustomerId
  readonly type: EventType | AlertType
  readonly order: OrderId | null
  /** A proxy's number or a subscription's uuid. */
  readonly subject: string | null
  readonly data: EventData
}

/** An event with its number. */
export type NumberedEvent = DomainEvent & { readonly seq: number; readonly at: number }

/** An event as it is read. Those of the operators have types of alerts, which only their deliveries read. */
export type CustomerEvent = NumberedEvent & { readonly type: EventType }

export const eventKeptMs = 30 * 86_400_000

export const isEventType = (text: string): text is EventType => eventTypes.some((each) => each === text)

/** Whether an owner can have an event of a type: operators have alerts, and learn of their endpoints. */
export const hasEventType = (owner: CustomerId, text: string): boolean => typesOf(owner).some((each) => each === text)

export const typesOf = (owner: CustomerId): readonly string[] =>
  owner === operatorsOwner ? [...alertTypes, 'webhook.disabled'] : eventTypes

/** How many days before the end of a proxy or a subscription its customer gets an event. */
export const announcedDays = [1, 3, 7] as const

/** A row that ends: its time and its id, by which rows that end together are ordered. */
export type EndingRow = { readonly at: number; readonly id: string }
