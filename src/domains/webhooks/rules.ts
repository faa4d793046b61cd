import { readAddress } from '../../core/address.ts'
import { type CustomerId, type DeliveryId, operatorsOwner, timeOfId, type WebhookId } from '../../core/ids.ts'
import { classify } from '../../core/reserved.ts'
import { toIso } from '../../core/time.ts'
import { type CustomerEvent, eventKeptMs } from '../events/rules.ts'

export type Webhook = {
  readonly id: WebhookId
  readonly customer: CustomerId
  readonly url: string
  /** The chosen types; none means all. */
  readonly events: readonly string[]
  readonly sealedSecrets: Uint8Array
  /** Secrets before the last rotation, which sign too until then. */
  readonly oldSecrets: Uint8Array | null
  readonly oldUntil: number | null
  readonly state: 'enabled' | 'disabled'
  /** Why the shop disabled it. */
  readonly problem: string | null
  readonly createdAt: number
}

/** How far an endpoint is. */
export type Progress = {
  readonly webhook: WebhookId
  readonly customer: CustomerId
  readonly doneSeq: number
  readonly tries: number
  /** Duration of the last attempt. */
  readonly tookMs: number
  readonly nextAt: number
  readonly asked: boolean
  readonly lease: string
  readonly leaseUntil: number
  /** When a shop last took the lease; first, when the endpoint was added. */
  readonly leasedAt: number
}

export const deliveryStatuses = ['delivered', 'retrying', 'failed', 'waiting'] as const
type DeliveryStatus = (typeof deliveryStatuses)[number]

export type WebhookDelivery = {
  readonly id: DeliveryId
  readonly webhook: WebhookId
  readonly customer: CustomerId
  /** The number of the event; 0 for a test. */
  readonly seq: number
  readonly type: string
  readonly status: DeliveryStatus
  readonly tries: number
  readonly createdAt: number
  readonly triedAt: number | null
  readonly answerStatus: number | null
  readonly problem: string | null
  readonly tookMs: number | null
}

/** A delivery beside what its endpoint and its event say; null where they are removed or forgotten. */
export type CheckedDelivery = WebhookDelivery & {
  readonly ownerOfWebhook: string | null
  readonly typeOfEvent: string | null
  readonly lastSeq: number
}

/** Problems of a stored delivery, for `verify`. */
export function problemsOfDelivery(of: CheckedDelivery): ('delivery_mismatch' | 'delivery_result')[] {
  const isOfEndpoint = of.ownerOfWebhook === null || of.ownerOfWebhook === of.customer
  const isOfEvent =
    of.seq === 0 ? of.type === testType : of.seq <= of.lastSeq && (of.typeOfEvent ?? of.type) === of.type
  const isTried = of.tries > 0 && of.triedAt !== null
  const isFailed = of.problem !== null
  const isResult: Readonly<Record<DeliveryStatus, boolean>> = {
    delivered: isTried && !isFailed && of.answerStatus !== null && of.answerStatus >= 200 && of.answerStatus < 300,
    retrying: isTried && isFailed,
    failed: isFailed,
    waiting: true,
  }
  const isFirst = of.createdAt === timeOfId(of.id) && of.tries > 0 === (of.triedAt !== null)
  return [
    ...(isOfEndpoint && isOfEvent ? [] : (['delivery_mismatch'] as const)),
    ...(isFirst && isResult[of.status] ? [] : (['delivery_result'] as const)),
  ]
}

export const maxWebhooks = 16
const maxUrlLength = 500
/** Test and repeated deliveries of an endpoint that wait. */
export const maxWaiting = 100
export const deliveryKeptMs = eventKeptMs
/** How long the secrets before a rotation sign too. */
export const rotationMs = 86_400_000
/** A lease outlives one delivery; after a shop died, another one delivers from then on. */
export const leaseMs = 60_000
export const attemptMs = 20_000
export const slowMs = 2000
/** Slow endpoints of one customer that shops deliver to at a time: a few customers cannot take all 64 places. */
export const maxSlowOfCustomer = 4

/** Whether an endpoint failed or answered slowly last time. A new one counts as slow until its first answer. */
export const isSlow = ({ tries, tookMs }: Pick<Progress, 'tries' | 'tookMs'>): boolean => tries > 0 || tookMs > slowMs

const [secondMs, minuteMs, hourMs] = [1000, 60_000, 3_600_000]
/** The pauses of the Standard Webhooks specification: ten attempts in three days. */
const pausesMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
]
const maxRetryAfterMs = 24 * hourMs

/** The result of one attempt. `status` is null if no answer came. */
export type AttemptOutcome = {
  readonly status: number | null
  /** Why it failed: `answer`, `timeout`, `connection`, `tls`, `name`, `address`, `port` or `scheme`. */
  readonly problem: string | null
  readonly retryAfterMs: number | null
  readonly tookMs: number
}

