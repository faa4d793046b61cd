import { type CustomerId, makeId, type WebhookId } from '../../core/ids.ts'
import type { CustomerEvent } from '../events/rules.ts'
import { isSandbox, type WebhookDeps } from './deps.ts'
import type { Sender } from './ports.ts'
import {
  type AttemptOutcome,
  attemptMs,
  deliveryKeptMs,
  isChosen,
  isDelivered,
  isSlow,
  judgeFailure,
  leaseMs,
  maxSlowOfCustomer,
  messageIdOf,
  type Progress,
  testMessageIdOf,
  toPayload,
  toTestPayload,
  type Webhook,
  type WebhookDelivery,
} from './rules.ts'
import { openSecrets, type SigningKey, signMessage, toSigningKey } from './signing.ts'
import * as store from './store.ts'

/** Events read at a time, and successes that are written together: after a crash they are sent again. */
const eventsAtOnce = 100
const maxUnwritten = 50
const maxUnwrittenMs = 5000
/** Deliveries and time of one claim; then other endpoints have their turn. */
const maxOfClaim = 500
const maxOfClaimMs = 10_000
const stopAfterMs = 3000

/** The lease on an endpoint. Only its holder delivers, in the order of the events. */
export type WebhookLease = {
  readonly webhook: WebhookId
  readonly customer: CustomerId
  readonly lease: string
  readonly isSlow: boolean
}

/**
 * Endpoints that a shop can deliver to besides those that it delivers to, of which `slow` may be slow ones. `slowHeld`
 * counts the slow ones that it delivers to, also those whose lease their owner broke by a change.
 */
export type FreePlaces = {
  readonly all: number
  readonly slow: number
  readonly slowHeld?: ReadonlyMap<CustomerId, number>
}

/** The slow endpoints without those beyond their customer's share. */
function withinShare(slow: readonly Progress[], held: ReadonlyMap<CustomerId, number>): Progress[] {
  const counts = new Map(held)
  return slow.filter(({ customer }) => {
    const count = counts.get(customer) ?? 0
    counts.set(customer, count + 1)
    return count < maxSlowOfCustomer
  })
}

/**
 * Takes leases on endpoints that have something to deliver, for this shop. A lease that ended, because its shop died or
 * stalled, is taken over: its unwritten deliveries are sent again, and none is sent before an earlier one was received.
 */
export async function claim(deps: WebhookDeps, free: FreePlaces): Promise<WebhookLease[]> {
  const nowMs = deps.clock()
  const held = free.slowHeld ?? new Map<CustomerId, number>()
  const full = [...held].filter(([, count]) => count >= maxSlowOfCustomer).map(([customer]) => customer)
  const due = await store.findDue(deps.db, nowMs, free.all, full)
  const slow = withinShare(due.filter(isSlow), held).slice(0, free.slow)
  const chosen = [...due.filter((each) => !isSlow(each)), ...slow]
  if (chosen.length === 0) return []
  const blocked = await deps.customers.blockedAmong(chosen.map((each) => each.customer))
  // In the order of ids, so that two shops cannot deadlock.
  const inOrder = chosen.toSorted((a, b) => (a.webhook < b.webhook ? -1 : 1))
  return deps.db.transact(async (tx) => {
    const claims: WebhookLease[] = []
    for (const each of inOrder) {
      const { webhook, customer } = each
      const lease = deps.random(16).toHex()
      const taken = await store.takeLease(tx, webhook, lease, nowMs + leaseMs, nowMs)
      // Nothing is sent for a blocked customer: its endpoint rests until the lease ends.
      if (taken && !blocked.has(customer)) claims.push({ webhook, customer, lease, isSlow: isSlow(each) })
    }
    return claims
  })
}

/** Another shop has the lease, or the endpoint was removed: the holder stops without another effect. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

type Work = {
  readonly webhook: Webhook
  readonly lease: string
  readonly keys: readonly SigningKey[]
  readonly sender: Sender
  readonly isSandbox: boolean
  /** Whether tests or repetitions wait. */
  readonly asked: boolean
  readonly startedAt: number
  /** Deliveries of this claim. */
  count: number
  doneSeq: number
  tries: number
  tookMs: number
  nextAt: number
  leaseUntil: number
  unwritten: WebhookDelivery[]
  writtenAt: number
}

