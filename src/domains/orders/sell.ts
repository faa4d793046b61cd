import { type CustomerId, makeId, type OrderId, type RandomBytes, type TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { firstApiVersion } from '../customers/rules.ts'
import type { Events } from '../events/index.ts'
import type { DomainEvent } from '../events/rules.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import { type Account, assertCovers } from '../ledger/rules.ts'
import { attachMetadata } from '../metadata/index.ts'
import { assertCopiesFit, type Metadata, type MetadataKind, noMetadata } from '../metadata/rules.ts'
import { keyReused, requestInProgress } from './errors.ts'
import {
  answerContext,
  assertPriceWithin,
  balanceLow,
  created,
  keyForms,
  keyKeptMs,
  type OrderInput,
  openAnswer,
  type Plain,
  toCanonical,
} from './rules.ts'
import * as store from './store.ts'

export type OrdersDeps = {
  readonly db: Database
  readonly ledger: Ledger
  readonly customers: Pick<Customers, 'findObjection'>
  /** Why a product cannot be delivered to any customer now, if so. */
  readonly findObstacle: (what: OrderInput) => Promise<Refusal | undefined>
  readonly events: Pick<Events, 'note'>
  /** Refuses a sale in a database that went back in time. */
  readonly timeline: { guard(tx: Tx): Promise<void> }
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
  readonly vault: Vault
  /** The version of the API that answers are written in. */
  readonly apiVersion?: string | undefined
  /** Keys whose first request runs in this process. Requests in other processes wait for the account's lock. */
  readonly running: Set<string>
}

/** Who pays, and under which idempotency key. Without a key every request is a new purchase. */
export type PurchaseRequest<Bought> = {
  readonly by: Payer
  readonly key: string | undefined
  /** The HTTP request, for operators; a job or a command has none. */
  readonly requestId?: string | undefined
  /** Renders the API's answer, inside the transaction: it is stored under the key with the purchase. */
  readonly toBody?: (bought: Bought) => string
  /**
   * Refuses a replay to this caller. It gets the token that made the first answer; null means a session, or for an
   * unknown token. `order` is what it bought.
   */
  readonly assertReplayable?: (madeBy: TokenId | null, order: OrderId | null) => void
  /**
   * The highest price that the buyer accepts, who may have seen an older price. It is no part of the input: a repeat
   * under the key replays the first answer, whatever limit it names.
   */
  readonly maxPrice?: Kopecks | undefined
  /** The customer's own pairs for the order and what it delivers; part of the input under the key. */
  readonly metadata?: Metadata | undefined
  /** The version of the price list to sell by, if a price was promised; else the current one. */
  readonly catalogue?: number
  /** Made by a job and not by a caller: the token that set it up may have been revoked since. */
  readonly automatic?: true
  /** An automatic purchase is refused all the same if the token was revoked. */
  readonly endsWithToken?: true
}

/** The rendered answer, the order, and whether an earlier purchase under the key made them. */
export type PurchaseAnswer = {
  readonly body: string
  readonly replayed: boolean
  readonly order: OrderId | null
  /** The version of the API that a replayed answer was written in. */
  readonly version?: string
}

/** The order, the number of its charge in the customer's account (null if it was free), and the balance after it. */
export type Receipt = { readonly order: OrderId; readonly transaction: number | null; readonly balance: Kopecks }

/** A sale inside its transaction. The customer's account is locked; key and access are checked. */
export type Sale = {
  readonly tx: Tx
  readonly order: OrderId
  readonly account: Account
  readonly nowMs: number
  /** The customer's own pairs for the order and what it delivers. */
  readonly metadata: Metadata
  /** Writes these pairs on new things, and refuses too many bytes. `charge` writes them on the order. */
  attachMetadata(kind: MetadataKind, subjects: readonly (string | number)[]): void
  /** Refuses a price above the buyer's limit or the balance, before goods are taken. `charge` refuses them too. */
  assertPayable(price: Kopecks): void
  /** Charges and writes the order; exactly once per sale, also for a price of zero. Not if `isUnordered`. */
  charge(what: { readonly price: Kopecks; readonly calculation: Plain; readonly note: string }): Promise<Receipt>
}

/**
 * Sells in one transaction: lock the account, look the key up, check access, run `make`, store the answer. A used key
 * replays the first answer before anything can refuse, so `make` holds every check that may refuse.
 */
export async function sell<Bought>(
  deps: OrdersDeps,
  request: PurchaseRequest<Bought>,
  what: OrderInput,
  make: (sale: Sale) => Promise<Bought>,
): Promise<PurchaseAnswer> {
  // Before the transaction, which must not wait for another connection.
  const obstacle = await deps.findObstacle(what)
  if (request.key === undefined) return sellOnce(deps, request, what, make, obstacle)
  const { running } = deps
  const name = `${request.by.customer} ${request.key}`
  if (running.has(name)) throw requestInProgress()
  running.add(name)
  try {
    return await sellOnce(deps, request, what, make, obstacle)
  } finally {
    running.delete(name)
  }
}

const sellOnce = <Bought>(
  deps: OrdersDeps,
  request: PurchaseRequest<Bought>,
  what: OrderInput,
  make: (sale: Sale) => Promise<Bought>,
  obstacle: Refusal | undefined,
): Promise<PurchaseAnswer> =>
  deps.db.transact(async (tx) => {
    const { by, key, toBody, assertReplayable, automatic, endsWithToken } = request
    const { account, stored } = await lockAndFind(deps, tx, by.customer, key)
    // An automatic purchase replays even if its token was revoked; an interactive caller is refused.
    if (!stored || !automatic) {
      const payer = automatic && !endsWithToken ? { ...by, token: null } : by
      const objection = await deps.customers.findObjection(tx, payer, account.revocationEpoch)
      if (objection) throw objection
    }
    if (stored) {
      const replayed = replay(deps, { ...stored, customer: by.customer }, what, request.metadata)
      assertReplayable?.(stored.token_id, replayed.order)
      return replayed
    }
    if (obstacle) throw obstacle
    const sale = openSale(deps, tx, account, request, what)
    const bought = await make(sale)
    const price = sale.priceCharged()
    if ((price === undefined) !== (what.isUnordered === true)) throw new Error('a sale and its charge do not match')
    const body = toBody?.(bought) ?? ''
    const order = what.isUnordered ? null : sale.order
    // Last, because the customer's next number stays locked until the commit.
    await deps.events.note(tx, sale.events())
    const kept = key === undefined ? undefined : storedKey(deps, key, price)
    if (kept !== undefined) storeAnswer(deps, { ...sale, order, token: by.token?.id ?? null }, kept, what, body)
    return { body, replayed: false, order }
  })

/**
 * Locks the account, then reads the answer under the key: a purchase that held the lock has committed its answer. The
 * check that the database has not gone back is sent along, so that it costs no round trip.
 */
async function lockAndFind(deps: OrdersDeps, tx: Tx, customer: CustomerId, key: string | undefined) {
  const sinceAt = deps.clock() - keyKeptMs
  const [account, stored] = await Promise.all([
    deps.ledger.lock(tx, customer),
    key === undefined ? undefined : store.findAnswer(tx, customer, keyForms(deps.sha256, key), sinceAt),
    deps.timeline.guard(tx),
  ])
  return { account, stored }
}

/** The first answer under a key. A key that was used for another input is refused. */
function replay(
  { vault, sha256 }: OrdersDeps,
  stored: store.StoredAnswer & { readonly customer: CustomerId; readonly key: string },
  what: OrderInput,
  metadata: Metadata | undefined,
): PurchaseAnswer {
  const { order_id: order } = stored
  if (!sameBytes(stored.request, digestOf(sha256, what, metadata))) throw keyReused(order)
  const version = stored.api_version ?? firstApiVersion
  return {
    body: openAnswer(vault, { ...stored, order, at: Number(stored.created_at) }),
    replayed: true,
    order,
    version,
  }
}

const storedKey = ({ sha256 }: OrdersDeps, key: string, price: Kopecks | undefined): string =>
  keyForms(sha256, key)[price ? 0 : 1]

/** Without pairs it is the digest of versions before 0.4. */
function digestOf(
  sha256: OrdersDeps['sha256'],
  { product, action, input }: OrderInput,
  metadata: Metadata = noMetadata,
): Uint8Array {
  const pairs = Object.keys(metadata).length > 0 ? { metadata } : {}
  return sha256(toCanonical({ product, action, input, ...pairs }))
}

/** Stores the answer under its key, sealed: it may hold a password or a private key. */
function storeAnswer(
  deps: OrdersDeps,
  {
    tx,
    account: { customer },
    metadata,
    order,
    token,
  }: Pick<Sale, 'tx' | 'account' | 'metadata'> & { readonly order: OrderId | null; readonly token: TokenId | null },
  key: string,
  what: OrderInput,
  body: string,
): void {
  const nowMs = deps.clock()
  const answer = { customer, key, order, request: digestOf(deps.sha256, what, metadata), at: nowMs }
  const sealed = deps.vault.seal(body, answerContext(answer)).toBase64()
  store.insertAnswer(tx, { ...answer, token, version: deps.apiVersion ?? null }, sealed, nowMs - keyKeptMs)
}

function openSale(
  deps: OrdersDeps,
  tx: Tx,
  account: Account,
  { by, key, requestId, maxPrice, metadata = noMetadata }: Omit<PurchaseRequest<never>, 'toBody'>,
  what: OrderInput,
): Sale & { readonly priceCharged: () => Kopecks | undefined; readonly events: () => readonly DomainEvent[] } {
  const nowMs = deps.clock()
  const order = makeId('order', nowMs, deps.random)
  let charged: Kopecks | undefined
  let events: readonly DomainEvent[] = []
  return {
    tx,
    order,
    account,
    nowMs,
    metadata,
    attachMetadata(kind, subjects) {
      assertCopiesFit(metadata, 1 + subjects.length)
      attachMetadata(tx, by.customer, kind, subjects, metadata)
    },
    priceCharged: () => charged,
    events: () => events,
    assertPayable(price) {
      assertPriceWithin(maxPrice, price)
      assertCovers(account, price)
    },
    async charge({ price, calculation, note }) {
      if (charged !== undefined) throw new Error('a sale is charged once')
      charged = price
      assertPriceWithin(maxPrice, price)
      const posting = await deps.ledger.charge(tx, account, by, { price, product: what.product, order, note })
      const [chargeSeq, token] = [posting?.seq ?? null, by.token?.id ?? null]
      const made = {
        id: order,
        customer: by.customer,
        createdAt: nowMs,
        requestId: requestId ?? null,
        key: key === undefined ? null : storedKey(deps, key, price),
      }
      const { product, action, input } = what
      const written = { ...made, product, action, input, price, chargeSeq, token, calculation }
      store.insertOrder(tx, written)
      attachMetadata(tx, by.customer, 'order', [order], metadata)
      const balance = posting?.balanceAfter ?? account.balance
      events = [created(written, balance, metadata), ...(posting ? balanceLow(account, posting) : [])]
      return { order, transaction: chargeSeq, balance }
    },
  }
}

/** Deletes expired answers. Returns how many; call again while it is as many as the limit. */
export const forgetAnswers = ({ db, clock }: OrdersDeps, limit: number): Promise<number> =>
  db.transact((tx) => store.deleteAnswers(tx, clock() - keyKeptMs, limit))
