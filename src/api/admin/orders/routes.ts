import { type CustomerId, readId } from '../../../core/ids.ts'
import { type Kopecks, readRoubles } from '../../../core/money.ts'
import { refuseField } from '../../../core/refusal.ts'
import { readIso } from '../../../core/time.ts'
import { orRefuseField } from '../../answers.ts'
import { positionOf, soughtFor, toCursor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, namesOf } from '../bind.ts'
import { listAllOrders, toListedOrder } from './shapes.ts'

/** Price in kopecks and id of the last row: what both sorts continue after. */
function readPosition(written: string) {
  const [, price, text = ''] = /^(\d{1,16}) (.+)$/.exec(written) ?? []
  const id = readId('order', text)
  return price === undefined || id === undefined ? undefined : { price: BigInt(price) as Kopecks, id }
}

const readCustomer = (text: string): CustomerId =>
  orRefuseField(readId('customer', text), 'customer_id', 'id', { prefix: 'cus' })

export function adminOrderOperations(bind: BindAdmin, deps: AdminDeps) {
  return [
    bind(listAllOrders, async ({ query }) => {
      const { from, to, min_rub: min, max_rub: max } = query
      const [fromAt, toAt] = [from, to].map((day) => (day === undefined ? undefined : readIso(day)))
      if (fromAt !== undefined && toAt !== undefined && toAt <= fromAt)
        throw refuseField('to', 'later_than', { other: 'from' })
      const found = await deps.orders.listAll({
        customer: query.customer_id === undefined ? undefined : readCustomer(query.customer_id),
        product: query.product,
        state: query.state,
        fromAt,
        toAt,
        minPrice: min === undefined ? undefined : readRoubles(min),
        maxPrice: max === undefined ? undefined : readRoubles(max),
        sort: query.sort,
        after: positionOf(query.cursor, readPosition),
        limit: soughtFor(query.limit),
      })
      const shown = found.slice(0, query.limit)
      const last = found.length > query.limit ? shown.at(-1)?.order : undefined
      const nameIn = await namesOf(
        deps,
        shown.map(({ order }) => order.customer),
      )
      return {
        items: shown.map((each) => toListedOrder(each, nameIn(each.order.customer))),
        next_cursor: last === undefined ? null : toCursor(`${last.price} ${last.id}`),
      }
    }),
  ]
}
