import { type CustomerId, type DeliveryId, makeId, type WebhookId } from '../../core/ids.ts'
import { fieldProblem } from '../../core/messages/problems.ts'
import { malformed, Refusal, refuseField } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import { hasEventType, typesOf } from '../events/rules.ts'
import { isSandbox, type WebhookDeps } from './deps.ts'
import { noSuchDelivery, noSuchWebhook } from './errors.ts'
import {
  endpointProblem,
  isClosedAddress,
  maxWaiting,
  maxWebhooks,
  rotationMs,
  type ShownWebhook,
  testType,
  type Webhook,
  type WebhookDelivery,
} from './rules.ts'
import { makeSecrets, openSecrets, publicKeyOf, sealSecrets, shownSecret } from './signing.ts'
import * as store from './store.ts'

/** A new or rotated endpoint, with the secret that is shown once. */
export type SecretWebhook = { readonly webhook: ShownWebhook; readonly secret: string }

type Choice = { readonly url: string; readonly events: readonly string[] }

function assertTypes(owner: CustomerId, types: readonly string[]): void {
  if (types.every((each) => hasEventType(owner, each))) return
  throw malformed([fieldProblem('events', 'one_of', { allowed: typesOf(owner) })])
}

function assertUrl(owner: CustomerId, url: string, sandbox: boolean): void {
  const problem = endpointProblem(owner, url, sandbox)
  if (problem === 'scheme' && sandbox) throw refuseField('url', 'webhook_scheme_sandbox')
  if (problem !== undefined) throw refuseField('url', `webhook_${problem}`)
  if (isClosedAddress(url, sandbox)) throw refuseField('url', 'webhook_address')
}

const show = ({ vault }: WebhookDeps, of: Webhook): ShownWebhook => ({
  ...of,
  publicKey: publicKeyOf(openSecrets(vault, of.id, of.sealedSecrets)),
})

/** Prepares a new endpoint; the returned function writes it in the caller's transaction. */
export async function prepare(deps: WebhookDeps, customer: CustomerId, { url, events }: Choice) {
  assertUrl(customer, url, await isSandbox(deps))
  assertTypes(customer, events)
  return async (tx: Tx): Promise<SecretWebhook> => {
    if ((await store.listWebhooks(tx, customer)).length >= maxWebhooks) {
      throw new Refusal('webhook_limit', { max: maxWebhooks }, { charged: false })
    }
    const nowMs = deps.clock()
    const id = makeId('webhook', nowMs, deps.random)
    const secrets = makeSecrets(deps.random)
    const webhook: Webhook = {
      id,
      customer,
      url,
      events: [...new Set(events)],
      sealedSecrets: sealSecrets(deps.vault, id, secrets),
      oldSecrets: null,
      oldUntil: null,
      state: 'enabled',
      problem: null,
      createdAt: nowMs,
    }
    // Only events after this one are delivered.
    store.insertWebhook(tx, webhook, await deps.events.lastOf(tx, customer))
    return { webhook: show(deps, webhook), secret: shownSecret(secrets) }
  }
}

/** Adds an endpoint in a transaction of its own. */
export const add = async (deps: WebhookDeps, owner: CustomerId, choice: Choice): Promise<SecretWebhook> =>
  deps.db.transact(await prepare(deps, owner, choice))

export const list = async (deps: WebhookDeps, customer: CustomerId): Promise<ShownWebhook[]> =>
  (await store.listWebhooks(deps.db, customer)).map((each) => show(deps, each))

async function lock(tx: Tx, customer: CustomerId, id: WebhookId): Promise<Webhook> {
  const webhook = await store.lockWebhook(tx, customer, id)
  if (!webhook) throw noSuchWebhook()
  return webhook
}

