import { type CustomerId, firstId, makeId, type OrderId, type RandomBytes } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import type { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import type { Account, Posting } from '../ledger/rules.ts'
import { keyReused, noSuchOrder, requestInProgress } from './errors.ts'
import {
  type Asked,
  answerContext,
  keyKeptMs,
  type Order,
  openAnswer,
  type Plain,
  refunded,
  toCanonical,
} from './rules.ts'
import * as store from './store.ts'
import * as audits from './store-audit.ts'

const pageSize = 500

export type Orders = ReturnType<typeof createOrders>

/**
 * A purchase as it is asked for: who pays, under which key, and how its answer is written. The answer is written inside
 * the transaction, so that what is stored under the key is what was sent. Without a key every request is a new one.
 */
export type PurchaseRequest<Bought> = {
  readonly by: Payer
  readonly key: string | undefined
  readonly toBody: (bought: Bought) => string
  /** The price list that it is sold by, where that is not the one in force: a price that was promised. */
  readonly catalogue?: number
  /** Nobody asks for it now: its token has set it going once, and need not open anything any more. */
  readonly automatic?: true
}

/** What was answered, and whether it was answered before. */
export type Answer = { readonly body: string; readonly replayed: boolean }

/** What the customer holds once the money has moved: the order, the number of its transaction, and what is left. */
export type Receipt = { readonly order: OrderId; readonly transaction: number | null; readonly balance: Kopecks }

/** What a product charges for: its price, how that came about, and the words for the customer's statement. */
type Charge = { readonly price: Kopecks; readonly calculation: Plain; readonly note: string }

/** A sale while it is made, in its transaction. The customer's account is locked, and the key has had its say. */
export type Sale = {
  readonly tx: Tx
  readonly order: OrderId
  readonly account: Account
  readonly nowMs: number
  /** Moves the money and writes the order down; once in every sale. What costs nothing is an order all the same. */
  charge(what: Charge): Promise<Receipt>
}

export function createOrders(deps: {
  db: Database
  ledger: Ledger
  customers: Pick<Customers, 'findObjection'>
  /** Why a thing cannot be delivered to anybody now, if so. */
  findObstacle: (asked: Asked) => Promise<Refusal | undefined>
  events: Pick<Events, 'note'>
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Vault
}) {
  const { db, ledger, customers, clock } = deps
  /** The keys whose first request runs in this process now. Another process's is waited for by the account's lock. */
  const running = new Set<string>()

  /** The first answer to a key, if there is one. A key that was used for something else is refused. */
  function replay(stored: store.StoredAnswer, customer: CustomerId, key: string, what: Asked): Answer {
    if (!sameBytes(stored.request, digestOf(what))) throw keyReused(stored.order_id)
    const row = { ...stored, customer, key, order: stored.order_id, at: Number(stored.created_at) }
    return { body: openAnswer(deps.vault, row), replayed: true }
  }

  const digestOf = (what: Asked): Uint8Array => deps.sha256(toCanonical(what))

  /** Stores the answer under its key. It may hold a password or a private key, so it is kept sealed, as those are. */
  function remember(sale: Sale, key: string, what: Asked, body: string): void {
    const nowMs = clock()
    const answer = { customer: sale.account.customer, key, order: sale.order, request: digestOf(what), at: nowMs }
    store.insertAnswer(sale.tx, {
      ...answer,
      body: deps.vault.seal(body, answerContext(answer)).toBase64(),
      sinceAt: nowMs - keyKeptMs,
    })
  }

  function openSale(tx: Tx, account: Account, by: Payer, what: Asked): Sale & { readonly isCharged: () => boolean } {
    const nowMs = clock()
    const order = makeId('order', nowMs, deps.random)
    let charged = false
    return {
      tx,
      order,
      account,
      nowMs,
      isCharged: () => charged,
      async charge({ price, calculation, note }) {
        if (charged) throw new Error('a sale is charged once')
        charged = true
        const posting = await ledger.charge(tx, account, by, { price, product: what.product, order, note })
        const [chargeSeq, token] = [posting?.seq ?? null, by.token?.id ?? null]
        store.insertOrder(tx, {
          id: order,
          customer: by.customer,
          ...what,
          price,
          chargeSeq,
          token,
          calculation,
          createdAt: nowMs,
        })
        return { order, transaction: chargeSeq, balance: posting?.balanceAfter ?? account.balance }
      },
    }
  }

  async function giveBack(
    tx: Tx,
    of: { readonly customer: CustomerId; readonly chargeSeq: number },
    amount: Kopecks | 'all',
    note: string,
    how: 'once' | 'in parts' = 'once',
  ): Promise<Posting> {
    const posting = await ledger.refund(tx, of.customer, of.chargeSeq, amount, note, how)
    await deps.events.note(tx, [refunded(posting)])
    return posting
  }

  /**
   * The customer's turn, and what was answered to the key. The database takes them in this order: whoever held the lock
   * has committed, so its answer is there to see.
   */
  async function takeTurn(tx: Tx, customer: CustomerId, key: string | undefined) {
    const locked = ledger.lock(tx, customer)
    if (key === undefined) return { account: await locked, stored: undefined }
    const [account, stored] = await Promise.all([locked, store.findAnswer(tx, customer, key, clock() - keyKeptMs)])
    return { account, stored }
  }

  /** One purchase: priced, paid, delivered, recorded and answered in one commit, or nothing of it at all. */
  function sellOnce<Bought>(
    { by, key, toBody, automatic }: PurchaseRequest<Bought>,
    what: Asked,
    make: (sale: Sale) => Promise<Bought>,
    obstacle: Refusal | undefined,
  ): Promise<Answer> {
    return db.transact(async (tx) => {
      const { account, stored } = await takeTurn(tx, by.customer, key)
      const repeat = stored && key !== undefined ? () => replay(stored, by.customer, key, what) : undefined
      // What goes on by itself learns what became of it; whoever has been shut out is told nothing any more.
      if (repeat && automatic) return repeat()
      const objection = await customers.findObjection(
        tx,
        automatic ? { ...by, token: null } : by,
        account.revocationEpoch,
      )
      if (objection) throw objection
      if (repeat) return repeat()
      if (obstacle) throw obstacle
      const sale = openSale(tx, account, by, what)
      const bought = await make(sale)
      if (!sale.isCharged()) throw new Error('a sale ended without its charge')
      const body = toBody(bought)
      if (key !== undefined) remember(sale, key, what, body)
      return { body, replayed: false }
    })
  }

  return {
    /**
     * Sells once for each key. A repeated key is answered with the first answer before anything else is looked at, so
     * `make`, in which all stands that could refuse, is not even begun.
     */
    async sell<Bought>(
      request: PurchaseRequest<Bought>,
      what: Asked,
      make: (sale: Sale) => Promise<Bought>,
    ): Promise<Answer> {
      // Asked before the transaction, which must not wait for another connection.
      const obstacle = await deps.findObstacle(what)
      if (request.key === undefined) return sellOnce(request, what, make, obstacle)
      const name = `${request.by.customer} ${request.key}`
      if (running.has(name)) throw requestInProgress()
      running.add(name)
      try {
        return await sellOnce(request, what, make, obstacle)
      } finally {
        running.delete(name)
      }
    },

    /**
     * A page of orders, newest first; without `before`, from the newest. What is bought meanwhile comes above and moves
     * nothing. Those that were charged for come in the order of the charges, and those that cost nothing among them by
     * their ids.
     */
    async list(customer: CustomerId, before: OrderId | undefined, limit: number): Promise<Order[]> {
      const last = before && (await store.findOrder(db, customer, before))
      const below =
        before === undefined
          ? Number.MAX_SAFE_INTEGER
          : (last?.chargeSeq ?? (await ledger.placeAmongCharges(customer, before)))
      const [charged, free] = await Promise.all([
        ledger.chargedOrders(customer, below, limit),
        store.listFree(db, customer, before ?? store.pastLastId, limit),
      ])
      const found = new Map((await store.findMany(db, charged)).map((order) => [order.id, order]))
      return merge(
        charged.flatMap((id) => found.get(id) ?? []),
        free,
      ).slice(0, limit)
    },

    async load(customer: CustomerId, id: OrderId): Promise<Order> {
      const order = await store.findOrder(db, customer, id)
      if (!order) throw noSuchOrder()
      return order
    },

    /** The order that a key has made, for as long as keys are kept. */
    async findByKey(customer: CustomerId, key: string): Promise<OrderId | undefined> {
      const stored = await store.findAnswer(db, customer, key, clock() - keyKeptMs)
      return (stored?.order_id ?? undefined) as OrderId | undefined
    },

    /** Any customer's order, inside the caller's transaction or snapshot; for operators' actions and `verify`. */
    find: (reader: Reader, id: OrderId): Promise<Order | undefined> => store.findAnyOrder(reader, id),

    /** These orders, whosever they are, in no order; what does not exist is left out. */
    findMany: (reader: Reader, ids: readonly OrderId[]): Promise<Order[]> => store.findMany(reader, ids),

    /** The same for `verify`: one that is damaged is there all the same, and remembers nothing. */
    findAudited: (reader: Reader, ids: readonly OrderId[]): Promise<Order[]> => audits.findAudited(reader, ids),

    /** How many orders of a product there are, for `verify`. */
    countOf: (reader: Reader, product: string): Promise<number> => store.countOf(reader, product),

    /** What was sold on each day from a moment on, by product. */
    salesByDay: (from: number) => store.salesByDay(db, firstId('order', from)),

    /** An order of any customer, for the operator. */
    async loadAny(id: OrderId): Promise<Order> {
      const order = await store.findAnyOrder(db, id)
      if (!order) throw noSuchOrder()
      return order
    },

    /** Every order of a product, in the order of their ids, for `verify`. */
    async walk(reader: Reader, product: string, onOrder: (order: Order) => Promise<void> | void): Promise<void> {
      for (let after = ''; ; ) {
        const page = await audits.ordersAfter(reader, product, after, pageSize)
        for (const order of page) await onOrder(order)
        const last = page.at(-1)
        if (!last || page.length < pageSize) return
        after = last.id
      }
    },

    /**
     * What a customer was charged for, newest first, back to a moment, inside the caller's transaction. For rare
     * questions: it reads all of it.
     */
    async walkCharged(
      reader: Reader,
      customer: CustomerId,
      sinceAt: number,
      onOrder: (order: Order) => void,
    ): Promise<void> {
      for (let before = Number.MAX_SAFE_INTEGER; ; ) {
        const ids = await ledger.chargedOrders(customer, before, pageSize, reader)
        const found = new Map((await store.findMany(reader, ids)).map((order) => [order.id, order]))
        const page = ids.flatMap((id) => found.get(id) ?? [])
        for (const order of page) if (order.createdAt >= sinceAt) onOrder(order)
        const last = page.at(-1)
        if (ids.length < pageSize || !last || last.createdAt < sinceAt) return
        before = last.chargeSeq ?? 0
      }
    },

    /**
     * Gives back what an order cost, whole or in part, once. For the operator: it takes nothing away that was
     * delivered.
     */
    refund: (id: OrderId, amount: Kopecks | 'all', note: string): Promise<{ order: Order; posting: Posting }> =>
      db.transact(async (tx) => {
        const order = await store.findAnyOrder(tx, id)
        if (!order?.chargeSeq) throw noSuchOrder()
        return {
          order,
          posting: await giveBack(tx, { customer: order.customer, chargeSeq: order.chargeSeq }, amount, note),
        }
      }),

    /** The same in the caller's transaction, for a product that takes back what it has sold. The customer is told. */
    giveBack,

    /** Forgets answers past their time. Returns how many; call again while it is as many as asked for. */
    forgetAnswers: (most: number): Promise<number> =>
      db.transact((tx) => store.deleteAnswers(tx, clock() - keyKeptMs, most)),
  }
}

/** Two lists as one, the larger id of the two next. */
function merge(charged: readonly Order[], free: readonly Order[]): Order[] {
  const merged: Order[] = []
  let [at, freeAt] = [0, 0]
  for (;;) {
    const [next, nextFree] = [charged[at], free[freeAt]]
    if (!next && !nextFree) return merged
    if (next && (!nextFree || next.id > nextFree.id)) {
      merged.push(next)
      at += 1
    } else if (nextFree) {
      merged.push(nextFree)
      freeAt += 1
    }
  }
}
