import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { OrderId } from '../../src/core/ids.ts'
import { engines } from '../harness/database.ts'
import { openPremiumShop, pool } from '../harness/premium.ts'
import { isLong } from '../harness/scale.ts'
import { killWhen } from './kill-when.ts'

const kills = isLong ? 20 : 2
/** The worker prints this line each time the shop has booked carried bytes, and the order of each purchase. */
const carried = 'carried'
const worker = join(import.meta.dir, 'premium-worker.ts')

describe.each([...engines])('a shop that is killed outright on %s', (engine) => {
  test(`a shop killed by SIGKILL ${kills} times loses no purchase of bytes that it acknowledged, and verify finds nothing`, async () => {
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
        const bought = (lines: readonly string[]) => lines.filter((line) => line !== carried)
        const isDue = (lines: readonly string[]) => lines.includes(carried) && bought(lines).length >= 8 + run * 3
        const told = bought(await killWhen(child, isDue))
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
