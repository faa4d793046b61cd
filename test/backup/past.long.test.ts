import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backUp } from '../../src/app/backup/backup.ts'
import { restore } from '../../src/app/backup/restore.ts'
import { ignoreProgress } from '../harness/backups.ts'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { engines, makeTestDatabase } from '../harness/database.ts'
import { startFlow } from '../harness/flow.ts'
import { freePort } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { isLong } from '../harness/scale.ts'
import { openStoppableShop } from '../harness/stoppable-shop.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { openTunnel } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

const leaseBytes = 100_000

// The gateway does not depend on the shop's database: one database is enough for every day.
describe.each(isLong ? engines : (['sqlite'] as const))(
  'a shop on %s restored from an older backup while its gateway runs',
  (engine) => {
    test('a restored shop bills no byte twice, bills at most the leases of the backup, and refuses later customers', async () => {
      const port = freePort()
      const shop = await openStoppableShop(engine, { TURNPIKE_PREMIUM_LEASE_BYTES: String(leaseBytes) })
      const gateway = await makeGatewayProcess(shop, port)
      const origin = openByteOrigin()
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-backup-'))
      const testDatabase = await makeTestDatabase(engine)
      try {
        const [user] = await addUsers({ ...shop, port }, 1, 0.2)
        if (!user) throw new Error('there is no sub-user')
        await gateway.start()
        const before = await startFlow(origin, user, { everyMs: 5 })
        await before.client.until(() => before.client.total > 3 * leaseBytes)
        const early = await before.finish()
        expect(await untilTrue(async () => (await usedBy(shop, user.subuser)) === early)).toBeTrue()
        const heldBytes = async (): Promise<number> => {
          const sum = 'SELECT CAST(SUM(aside) AS BIGINT) AS bytes FROM usage_leases WHERE subject LIKE $1'
          const row = await shop.services.db.first<{ bytes: bigint }>(sum, [`premium:${user.subuser}:%`])
          return Number(row?.bytes ?? 0n)
        }
        const heldBefore = await heldBytes()
        await backUp(shop.config, join(folder, 'b'), Date.now, ignoreProgress)
        const heldAtBackup = Math.max(heldBefore, await heldBytes())

        const [late] = await addUsers({ ...shop, port }, 1, 0.1)
        if (!late) throw new Error('there is no sub-user')
        const later = await startFlow(origin, late, { everyMs: 5 })
        const between = await startFlow(origin, user, { everyMs: 5 })
        await between.client.until(() => between.client.total > 3 * leaseBytes)
        const lost = await between.finish()
        expect(await untilTrue(async () => (await usedBy(shop, user.subuser)) === early + lost)).toBeTrue()
        const { services: dead } = shop
        const newest = (await dead.db.first<{ next: bigint }>(`SELECT next FROM counters WHERE name = 'proxy'`))?.next
        const heldAtStop = Math.max(leaseBytes, await heldBytes())
        await shop.stop()

        const restored = {
          ...shop.config,
          folder: testDatabase.folder,
          databaseUrl: engine === 'postgres' ? testDatabase.address : undefined,
        }
        const { isRight } = await restore(restored, join(folder, 'b'), {
          clock: Date.now,
          onProgress: ignoreProgress,
          verify: async () => true,
        })
        expect(isRight).toBeTrue()
        await shop.start(restored)

        // The restored shop does not know the later customer: the gateway reads the whole state again and closes the
        // tunnel.
        expect(await untilTrue(() => later.client.isClosed || later.client.hasEnded)).toBeTrue()
        const isRefused = async (): Promise<boolean> => {
          const answer = openTunnel(late, 'connect', { host: '127.0.0.1', port: origin.port })
          return (await answer.then(String, String)).includes(' 407 ')
        }
        expect(await untilTrue(isRefused)).toBeTrue()

        const after = await startFlow(origin, user, { everyMs: 5 })
        await after.client.until(() => after.client.total > 2 * leaseBytes)
        const fresh = await after.finish()
        await gateway.stop()
        const billed = await usedBy(shop, user.subuser)
        expect(billed).toBeLessThanOrEqual(early + lost + fresh)
        // The restored shop does not know the leases that the gateway held when the shop stopped.
        expect(billed).toBeGreaterThanOrEqual(early + fresh - heldAtStop)
        // Of the bytes relayed since the backup, at most those on lease at the backup are billed.
        expect(billed - early - fresh).toBeLessThanOrEqual(heldAtBackup)
        expect(await findingsOf(shop.services)).toEqual([])
        const next = (await shop.services.db.first<{ next: bigint }>(`SELECT next FROM counters WHERE name = 'proxy'`))
          ?.next
        if (newest !== undefined) expect(next).toBeGreaterThan(newest)
      } finally {
        await gateway.kill()
        gateway.remove()
        origin.stop()
        await shop.remove()
        await testDatabase.remove()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  },
)
