import type { Orders } from '../domains/orders/index.ts'
import type { Order } from '../domains/orders/rules.ts'
import { readId } from '../kernel/ids.ts'
import { toRoubles, toRoubleText } from '../kernel/money.ts'
import { toIso } from '../kernel/time.ts'
import { type Command, mistyped, table } from './command.ts'
import { type Opened, readCustomer } from './customers.ts'

export function orderCommands(open: Opened<{ orders: Orders }>): readonly Command[] {
  return [
    {
      name: 'order list',
      summary: "Lists a customer's orders, newest first.",
      takes: [{ name: 'CUSTOMER', meaning: "the customer's id, cus_…" }],
      options: [
        { flag: 'limit', value: 'N', meaning: 'how many, 1 to 500; 100 unless said' },
        { flag: 'before', value: 'ORDER', meaning: 'begin below this one' },
      ],
      run: (given) =>
        open(given, async ({ orders }) => {
          const limit = readLimit(given.flags['limit'] ?? '100')
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
      summary: 'Shows one order of any customer: what was asked for and how its price came about.',
      takes: [{ name: 'ORDER', meaning: "the order's id, ord_…" }],
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

export function readOrder(text = '') {
  const id = readId('order', text)
  if (!id) throw mistyped('ORDER is an id like ord_…, as "order list" shows it.')
  return id
}

function readLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 500) throw mistyped('--limit is a whole number from 1 to 500.')
  return limit
}