/** Changes address, types or state. Enabled again, an endpoint gets what it missed, beginning with the oldest event. */
export async function update(
  deps: WebhookDeps,
  customer: CustomerId,
  id: WebhookId,
  change: {
    readonly url?: string | undefined
    readonly events?: readonly string[] | undefined
    enabled?: boolean | undefined
  },
): Promise<ShownWebhook> {
  if (change.url !== undefined) assertUrl(customer, change.url, await isSandbox(deps))
  if (change.events !== undefined) assertTypes(customer, change.events)
  return deps.db.transact(async (tx) => {
    const before = await lock(tx, customer, id)
    const enabled = change.enabled ?? before.state === 'enabled'
    const after: Webhook = {
      ...before,
      url: change.url ?? before.url,
      events: change.events ? [...new Set(change.events)] : before.events,
      state: enabled ? 'enabled' : 'disabled',
      problem: enabled ? null : before.problem,
    }
    store.updateWebhook(tx, after)
    store.breakLease(tx, id)
    if (enabled && (before.state === 'disabled' || after.url !== before.url)) store.tryNow(tx, id)
    return show(deps, after)
  })
}

export const remove = ({ db }: WebhookDeps, customer: CustomerId, id: WebhookId): Promise<void> =>
  db.transact(async (tx) => {
    await lock(tx, customer, id)
    store.deleteWebhook(tx, id)
  })

/** Makes new secrets. Those before sign too for 24 hours, so that a receiver can change over. */
export const rotate = (deps: WebhookDeps, customer: CustomerId, id: WebhookId): Promise<SecretWebhook> =>
  deps.db.transact(async (tx) => {
    const before = await lock(tx, customer, id)
    const secrets = makeSecrets(deps.random)
    const after: Webhook = {
      ...before,
      sealedSecrets: sealSecrets(deps.vault, id, secrets),
      oldSecrets: before.sealedSecrets,
      oldUntil: deps.clock() + rotationMs,
    }
    store.updateWebhook(tx, after)
    store.breakLease(tx, id)
    return { webhook: show(deps, after), secret: shownSecret(secrets) }
  })

async function assertRoom(tx: Tx, { id, state }: Webhook): Promise<void> {
  if (state === 'disabled') throw new Refusal('webhook_disabled')
  if ((await store.countWaiting(tx, id)) >= maxWaiting) throw new Refusal('webhook_waiting_limit', { max: maxWaiting })
}

/** Sends a test event, once. */
export const sendTest = (deps: WebhookDeps, customer: CustomerId, id: WebhookId): Promise<DeliveryId> =>
  deps.db.transact(async (tx) => {
    await assertRoom(tx, await lock(tx, customer, id))
    const nowMs = deps.clock()
    const delivery: WebhookDelivery = {
      id: makeId('delivery', nowMs, deps.random),
      webhook: id,
      customer,
      seq: 0,
      type: testType,
      status: 'waiting',
      tries: 0,
      createdAt: nowMs,
      triedAt: null,
      answerStatus: null,
      problem: null,
      tookMs: null,
    }
    store.insertTest(tx, delivery)
    store.setAsked(tx, id, true)
    return delivery.id
  })

/** Sends a delivery again, once; one that is being retried is tried now. */
export const redeliver = (deps: WebhookDeps, customer: CustomerId, id: DeliveryId): Promise<WebhookDelivery> =>
  deps.db.transact(async (tx) => {
    const delivery = await store.findDelivery(tx, customer, id)
    if (!delivery) throw noSuchDelivery()
    const webhook = await lock(tx, customer, delivery.webhook)
    if (delivery.status === 'retrying') {
      if (webhook.state === 'disabled') throw new Refusal('webhook_disabled')
      store.tryNow(tx, webhook.id)
      return delivery
    }
    if (delivery.status === 'waiting') return delivery
    await assertRoom(tx, webhook)
    store.setWaiting(tx, id)
    store.setAsked(tx, webhook.id, true)
    return { ...delivery, status: 'waiting' }
  })

export const deliveries = (
  { db }: WebhookDeps,
  customer: CustomerId,
  filter: store.DeliveryFilter,
): Promise<WebhookDelivery[]> => store.listDeliveries(db, customer, filter)
