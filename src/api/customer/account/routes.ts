import type { Ledger } from '../../../domains/ledger/index.ts'
import type { Orders } from '../../../domains/orders/index.ts'
import { type OrderId, readId } from '../../../kernel/ids.ts'
import { malformed, Refusal } from '../../../kernel/refusal.ts'
import { defaultLimit, readCursor } from '../../fields.ts'
import { type Bound, bind } from '../../http.ts'
import {
  getBalance,
  getOrder,
  listOrders,
  listTransactions,
  toBalance,
  toOrder,
  toOrders,
  toTransactions,
} from './shapes.ts'

export function accountOperations(deps: { ledger: Ledger; orders: Orders }): readonly Bound[] {
  return [
    bind(getBalance, async ({ caller }) => toBalance(await deps.ledger.balance(caller.customer))),

    bind(listTransactions, async ({ caller, query }) => {
      const limit = query.limit ?? defaultLimit
      return toTransactions(await deps.ledger.history(caller.customer, beforeSeq(query.cursor), limit), limit)
    }),

    bind(listOrders, async ({ caller, query }) => {
      const limit = query.limit ?? defaultLimit
      return toOrders(await deps.orders.list(caller.customer, beforeOrder(query.cursor), limit), limit)
    }),

    bind(getOrder, async ({ caller, params }) => {
      const id = readId('order', params.order_id)
      if (!id) throw new Refusal('missing', 'not_found', 'There is no such order.')
      return toOrder(await deps.orders.load(caller.customer, id))
    }),
  ]
}

const badCursor = () =>
  malformed([{ field: 'cursor', problem: 'must be a next_cursor that this list has answered with' }])

function beforeSeq(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  const text = readCursor(cursor)
  if (!/^[1-9]\d{0,14}$/.test(text)) throw badCursor()
  return Number(text)
}

function beforeOrder(cursor: string | undefined): OrderId | undefined {
  if (cursor === undefined) return undefined
  const id = readId('order', readCursor(cursor))
  if (!id) throw badCursor()
  return id
}