export const isDelivered = ({ status, problem }: AttemptOutcome): boolean =>
  problem === null && status !== null && status >= 200 && status < 300

/** Why an endpoint is disabled after an attempt that failed, or when it is tried again. `chance` is 0 to 1. */
export function judgeFailure(
  outcome: AttemptOutcome,
  triesBefore: number,
  nowMs: number,
  chance: number,
): { readonly disable: 'gone' | 'failures' } | { readonly nextAt: number } {
  if (outcome.status === 410) return { disable: 'gone' }
  const pauseMs = pausesMs[triesBefore]
  if (pauseMs === undefined) return { disable: 'failures' }
  const retryAfterMs = Math.min(outcome.retryAfterMs ?? 0, maxRetryAfterMs)
  // Jitter of a fifth, so that endpoints that failed together are not tried together.
  return { nextAt: nowMs + Math.max(Math.round(pauseMs * (0.9 + 0.2 * chance)), retryAfterMs) }
}

export const isChosen = ({ events }: Pick<Webhook, 'events'>, type: string): boolean =>
  events.length === 0 || events.includes(type)

/** The body of a message: the event as `GET /events` shows it. */
export const toPayload = (event: Pick<CustomerEvent, 'seq' | 'type' | 'at' | 'order' | 'data'>): string =>
  JSON.stringify({
    type: event.type,
    timestamp: toIso(event.at),
    id: event.seq,
    order_id: event.order,
    data: event.data,
  })

export const testType = 'webhook.test'

export const toTestPayload = (id: WebhookId, askedAt: number): string =>
  JSON.stringify({ type: testType, timestamp: toIso(askedAt), id: 0, order_id: null, data: { webhook_id: id } })

/**
 * The id of an event's message: the same in every attempt and repetition, and unique among endpoints. It has the time,
 * because a database that goes back gives a number to another event: receivers would take that for a repetition.
 */
export const messageIdOf = (webhook: WebhookId, { seq, at }: Pick<CustomerEvent, 'seq' | 'at'>): string =>
  `msg_${webhook.slice(4)}_${seq}_${at.toString(36)}`

export const testMessageIdOf = (delivery: DeliveryId): string => `msg_${delivery.slice(4)}`

/** Ports of services that speak no HTTP. Those below 1024 other than 443 are closed too. */
const closedPorts = new Set([
  2049, 2375, 2379, 2380, 2525, 3306, 3389, 5432, 5672, 5900, 6379, 9042, 9092, 9200, 11211, 27017,
])

/** What an address of an endpoint lacks; undefined if it may be tried. DNS is judged at each attempt. */
export function urlProblem(text: string, isSandbox: boolean): 'url' | 'scheme' | 'port' | undefined {
  const url = URL.parse(text)
  if (!url || text.length > maxUrlLength || url.username !== '' || url.password !== '' || url.hash !== '') return 'url'
  if (/[^\x21-\x7e]/.test(text) || url.hostname === '') return 'url'
  if (url.protocol !== 'https:' && !(isSandbox && url.protocol === 'http:')) return 'scheme'
  return isPortOpen(url, isSandbox) ? undefined : 'port'
}

/**
 * Whether the host is an IP address to which no message goes: it is not public, nor loopback in a sandbox. Only new
 * endpoints are refused for it; a name is judged at each attempt.
 */
export function isClosedAddress(text: string, isSandbox: boolean): boolean {
  const address = readAddress(URL.parse(text)?.hostname.replaceAll(/^\[|\]$/g, '') ?? '')
  if (!address) return false
  const addressClass = classify(address)
  return addressClass !== 'public' && !(isSandbox && addressClass === 'loopback')
}

/** One mailbox, without a display name, parameters or line breaks. */
const mailto = /^mailto:[a-z0-9.!#$*+/=^_`{|}~-]{1,64}@[a-z0-9.-]{1,190}$/i

/** The scheme of a URL may be in capitals. */
export const isMail = (url: string): boolean => /^mailto:/i.test(url)

/** What an address of an owner's endpoint lacks. Operators can have e-mail addresses, too. */
export const endpointProblem = (owner: CustomerId, url: string, isSandbox: boolean) =>
  owner === operatorsOwner && mailto.test(url) ? undefined : urlProblem(url, isSandbox)

export const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)

const isPortOpen = (url: URL, isSandbox: boolean): boolean => {
  const port = portOf(url)
  if (port === 443 || (isSandbox && port === 80)) return true
  return port >= 1024 && !closedPorts.has(port)
}

export type ShownWebhook = Pick<Webhook, 'id' | 'url' | 'events' | 'state' | 'problem' | 'createdAt'> & {
  readonly publicKey: string
}