/** Delivers to a claimed endpoint until nothing is due, an attempt fails, or the signal aborts. Returns how many. */
export async function deliver(
  deps: WebhookDeps,
  { webhook: id, lease }: WebhookLease,
  stop: AbortSignal,
): Promise<number> {
  // An attempt that runs may finish; a slow one is broken off.
  const stopLater = () => void setTimeout(() => work?.sender.close(), stopAfterMs)
  let work: Work | undefined
  stop.addEventListener('abort', stopLater, { once: true })
  try {
    work = await open(deps, id, lease)
    if (!work) return 0
    try {
      if (work.asked) await sendSingles(deps, work, stop)
      await sendEvents(deps, work, stop)
    } finally {
      await write(deps, work, { leaseUntil: 0 })
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error
  } finally {
    stop.removeEventListener('abort', stopLater)
    work?.sender.close()
  }
  return work?.count ?? 0
}

/** Whether other endpoints have their turn: after many deliveries, 10 s, or a slow attempt. */
const isTurnOver = (deps: WebhookDeps, work: Work): boolean =>
  work.count >= maxOfClaim ||
  Math.abs(deps.clock() - work.startedAt) >= maxOfClaimMs ||
  (work.count > 0 && isSlow({ tries: 0, tookMs: work.tookMs }))

async function open(deps: WebhookDeps, id: WebhookId, lease: string): Promise<Work | undefined> {
  const [webhook, at] = await Promise.all([store.findWebhook(deps.db, id), store.findProgress(deps.db, id, lease)])
  if (!webhook || !at) return undefined
  const nowMs = deps.clock()
  const isOverlapping = webhook.oldSecrets !== null && webhook.oldUntil !== null && webhook.oldUntil > nowMs
  const sealed = [webhook.sealedSecrets, ...(isOverlapping && webhook.oldSecrets ? [webhook.oldSecrets] : [])]
  const { asked, doneSeq, tries, tookMs, nextAt, leaseUntil } = at
  return {
    webhook,
    lease,
    keys: sealed.map((each) => toSigningKey(openSecrets(deps.vault, id, each))),
    sender: deps.openSender(webhook.url),
    isSandbox: await isSandbox(deps),
    asked,
    startedAt: nowMs,
    count: 0,
    doneSeq,
    tries,
    tookMs,
    nextAt,
    leaseUntil,
    unwritten: [],
    writtenAt: nowMs,
  }
}

async function attempt(deps: WebhookDeps, work: Work, messageId: string, body: string): Promise<AttemptOutcome> {
  const { webhook, keys } = work
  await deps.pace()
  const timestamp = Math.floor(deps.clock() / 1000)
  const startedAt = deps.clock()
  const answer = await work.sender.send({
    url: webhook.url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Turnpike-Webhooks/1',
      'webhook-id': messageId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signMessage(keys, messageId, timestamp, body),
    },
    body,
    isSandbox: work.isSandbox,
    limitMs: attemptMs,
  })
  work.tookMs = Math.max(0, deps.clock() - startedAt)
  return { ...answer, tookMs: work.tookMs }
}

const after = (outcome: AttemptOutcome, nowMs: number) => ({
  triedAt: nowMs,
  answerStatus: outcome.status,
  problem: isDelivered(outcome) ? null : (outcome.problem ?? 'answer'),
  tookMs: outcome.tookMs,
})

/** Tests and repetitions: each is sent once. */
async function sendSingles(deps: WebhookDeps, work: Work, stop: AbortSignal): Promise<void> {
  for (const each of await store.listWaiting(deps.db, work.webhook.id, eventsAtOnce)) {
    if (stop.aborted || isTurnOver(deps, work)) return
    await keepLease(deps, work)
    const [event] = each.seq > 0 ? await deps.events.between(each.customer, each.seq - 1, 1) : []
    const isKept = event?.seq === each.seq
    const message = isKept
      ? ([messageIdOf(each.webhook, event), toPayload(event)] as const)
      : ([testMessageIdOf(each.id), toTestPayload(each.webhook, each.createdAt)] as const)
    const outcome: AttemptOutcome =
      each.seq > 0 && !isKept
        ? { status: null, problem: 'forgotten', retryAfterMs: null, tookMs: 0 }
        : await attempt(deps, work, ...message)
    if (stop.aborted && outcome.status === null) return
    const status = isDelivered(outcome) ? 'delivered' : 'failed'
    await deps.db.transact(async (tx) =>
      store.writeSingle(tx, { ...each, status, tries: each.tries + 1, ...after(outcome, deps.clock()) }),
    )
    work.count += 1
  }
  await deps.db.transact((tx) => store.settleAsked(tx, work.webhook.id))
}

