import { expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { addCustomer, buy, wire } from '../../../test/harness/wired.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import type { Orders } from './index.ts'

/** All pages of a customer's orders. */
async function keysetPages(orders: Orders, customer: CustomerId, limit: number): Promise<OrderId[][]> {
  const pages: OrderId[][] = []
  for (let before: OrderId | undefined; ; ) {
    const page = (await orders.list(customer, before, limit)).map(({ id }) => id)
    if (page.length === 0) return pages
    if (pages.length > 50) throw new Error('the pages do not end')
    pages.push(page)
    before = page.at(-1)
  }
}

test.each([...engines])(
  'orders.list() pages through free and charged orders, each once and newest first, on %s',
  async (engine) => {
    const opened = await openTestDatabase(engine)
    try {
      const clock = new HandClock()
      const services = wire(opened.db, clock)
      const [anna, boris] = [await addCustomer(services, 10_000n), await addCustomer(services, 10_000n)]
      const bought: OrderId[] = []
      // Free orders come first, last, alone and in pairs.
      for (const price of [0n, 0n, 5n, 0n, 7n, 7n, 0n, 0n, 3n, 0n, 0n]) {
        clock.advance(1)
        const { body } = await buy(services, { customer: anna, token: null }, price)
        bought.unshift((JSON.parse(body) as { order: OrderId }).order)
        for (const other of [0n, 2n]) await buy(services, { customer: boris, token: null }, other)
      }
      for (const limit of [1, 2, 3, 4, 100]) {
        const pages = await keysetPages(services.orders, anna, limit)
        expect(pages.flat()).toEqual(bought)
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
      }
    } finally {
      await opened.close()
    }
  },
)
