import { readRoubles, toRoubles } from '../../../core/money.ts'
import { type OrderWithState, orderSorts, orderStates } from '../../../domains/orders/rules.ts'
import { checked, choice, given, list, named, roubles } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'
import { anyOrder, toAnyOrder } from '../customers/shapes.ts'
import { customerName, day, exampleCustomer } from '../fields.ts'

const reader = operationsOf({ tag: 'Money and orders', role: 'reader' })

const price = (description: string) =>
  checked(description, (text) => (readRoubles(text) ?? 0n) > 0n, ['roubles'], '100.50')

const listedOrder = named('ListedOrder', {
  ...anyOrder.shape,
  customer_name: customerName,
  state: choice('What became of the price; `free`: it was 0.', orderStates),
  refunded_rub: roubles('Refunded part of the price.', 0),
})

export const toListedOrder = (
  { order, refunded, state }: OrderWithState,
  name: string,
): z.input<typeof listedOrder> => ({
  ...toAnyOrder(order),
  customer_name: name,
  state,
  refunded_rub: toRoubles(refunded),
})

export const listAllOrders = reader('listAllOrders', 'GET /orders', {
  summary: 'List orders of all customers, newest first unless sorted',
  query: z.object({
    ...pageQuery,
    customer_id: given('Only orders of this customer.', 64, exampleCustomer).optional(),
    product: choice('Only orders of this product.', ['dedicated', 'premium', 'vpn']).optional(),
    state: choice('Only orders in this state.', orderStates).optional(),
    from: day('Only orders from this day on, UTC.').optional(),
    to: day('Only orders before this day, UTC.').optional(),
    min_rub: price('Only orders of at least this price, in roubles.').optional(),
    max_rub: price('Only orders of at most this price, in roubles.').optional(),
    sort: choice('Order of the list: by time or by price.', orderSorts)
      .default('newest')
      .openapi({ default: 'newest' }),
  }),
  answer: page({ items: list('One page of orders.', listedOrder) }),
})
