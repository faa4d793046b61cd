import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lookAtShop } from '../../src/app/doctor/shop.ts'
import { kopecks } from '../../src/core/money.ts'
import { listRewinds } from '../../src/db/timeline.ts'
import { HandClock } from '../harness/clock.ts'
import { refusalOf } from '../harness/failure.ts'
import { buyWhenSold, freePort } from '../harness/gateway.ts'
import { makeGatewayProcess } from '../harness/gateway-process.ts'
import { joinNode, reportOf } from '../harness/node.ts'
import { buyAfterRewind, works } from '../harness/rewind.ts'
import { openStoppableShop } from '../harness/stoppable-shop.ts'
import { runJson, untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/wired.ts'

setDefaultTimeout(120_000)

let origin: ReturnType<typeof Bun.serve>
beforeAll(() => {
  origin = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('here') })
})
afterAll(() => origin.stop(true))

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
      expect(await untilTrue(() => works(lost, port, origin))).toBe(true)
      await shop.stop()
      remove()
      copyFileSync(`${file}.copy`, file)
      await shop.start()
      const { fleet } = shop.services
      expect((await fleet.nodes('gateway')).every(({ awaitsState }) => awaitsState)).toBe(true)
      const later = await buyAfterRewind(shop, lost, port, origin)
      expect(later.id).toBeGreaterThan(lost.id + 100_000)
      expect(await works(kept, port, origin)).toBe(true)
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

describe('a SQLite file that was replaced while its shop was stopped', () => {
  test('a shop, or a command before it, notes 1 rewind if a command revoked a token after the older copy was made', async () => {
    const shop = await openStoppableShop('sqlite')
    const file = join(shop.config.folder, 'turnpike.db')
    const env = { TURNPIKE_DATA: shop.config.folder }
    try {
      const [customer] = await shop.services.customers.list('', 1)
      if (!customer) throw new Error('the shop has no customer')
      const made = await runJson(['token', 'create', customer.id, '--name', 'lost'], env)
      expect(made.exit).toBe(0)
      await shop.stop()
      copyFileSync(file, `${file}.copy`)
      const revoke = ['token', 'revoke', made.json.token_id]
      expect((await runJson(revoke, env)).exit).toBe(0)
      const goBack = () => {
        copyFileSync(`${file}.copy`, file)
        for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
      }
      goBack()
      await shop.start()
      expect(await listRewinds(shop.services.db, 0)).toHaveLength(1)
      await shop.stop()
      goBack()
      expect((await runJson(revoke, env)).exit).toBe(0)
      await shop.start()
      expect(await listRewinds(shop.services.db, 0)).toHaveLength(1)
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
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
