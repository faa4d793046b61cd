import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { lookAtShop } from '../../src/app/doctor/shop.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { listRewinds } from '../../src/db/timeline.ts'
import { createBrowserSession } from '../harness/browser-session.ts'
import { makeTestDatabase } from '../harness/database.ts'
import { dumpInto, dumpTo, restoreInPieces, restoreInPlace, swapDatabase } from '../harness/dump.ts'
import { buyWhenSold, openShopWithGateway, type ShopWithGateway } from '../harness/gateway.ts'
import { buyAfterRewind, works } from '../harness/rewind.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

setDefaultTimeout(120_000)

let origin: ReturnType<typeof Bun.serve>
beforeAll(() => {
  origin = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('here') })
})
afterAll(() => origin.stop(true))

describe('a PostgreSQL database that goes back in time under a running shop', () => {
  let shop: ShopWithGateway
  beforeAll(async () => {
    shop = await openShopWithGateway('postgres')
  })
  afterAll(() => shop.stop())

  const ways = {
    'pg_restore in place': async () => {
      const file = join(shop.testDatabase.folder, 'early.dump')
      await dumpTo(shop.testDatabase.address, file)
      return () => restoreInPlace(file, shop.testDatabase.address)
    },
    'pg_restore --clean in many transactions': async () => {
      const file = join(shop.testDatabase.folder, 'pieces.dump')
      await dumpTo(shop.testDatabase.address, file)
      return () => restoreInPieces(file, shop.testDatabase.address)
    },
    'a failover to a replica that lags': async () => {
      const replica = await makeTestDatabase('postgres')
      await dumpInto(shop.testDatabase.address, replica.address)
      rmSync(replica.folder, { recursive: true, force: true })
      return () => swapDatabase(shop.testDatabase.address, replica.address)
    },
  }

  /** Uses a link again and again, one try after another, without the limit on guesses of the HTTP layer. */
  function enterUntilStopped(link: string) {
    const stopping = new AbortController()
    const visitor = { source: '203.0.113.9', agent: null, shown: [] }
    const results: string[] = []
    const work = (async () => {
      while (!stopping.signal.aborted) {
        const entered = shop.services.signIn.byLink(
          'customer',
          { link },
          { ...visitor, clientPrefix: crypto.randomUUID() },
        )
        results.push(
          await entered
            .then(() => 'entered')
            .catch((error: unknown) => (error instanceof Refusal ? error.reason : 'fault')),
        )
      }
    })()
    return {
      stop: async () => {
        stopping.abort()
        await work
        return results
      },
    }
  }

  test('a lost payment, which no node read, is noticed as a database that went back', async () => {
    const replica = await makeTestDatabase('postgres')
    await dumpInto(shop.testDatabase.address, replica.address)
    rmSync(replica.folder, { recursive: true, force: true })
    const { db } = shop.services
    const newestMark = async () =>
      (await db.first<{ number: bigint }>('SELECT MAX(number) AS number FROM history_marks'))?.number ?? 0n
    const { token } = await shop.newCustomer()
    const before = [await newestMark(), (await listRewinds(db, 0)).length] as const
    expect((await shop.post('/payments', { amount_rub: 500, method: 'sandbox' }, { token })).status).toBe(200)
    expect(await untilTrue(async () => (await newestMark()) > before[0])).toBe(true)
    await swapDatabase(shop.testDatabase.address, replica.address)
    expect(await untilTrue(async () => (await listRewinds(db, 0).catch(() => [])).length > before[1])).toBe(true)
  })

  test.each(Object.entries(ways))(
    '%s makes a sale answer 200 only when the lost login is refused, and doctor name the lost proxy',
    async (_, prepare) => {
      const kept = await buyWhenSold(shop)
      const before = (await listRewinds(shop.services.db, 0)).length
      const { customer } = await shop.newCustomer()
      const { db, signIn } = shop.services
      const issued = { kind: 'customer', owner: customer, purpose: 'enter' } as const
      const link = (await db.transact(async (tx) => signIn.issueLink(tx, issued))).text
      const [unused, ended] = [await createBrowserSession(shop.url), await createBrowserSession(shop.url)]
      const goBack = await prepare()
      expect((await ended.post('/auth/v1/customer/sign-in/link', { link })).status).toBe(200)
      const [lost] = await shop.buyProxies()
      if (!lost) throw new Error('nothing was sold')
      expect(await untilTrue(() => works(lost, shop.port, origin))).toBe(true)
      const entering = enterUntilStopped(link)
      await goBack()
      const later = await buyAfterRewind(shop, lost, shop.port, origin)
      expect(await entering.stop()).not.toContain('entered')
      expect(later.id).toBeGreaterThan(lost.id + 100_000)
      expect(await untilTrue(() => works(later, shop.port, origin))).toBe(true)
      expect(await works(kept, shop.port, origin)).toBe(true)
      const isListed = () =>
        shop.services.fleet.lostGoods(0, 10).then((all) => all.some(({ login }) => login === lost.username))
      expect(await untilTrue(isListed)).toBe(true)
      const [listed] = (await shop.services.fleet.lostGoods(0, 10)).filter(({ login }) => login === lost.username)
      expect(listed).toMatchObject({ kind: 'proxy', id: String(lost.id), address: lost.exit_ip })
      const config = readConfig({
        TURNPIKE_DATA: shop.testDatabase.folder,
        TURNPIKE_DATABASE_URL: shop.testDatabase.address,
      })
      const advice = (await lookAtShop(config)).filter(({ reason }) => reason === 'goods_lost')
      expect(JSON.stringify(advice)).toContain(lost.username)
      expect(shop.log.some((line) => line.includes('database went back'))).toBe(true)
      expect(await listRewinds(shop.services.db, 0)).toHaveLength(before + 1)
      // The database has forgotten that the link was used.
      expect((await unused.post('/auth/v1/customer/sign-in/link', { link })).status).toBe(404)
    },
  )

  test('verify finds nothing wrong after 4 rewinds, and the gateway never believed that it was revoked', async () => {
    expect(shop.gatewayLog.filter((line) => line.includes('revoked'))).toEqual([])
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
