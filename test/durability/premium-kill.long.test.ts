import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { OrderId } from '../../src/core/ids.ts'
import { engines } from '../harness/database.ts'
import { openPremiumShop, pool } from '../harness/premium.ts'
import { isLong } from '../harness/scale.ts'
import { killWhen } from './kill-when.ts'

const kills = isLong ? 20 : 2
/** The worker prints this line each time the shop has booked relayed bytes, and the order of each purchase. */
const relayed = 'relayed'
const worker = join(import.meta.dir, 'premium-worker.ts')

describe.each([...engines])('a shop killed while it sells traffic, on %s', (engine) => {
  test(`a shop killed by SIGKILL ${kills} times loses no acknowledged purchase of traffic, and verify finds nothing`, async () => {
    const shop = await openPremiumShop(engine)
    try {
      const customer = await shop.newCustomer()
      const { premium, db, orders } = shop.services
      const from = await premium.subusers.load(customer, undefined)
      const to = await premium.subusers.create(customer, { name: 'to' })
      let answered = 0
      for (let run = 0; run < kills; run += 1) {
        const child = Bun.spawn(
          [process.execPath, worker, shop.address, customer, from.id, to.id, `run-${String(run).padStart(3, '0')}`],
          { stdout: 'pipe', stderr: 'inherit' },
        )
        const bought = (lines: readonly string[]) => lines.filter((line) => line !== relayed)
        const isDue = (lines: readonly string[]) => lines.includes(relayed) && bought(lines).length >= 8 + run * 3
        const acknowledged = bought(await killWhen(child, isDue))
        for (const id of acknowledged) {
          expect(await orders.find(db, id as OrderId)).toMatchObject({ product: 'premium' })
        }
        answered += acknowledged.length
        expect(await shop.findings()).toEqual([])
      }
      expect(answered).toBeGreaterThan(0)
      expect((await premium.traffic.balance(customer, to.id, pool)).pools[0]?.used ?? 0n).toBeGreaterThan(0n)
    } finally {
      await shop.close()
    }
  })
})
