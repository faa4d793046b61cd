import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { OrderId } from '../../src/kernel/ids.ts'
import { engines } from '../harness/database.ts'
import { openPremiumShop, pool } from '../harness/premium.ts'
import { scaled } from '../harness/scale.ts'

const worker = join(import.meta.dir, 'premium-worker.ts')

describe.each([...engines])('a shop that is killed outright on %s', (engine) => {
  test('loses no byte that it had answered for, and its books are in order', async () => {
    const shop = await openPremiumShop(engine)
    try {
      const customer = await shop.newCustomer()
      const { premium, db, orders } = shop.services
      const from = await premium.subusers.load(customer, undefined)
      const to = await premium.subusers.create(customer, { name: 'to' })
      let answered = 0
      for (let run = 0; run < scaled(20); run += 1) {
        const child = Bun.spawn(
          [process.execPath, worker, shop.address, customer, from.id, to.id, `run-${String(run).padStart(3, '0')}`],
          { stdout: 'pipe', stderr: 'pipe' },
        )
        const told = await readUntilKilled(child, 8 + run * 3)
        for (const id of told) {
          expect(await orders.find(db, id as OrderId)).toMatchObject({ product: 'premium' })
        }
        answered += told.length
        expect(await shop.findings()).toEqual([])
      }
      expect(answered).toBeGreaterThan(0)
      expect((await premium.traffic.balance(customer, to.id, pool)).pools[0]?.used ?? 0n).toBeGreaterThan(0n)
    } finally {
      await shop.close()
    }
  })
})

/** Lets the child answer for a number of purchases, then kills it in the middle of whatever it does. */
async function readUntilKilled(child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>, count: number): Promise<string[]> {
  const reader = child.stdout.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the worker ended by itself: ${await child.stderr.text()}`)
    text += decoder.decode(value, { stream: true })
    if (text.split('\n').length > count) break
  }
  child.kill('SIGKILL')
  await child.exited
  // Only whole lines: the last may have been cut.
  return text.split('\n').slice(0, -1)
}