async function sendEvents(deps: WebhookDeps, work: Work, stop: AbortSignal): Promise<void> {
  const { webhook } = work
  if (work.nextAt > deps.clock()) return
  while (!stop.aborted && !isTurnOver(deps, work)) {
    const events = await deps.events.between(webhook.customer, work.doneSeq, eventsAtOnce)
    if (events.length === 0) return skipForgotten(deps, work)
    for (const event of events) {
      if (isChosen(webhook, event.type)) {
        await keepLease(deps, work)
        if (stop.aborted || isTurnOver(deps, work)) return
        const outcome = await attempt(deps, work, messageIdOf(webhook.id, event), toPayload(event))
        // The attempt was broken off because the shop stops: the next shop makes it.
        if (stop.aborted && outcome.status === null) return
        if (!isDelivered(outcome)) return fail(deps, work, event, outcome)
        work.unwritten.push(toDelivery(deps, work, event, outcome, 'delivered'))
        work.tries = 0
        work.count += 1
      }
      work.doneSeq = event.seq
    }
    await keepLease(deps, work)
  }
}

/** Events are deleted after 30 days: an endpoint that was disabled for longer continues after them. */
async function skipForgotten(deps: WebhookDeps, work: Work): Promise<void> {
  const { customer } = work.webhook
  const last = await deps.events.lastOf(deps.db, customer)
  if (last <= work.doneSeq) return
  // Read after the number: an event up to it is visible by now.
  const [missed] = await deps.events.between(customer, work.doneSeq, 1)
  if (!missed) work.doneSeq = last
}

function toDelivery(
  deps: WebhookDeps,
  { webhook }: Work,
  event: CustomerEvent,
  outcome: AttemptOutcome,
  status: WebhookDelivery['status'],
): WebhookDelivery {
  const nowMs = deps.clock()
  const id = makeId('delivery', nowMs, deps.random)
  const of = { webhook: webhook.id, customer: webhook.customer, seq: event.seq, type: event.type }
  return { id, ...of, status, tries: 1, createdAt: nowMs, ...after(outcome, nowMs) }
}

/** Writes successes that are old or many, and prolongs the lease before it could end within an attempt. */
async function keepLease(deps: WebhookDeps, work: Work): Promise<void> {
  const nowMs = deps.clock()
  const isFull = work.unwritten.length >= maxUnwritten
  const isOld = work.unwritten.length > 0 && Math.abs(nowMs - work.writtenAt) >= maxUnwrittenMs
  if (isFull || isOld || work.leaseUntil - nowMs < leaseMs - attemptMs) {
    await write(deps, work, { leaseUntil: nowMs + leaseMs })
  }
}

/** Writes how far the work is, with its deliveries, in one transaction that only the lease holder can commit. */
async function write(deps: WebhookDeps, work: Work, { leaseUntil }: { leaseUntil: number }): Promise<void> {
  const { webhook, lease, doneSeq, tries, tookMs, nextAt, unwritten } = work
  await deps.db.transact(async (tx) => {
    if (!(await store.writeStep(tx, { webhook: webhook.id, lease, doneSeq, tries, tookMs, nextAt, leaseUntil }))) {
      throw new LeaseLost()
    }
    store.writeDeliveries(tx, unwritten)
  })
  work.unwritten = []
  work.leaseUntil = leaseUntil
  work.writtenAt = deps.clock()
}

/** Plans the next attempt, or disables the endpoint with an event for its owner. */
async function fail(deps: WebhookDeps, work: Work, event: CustomerEvent, outcome: AttemptOutcome): Promise<void> {
  const nowMs = deps.clock()
  const chance = (deps.random(1)[0] ?? 0) / 255
  const verdict = judgeFailure(outcome, work.tries, nowMs, chance)
  const isOver = 'disable' in verdict
  work.unwritten.push(toDelivery(deps, work, event, outcome, isOver ? 'failed' : 'retrying'))
  work.tries += 1
  if (!isOver) work.nextAt = verdict.nextAt
  await write(deps, work, { leaseUntil: nowMs + leaseMs })
  if (isOver) await disable(deps, work.webhook, verdict.disable)
}

const disable = (deps: WebhookDeps, { id, customer, url }: Webhook, problem: 'gone' | 'failures'): Promise<void> =>
  deps.db.transact(async (tx) => {
    const webhook = await store.lockWebhook(tx, customer, id)
    // Its owner may have changed the address meanwhile.
    if (!webhook || webhook.state === 'disabled' || webhook.url !== url) return
    store.updateWebhook(tx, { ...webhook, state: 'disabled', problem })
    const data = { webhook_id: id, url, reason: problem }
    await deps.events.note(tx, [{ customer, type: 'webhook.disabled', order: null, subject: id, data }])
  })

/** Customers with an enabled endpoint, and the operators. */
export const owners = ({ db }: WebhookDeps): Promise<ReadonlySet<CustomerId>> => store.listOwners(db)

/** Deletes at most `limit` deliveries older than 30 days; returns how many. */
export const forget = (deps: WebhookDeps, limit: number): Promise<number> =>
  deps.db.transact((tx) => store.deleteDeliveries(tx, deps.clock() - deliveryKeptMs, limit))
