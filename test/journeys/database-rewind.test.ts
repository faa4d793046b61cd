import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lookAtShop } from '../../src/app/doctor/shop.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { kopecks } from '../../src/core/money.ts'
import { listRewinds } from '../../src/db/timeline.ts'
import type { Caller } from '../harness/caller.ts'
import { HandClock } from '../harness/clock.ts'
import { makeTestDatabase } from '../harness/database.ts'
import { dumpInto, dumpTo, restoreInPieces, restoreInPlace, swapDatabase } from '../harness/dump.ts'
import { refusalOf } from '../harness/failure.ts'
import {
  type BoughtProxy,
  buyWhenSold,
  freePort,
  openShopWithGateway,
  type ShopWithGateway,
} from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { joinNode, reportOf } from '../harness/node.ts'
import { openStoppableShop } from '../harness/stoppable-shop.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

setDefaultTimeout(120_000)

let origin: ReturnType<typeof Bun.serve>
beforeAll(() => {
  origin = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('here') })
})
afterAll(() => origin.stop(true))

/** Whether a proxy's login relays a request now. */
async function works(proxy: BoughtProxy, port: number): Promise<boolean> {
  const via = `http://${proxy.username}:${proxy.password}@127.0.0.1:${port}`
  const url = `http://127.0.0.1:${origin.port}/`
  const response = await fetch(url, { proxy: via, headers: { connection: 'close' } })
  await response.text()
  return response.status === 200
}

/**
 * Buys until one purchase is answered with 200. The lost login must not work any more at that moment, and no answer is
 * a fault.
 */
async function buyAfterRewind(caller: Caller, lost: BoughtProxy, port: number): Promise<BoughtProxy> {
  const statuses = new Set<number>()
  let bought: BoughtProxy | undefined
  const isSold = await untilTrue(async () => {
    const answer = await caller.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
    statuses.add(answer.status)
    bought = answer.status === 200 ? answer.data.proxies[0] : undefined
    return bought !== undefined
  })
  expect([isSold, statuses.has(500)]).toEqual([true, false])
  expect(await works(lost, port)).toBe(false)
  if (!bought) throw new Error('nothing was sold')
  return bought
}

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

  test.each(Object.entries(ways))(
    '%s makes a sale answer 200 only when the lost login is refused, and doctor name the lost proxy',
    async (_, prepare) => {
      const kept = await buyWhenSold(shop)
      const before = (await listRewinds(shop.services.db, 0)).length
      const goBack = await prepare()
      const [lost] = await shop.buyProxies()
      if (!lost) throw new Error('nothing was sold')
      expect(await untilTrue(() => works(lost, shop.port))).toBe(true)
      await goBack()
      const later = await buyAfterRewind(shop, lost, shop.port)
      expect(later.id).toBeGreaterThan(lost.id + 100_000)
      expect(await untilTrue(() => works(later, shop.port))).toBe(true)
      expect(await works(kept, shop.port)).toBe(true)
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
    },
  )

  test('verify finds nothing wrong after 3 rewinds, and the gateway never believed that it was revoked', async () => {
    expect(shop.gatewayLog.filter((line) => line.includes('revoked'))).toEqual([])
    expect(await findingsOf(shop.services)).toEqual([])
  })
})

describe('a SQLite file that was replaced by an older copy', () => {
  test('a restarted shop notices the older file before its first sale, and its gateway drops the lost login', async () => {
    const port = freePort()
    const shop = await openStoppableShop('sqlite', { TURNPIKE_GATEWAY_PORT: String(port) })
    const gateway = await makeGatewayProcess(shop, port)
    const file = join(shop.config.folder, 'turnpike.db')
    const remove = () => {
      for (const each of ['', '-wal', '-shm']) rmSync(`${file}${each}`, { force: true })
    }
    try {
      await gateway.start()
      const kept = await buyWhenSold(shop)
      await shop.stop()
      copyFileSync(file, `${file}.copy`)
      await shop.start()
      const lost = await buyWhenSold(shop)
      expect(await untilTrue(() => works(lost, port))).toBe(true)
      await shop.stop()
      remove()
      copyFileSync(`${file}.copy`, file)
      await shop.start()
      const { fleet } = shop.services
      expect((await fleet.nodes('gateway')).every(({ awaitsState }) => awaitsState)).toBe(true)
      const later = await buyAfterRewind(shop, lost, port)
      expect(later.id).toBeGreaterThan(lost.id + 100_000)
      expect(await works(kept, port)).toBe(true)
      const isListed = async () => (await fleet.lostGoods(0, 10)).some(({ login }) => login === lost.username)
      expect(await untilTrue(isListed)).toBe(true)
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await gateway.kill()
      gateway.remove()
      await shop.remove()
    }
  })
})

describe('a SQLite file that was replaced under a running shop', () => {
  test('purchases, credits, free changes and node reports answer 503 with nothing charged, reads answer 200, and doctor names the file and no node', async () => {
    const shop = await openStoppableShop('sqlite')
    const file = join(shop.config.folder, 'turnpike.db')
    try {
      const node = await joinNode({ ...shop, services: shop.services, clock: new HandClock() })
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
      for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`)
      const before = (await shop.get('/balance')).data
      for (let each = 0; each < 5; each += 1) {
        const { status, error } = await shop.post('/vpn/buy', { period: 1 })
        expect([status, error.reason, error.charged]).toEqual([503, 'database_moved', false])
      }
      expect((await shop.post('/premium/subusers', {})).status).toBe(503)
      const { customers, ledger, db } = shop.services
      const customer = (await customers.list('', 1))[0]
      if (!customer) throw new Error('the shop has no customer')
      const credited = { kind: 'credit', amount: kopecks(100n), note: 'paid', key: null, reference: null } as const
      const credit = db.transact((tx) => ledger.adjust(tx, customer.id, credited))
      expect(await refusalOf(credit)).toMatchObject({ reason: 'database_moved' })
      const report = await node.ask('POST', 'report', reportOf({ health: { tunnels: 0, lag_ms: 0, total_bytes: 0 } }))
      expect(report.status).toBe(503)
      expect((await shop.get('/balance')).data).toEqual(before)
      const isNamed = async () => (await lookAtShop(shop.config)).some(({ reason }) => reason === 'database_moved')
      expect(await untilTrue(isNamed)).toBe(true)
      expect((await lookAtShop(shop.config)).filter(({ state }) => state === 'wrong')).toHaveLength(1)
    } finally {
      await shop.remove()
    }
  })
})
