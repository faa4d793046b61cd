import type { OrderId } from '../../core/ids.ts'
import type { Events } from '../events/index.ts'
import type { Event } from '../events/rules.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import type { Order } from './rules.ts'
import type { Orders } from './service.ts'
import type { Told } from './service-operator.ts'

/** How a product tells what one of its orders has bought, as it is now. */
type Delivery = { readonly product: string; readonly delivered: (order: Order) => Promise<readonly Told[]> }

/** All that there is to know of an order: what was asked, what it cost, what moved, what was delivered and told. */
type Story = {
  readonly order: Order
  readonly postings: readonly Posting[]
  readonly delivered: readonly Told[]
  readonly events: readonly Event[]
}

export type Stories = ReturnType<typeof createStories>

export const createStories =
  (deps: {
    readonly orders: Pick<Orders, 'loadAny'>
    readonly ledger: Pick<Ledger, 'ofOrder'>
    readonly events: Pick<Events, 'ofOrder'>
    readonly deliveries: readonly Delivery[]
  }) =>
  async (id: OrderId): Promise<Story> => {
    const order = await deps.orders.loadAny(id)
    const delivery = deps.deliveries.find((each) => each.product === order.product)
    const [postings, delivered, events] = await Promise.all([
      deps.ledger.ofOrder(order.customer, id),
      delivery?.delivered(order) ?? [],
      deps.events.ofOrder(order.customer, id),
    ])
    return { order, postings, delivered, events }
  }
