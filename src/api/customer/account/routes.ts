import { readId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Ledger } from '../../../domains/ledger/index.ts'
import type { Orders } from '../../../domains/orders/index.ts'
import type { Exporting } from '../../../domains/privacy/index.ts'
import { type Bound, bind } from '../../bind.ts'
import { positionOf, readNumber, soughtFor, toExport } from '../../fields.ts'
import {
  exportAccount,
  getBalance,
  getOrder,
  listOrders,
  listTransactions,
  toBalance,
  toOrder,
  toOrders,
  toTransactions,
} from './shapes.ts'

export function accountOperations(deps: { ledger: Ledger; exporting: Exporting }): readonly Bound[] {
  return [
    bind(getBalance, async ({ caller }) => toBalance(await deps.ledger.balance(caller.customer))),

    bind(listTransactions, async ({ caller, query }) => {
      const before = positionOf(query.cursor, readNumber)
      return toTransactions(await deps.ledger.history(caller.customer, before, soughtFor(query.limit)), query.limit)
    }),

    bind(exportAccount, async ({ caller, query }) => {
      const cursor = positionOf(query.cursor, (text) => text)
      return toExport(await deps.exporting.page(caller.customer, 'customer', cursor, query.limit))
    }),
  ]
}

export function orderOperations(deps: { orders: Orders }): readonly Bound[] {
  return [
    bind(listOrders, async ({ caller, query }) => {
      const before = positionOf(query.cursor, (text) => readId('order', text))
      return toOrders(await deps.orders.list(caller.customer, before, soughtFor(query.limit)), query.limit)
    }),

    bind(getOrder, async ({ caller, params }) => {
      const id = readId('order', params.order_id)
      if (!id) throw new Refusal('order_not_found')
      return toOrder(await deps.orders.load(caller.customer, id))
    }),
  ]
}
