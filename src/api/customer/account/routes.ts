import { type CustomerId, readId } from '../../../core/ids.ts'
import { toRoubles } from '../../../core/money.ts'
import type { Ledger } from '../../../domains/ledger/index.ts'
import type { CustomersMetadata } from '../../../domains/metadata/index.ts'
import type { Deliveries, Orders } from '../../../domains/orders/index.ts'
import type { Order } from '../../../domains/orders/rules.ts'
import type { Exporting } from '../../../domains/privacy/index.ts'
import type { RequestLog } from '../../../domains/requests/index.ts'
import { orRefuse } from '../../answers.ts'
import { type Bound, bind } from '../../bind.ts'
import { pageOf, positionOf, readInSlices, readNumber, soughtFor, toExport } from '../../pages.ts'
import * as shapes from './shapes.ts'

export function accountOperations(deps: {
  ledger: Ledger
  exporting: Exporting
  requests: RequestLog
}): readonly Bound[] {
  return [
    bind(shapes.getBalance, async ({ caller }) => {
      const { balance, apiSpent } = await deps.ledger.balance(caller.customer)
      return { balance_rub: toRoubles(balance), api_spent_rub: toRoubles(apiSpent) }
    }),

    bind(shapes.getBalanceAlert, async ({ caller }) => {
      const { alertBelow } = await deps.ledger.balance(caller.customer)
      return { alert_below_rub: alertBelow === null ? null : toRoubles(alertBelow) }
    }),

    bind(shapes.setBalanceAlert, async ({ caller, body }) => {
      await deps.ledger.setAlert(caller.customer, body.alert_below_rub)
      return { alert_below_rub: body.alert_below_rub === null ? null : toRoubles(body.alert_below_rub) }
    }),

    bind(shapes.listTransactions, async ({ caller, query }) => {
      const before = positionOf(query.cursor, readNumber)
      const found = await deps.ledger.history(caller.customer, before, soughtFor(query.limit))
      const { items, next_cursor } = pageOf(found, query.limit, 'seq', shapes.toTransaction)
      return { transactions: items, next_cursor }
    }),

    bind(shapes.listRequests, async ({ caller, query }) => {
      const before = positionOf(query.cursor, shapes.readRequestPosition)
      const found = await deps.requests.list(caller.customer, before, soughtFor(query.limit))
      const rows = found.map((of) => ({ of, position: `${of.at} ${of.id}` }))
      const { items, next_cursor } = pageOf(rows, query.limit, 'position', ({ of }) => shapes.toLoggedRequest(of))
      return { requests: items, next_cursor }
    }),

    bind(shapes.exportAccount, async ({ caller, query }) => {
      const cursor = positionOf(query.cursor, (text) => text)
      return toExport(await deps.exporting.page(caller.customer, 'customer', cursor, query.limit))
    }),
  ]
}

export function orderOperations(deps: {
  orders: Orders
  deliveredOf: Deliveries
  metadata: CustomersMetadata
}): readonly Bound[] {
  async function toShown(customer: CustomerId, orders: readonly Order[]) {
    const ids = orders.map((order) => order.id)
    const pairs = await deps.metadata.of(customer, 'order', ids)
    return orders.map((order) => shapes.toOrder(order, pairs.get(order.id)))
  }
  return [
    bind(shapes.listOrders, async ({ caller, query, nextSlice }) => {
      if (query.idempotency_key !== undefined) {
        const id = await deps.orders.findByKey(caller.customer, query.idempotency_key)
        const found = id === undefined ? [] : [await deps.orders.load(caller.customer, id)]
        return { orders: await toShown(caller.customer, found), next_cursor: null }
      }
      const before = positionOf(query.cursor, (text) => readId('order', text))
      const isSought = Object.keys(query.metadata).length > 0
      const read = (last: Order | undefined, limit: number) =>
        isSought
          ? deps.orders.listWithMetadata(caller.customer, query.metadata, last?.id ?? before, limit)
          : deps.orders.list(caller.customer, last?.id ?? before, limit)
      const found = await readInSlices(soughtFor(query.limit), read, nextSlice)
      const { items, next_cursor } = pageOf(found, query.limit, 'id', (order) => order)
      return { orders: await toShown(caller.customer, items), next_cursor }
    }),

    bind(shapes.getOrder, async ({ caller, params }) => {
      const id = orRefuse(readId('order', params.order_id), 'order_not_found')
      const order = await deps.orders.load(caller.customer, id)
      const [shown = shapes.toOrder(order)] = await toShown(caller.customer, [order])
      return { ...shown, ...shapes.toDelivered(await deps.deliveredOf(order)) }
    }),
  ]
}
