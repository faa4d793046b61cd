import type { Orders } from '../domains/orders/index.ts'
import type { Order } from '../domains/orders/rules.ts'
import { toRoubles, toRoubleText } from '../kernel/money.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, table } from './command.ts'
import { customerWord, type Opened, orderWord, readCustomer, readOrder, readWhole } from './typed.ts'

export function orderCommands(open: Opened<{ orders: Orders }>): readonly Command[] {
  return [
    {
      name: 'order list',
      operation: 'listCustomerOrders',
      summary: "Lists a customer's orders, newest first.",
      takes: [customerWord],
      options: [
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' },
        { flag: 'before', value: 'ORDER', meaning: 'begin below this one' },
      ],
      run: (given) =>
        open(given, async ({ orders }) => {
          const limit = readWhole(given, 'limit', 100, { min: 1, max: 500 })
          const before = given.flags['before'] === undefined ? undefined : readOrder(given.flags['before'])
          const found = await orders.list(readCustomer(given.words[0]), before, limit)
          return {
            json: found.map(toJson),
            lines: table(
              ['ORDER', 'AT', 'PRODUCT', 'ACTION', 'PRICE'],
              found.map((order) => [
                order.id,
                toIso(order.createdAt),
                order.product,
                order.action,
                toRoubleText(order.price),
              ]),
            ),
          }
        }),
    },
    {
      name: 'order show',
      operation: 'getOrderStory',
      summary: 'Shows one order of any customer: what was asked for and how its price came about.',
      takes: [orderWord],
      options: [],
      run: (given) =>
        open(given, async ({ orders }) => {
          const order = toJson(await orders.loadAny(readOrder(given.words[0])))
          return { json: order, lines: [Bun.YAML.stringify(order, null, 2)] }
        }),
    },
  ]
}

const toJson = (order: Order) => ({
  order_id: order.id,
  customer: order.customer,
  product: order.product,
  action: order.action,
  price_rub: toRoubles(order.price),
  transaction: order.chargeSeq,
  token: order.token,
  request: order.wish,
  calculation: order.calculation,
  created_at: toIso(order.createdAt),
})
