import type { CustomerId, LetterId, MailingId } from '../../core/ids.ts'
import { toIso } from '../../core/time.ts'
import type { DomainEvent, EventType } from '../events/rules.ts'

export const audienceProducts = ['dedicated', 'premium', 'vpn'] as const

/** Which customers a mailing is for. Without a limit all who are not blocked. */
export type Audience = {
  /** Those who have running services of this product. */
  readonly product: (typeof audienceProducts)[number] | null
  /** Those with a service that ends within so many days. */
  readonly endsWithinDays: number | null
  /** Those with a proxy that this gateway serves, or a VPN device at the location of this VPN node. */
  readonly node: string | null
}

/** One language at least has a text. */
export type MailingTexts = {
  readonly subjectEn: string | null
  readonly textEn: string | null
  readonly subjectRu: string | null
  readonly textRu: string | null
}

export const mailingStates = ['walking', 'done', 'stopped'] as const
export const mailingKinds = ['price', 'message'] as const

export type Mailing = Audience &
  MailingTexts & {
    readonly id: MailingId
    readonly kind: (typeof mailingKinds)[number]
    /** When announced prices change; null for a message. */
    readonly effectiveAt: number | null
    readonly state: (typeof mailingStates)[number]
    readonly afterCustomer: CustomerId
    /** Customers who got it so far. */
    readonly customers: number
    readonly createdAt: number
  }

/** The event about prices that change. */
export const priceEvent = (customer: CustomerId, of: Mailing): DomainEvent => ({
  customer,
  type: 'price.announced',
  order: null,
  subject: of.id,
  data: {
    effective_at: of.effectiveAt === null ? null : toIso(of.effectiveAt),
    product: of.product,
    text_en: of.textEn,
    text_ru: of.textRu,
  },
})

/** Kinds of letters about events, which customers choose; none by default. */
const eventKinds = ['expiry', 'balance', 'traffic', 'receipt', 'price'] as const
/** `message` is a message of the operator, which customers get unless they unsubscribe. */
export const noticeKinds = [...eventKinds, 'message'] as const
export type NoticeKind = (typeof noticeKinds)[number]

export const noticeLanguages = ['en', 'ru'] as const
export type NoticeLanguage = (typeof noticeLanguages)[number]

const kindsByEvent: Partial<Readonly<Record<EventType, NoticeKind>>> = {
  'proxy.expiring': 'expiry',
  'proxy.expired': 'expiry',
  'vpn.expiring': 'expiry',
  'vpn.expired': 'expiry',
  'renewal.failed': 'expiry',
  'balance.low': 'balance',
  'traffic.low': 'traffic',
  'order.created': 'receipt',
  'order.refunded': 'receipt',
  'payment.paid': 'receipt',
  'payment.refunded': 'receipt',
  'price.announced': 'price',
}

export const kindOfEvent = (type: EventType): NoticeKind | undefined => kindsByEvent[type]

/** What a customer wants by e-mail. */
export type NoticeChoices = {
  readonly customer: CustomerId
  readonly kinds: readonly NoticeKind[]
  readonly language: NoticeLanguage
  /** The last event that was collected. */
  readonly doneSeq: number
  readonly changedAt: number
}

export const letterStates = ['waiting', 'sent', 'failed', 'unsubscribed', 'no_address'] as const
export type LetterState = (typeof letterStates)[number]

export type NoticeLetter = {
  readonly id: LetterId
  readonly customer: CustomerId
  readonly kind: NoticeKind
  readonly mailing: MailingId | null
  /** Numbers of the first events; `more` counts the others. */
  readonly events: readonly number[]
  readonly more: number
  readonly state: LetterState
  readonly tries: number
  readonly nextAt: number
  readonly lease: string
  readonly leaseUntil: number
  readonly createdAt: number
  readonly endedAt: number | null
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** A letter leaves this long after its first event, so that things that end together are in one. */
export const gatherMs = 2 * minuteMs
/** Events that are older when they are collected cause no letter: the shop could not send e-mail until now. */
export const staleAfterMs = 24 * hourMs
/** Longer than a mail server may take with the letters that are sent at a time. */
export const letterLeaseMs = 5 * minuteMs
export const letterKeptMs = 30 * dayMs
const maxListed = 100

/** Pauses after attempts that the mail server may take later: 7 more attempts in two days. */
const pauses = [minuteMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 6 * hourMs, 12 * hourMs, 24 * hourMs] as const

export const maxTries = pauses.length + 1

/** When a letter is tried again after so many attempts; undefined if it is given up. */
export function retryAt(tries: number, nowMs: number): number | undefined {
  const pause = pauses[tries - 1]
  return pause === undefined ? undefined : nowMs + pause
}

export const dayOf = (atMs: number): number => Math.floor(atMs / dayMs)

/** The first events by number, and how many follow. */
export function joinEvents(of: Pick<NoticeLetter, 'events' | 'more'>, later: readonly number[]) {
  const all = [...of.events, ...later]
  const events = all.slice(0, maxListed)
  return { events, more: of.more + all.length - events.length }
}
