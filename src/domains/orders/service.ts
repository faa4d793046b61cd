import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { type CustomerId, makeId, type OrderId, type RandomBytes } from '../../kernel/ids.ts'
import type { Kopecks } from '../../kernel/money.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Vault } from '../../kernel/vault.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import type { Account, Posting } from '../ledger/rules.ts'
import { keyReused, noSuchOrder, requestInProgress } from './errors.ts'
import { keyKeptMs, type Order, type Plain } from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

export type Orders = ReturnType<typeof createOrders>

/**
 * A request as it must be answered: `shape` writes the answer's body, inside the transaction, so that what is stored
 * under the key is what was sent. Without a key every request is a new one.
 */
export type Ticket<Result> = {
  readonly key: string | undefined
  readonly request: Uint8Array
  readonly shape: (result: Result) => string
}

/** What was answered, and whether it was answered before. */
export type Placed = { readonly body: string; readonly replayed: boolean }

/** What has been paid once the money has moved: the order, the number of its transaction, and what is left. */
export type Paid = { readonly order: OrderId; readonly transaction: number | null; readonly balance: Kopecks }

/** What a product's work hands back: its price, how that came about, and what the customer gets. */
export type Sale<Result> = {
  readonly price: Kopecks
  readonly calculation: Plain
  readonly note: string
  readonly deliver: (paid: Paid) => Result | Promise<Result>
}

export function createOrders(deps: { db: Database; ledger: Ledger; clock: Clock; random: RandomBytes; vault: Vault }) {
  const { db, ledger, clock } = deps
  /** The keys whose first request runs in this process now. Another process's is waited for by the account's lock. */
  const running = new Set<string>()

  async function replay(tx: Tx, customer: CustomerId, ticket: Ticket<never>): Promise<Placed | undefined> {
    if (ticket.key === undefined) return undefined
    const answer = await store.findAnswer(tx, customer, ticket.key, clock() - keyKeptMs)
    if (!answer) return undefined
    if (!sameRequest(answer.request, ticket.request)) throw keyReused()
    const sealed = Uint8Array.fromBase64(answer.body)
    return { body: deps.vault.open(sealed, answerContext(customer, ticket.key)), replayed: true }
  }

  /** One purchase: priced, paid, delivered, recorded and answered in one commit, or nothing of it at all. */
  function placeOnce<Result>(
    by: Payer,
    what: { product: string; action: string; wish: Plain },
    ticket: Ticket<Result>,
    work: (tx: Tx, order: OrderId, account: Account) => Promise<Sale<Result>>,
  ): Promise<Placed> {
    return db.transact(async (tx) => {
      // The lock comes before the key is looked up: whoever held it has committed, and its answer is there to see.
      const account = await ledger.lock(tx, by.customer)
      const earlier = await replay(tx, by.customer, ticket)
      if (earlier) return earlier
      const nowMs = clock()
      const order = makeId('order', nowMs, deps.random)
      const sale = await work(tx, order, account)
      const posting = await ledger.charge(tx, account, by, {
        price: sale.price,
        product: what.product,
        order,
        note: sale.note,
      })
      store.insertOrder(tx, {
        id: order,
        customer: by.customer,
        ...what,
        price: sale.price,
        chargeSeq: posting?.seq ?? null,
        token: by.token?.id ?? null,
        calculation: sale.calculation,
        createdAt: nowMs,
      })
      const body = ticket.shape(
        await sale.deliver({
          order,
          transaction: posting?.seq ?? null,
          balance: posting?.balanceAfter ?? account.balance,
        }),
      )
      if (ticket.key !== undefined) {
        store.insertAnswer(tx, {
          customer: by.customer,
          key: ticket.key,
          request: ticket.request,
          // An answer may hold a password or a private key, so it is kept sealed, as those are.
          body: deps.vault.seal(body, answerContext(by.customer, ticket.key)).toBase64(),
          at: nowMs,
          since: nowMs - keyKeptMs,
        })
      }
      return { body, replayed: false }
    })
  }

  return {
    async place<Result>(
      by: Payer,
      what: { product: string; action: string; wish: Plain },
      ticket: Ticket<Result>,
      work: (tx: Tx, order: OrderId, account: Account) => Promise<Sale<Result>>,
    ): Promise<Placed> {
      if (ticket.key === undefined) return placeOnce(by, what, ticket, work)
      const name = `${by.customer} ${ticket.key}`
      if (running.has(name)) throw requestInProgress()
      running.add(name)
      try {
        return await placeOnce(by, what, ticket, work)
      } finally {
        running.delete(name)
      }
    },

    /**
     * A page of orders, newest first; without `before`, from the newest. What is bought meanwhile comes above and moves nothing. Those that were charged
     * for come in the order of the charges, and those that cost nothing among them by their ids.
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

    /** Any customer's order, inside the caller's transaction or snapshot; for operators' actions and `verify`. */
    find: (reader: Reader, id: OrderId): Promise<Order | undefined> => store.findAnyOrder(reader, id),

    /** These orders, whosever they are, in no order; what does not exist is left out. */
    findMany: (reader: Reader, ids: readonly OrderId[]): Promise<Order[]> => store.findMany(reader, ids),

    /** How many orders of a product there are, for `verify`. */
    countOf: (reader: Reader, product: string): Promise<number> => store.countOf(reader, product),

    /** An order of any customer, for the operator. */
    async loadAny(id: OrderId): Promise<Order> {
      const order = await store.findAnyOrder(db, id)
      if (!order) throw noSuchOrder()
      return order
    },

    /** Every order of a product, in the order of their ids, for `verify`. */
    async walk(reader: Reader, product: string, onOrder: (order: Order) => Promise<void> | void): Promise<void> {
      for (let after = ''; ; ) {
        const page = await store.ordersAfter(reader, product, after, pageSize)
        for (const order of page) await onOrder(order)
        const last = page.at(-1)
        if (!last || page.length < pageSize) return
        after = last.id
      }
    },

    /** Gives back what an order cost, whole or in part, once. For the operator: it takes nothing away that was delivered. */
    refund: (id: OrderId, amount: Kopecks | 'all', note: string): Promise<{ order: Order; posting: Posting }> =>
      db.transact(async (tx) => {
        const order = await store.findAnyOrder(tx, id)
        if (!order?.chargeSeq) throw noSuchOrder()
        return { order, posting: await ledger.refund(tx, order.customer, order.chargeSeq, amount, note) }
      }),

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

const answerContext = (customer: CustomerId, key: string): string => `answer ${customer} ${key}`

const sameRequest = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])
