import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Shop } from '../../src/app/shop/shop.ts'
import { engines } from '../harness/database.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import { openSecondShop } from '../harness/vpn.ts'
import { WireClient } from '../harness/wire-client.ts'

const balance = 'GET /api/v1/balance HTTP/1.1\r\nHost: shop\r\n\r\n'

/** Makes each commit of an order wait for the holder of advisory lock 16. */
const waitingCommits = [
  `CREATE OR REPLACE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
   $$ BEGIN PERFORM pg_advisory_xact_lock_shared(16); RETURN NULL; END $$`,
  'DROP TRIGGER IF EXISTS wait_for_test ON orders',
  `CREATE CONSTRAINT TRIGGER wait_for_test AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
   FOR EACH ROW EXECUTE FUNCTION wait_for_test()`,
]

describe.each([...engines])('pipelined requests, on %s', (engine) => {
  let service: Service
  /** A second shop process on the same database, over TLS. */
  let secure: Shop
  beforeAll(async () => {
    service = await startService(engine)
    const files = {
      cert: join(service.testDatabase.folder, 'tls.crt'),
      key: join(service.testDatabase.folder, 'tls.key'),
    }
    writeFileSync(files.cert, selfSigned.cert)
    writeFileSync(files.key, selfSigned.key)
    secure = await openSecondShop(service, {
      TURNPIKE_METRICS_LISTEN: '',
      TURNPIKE_LOG: 'debug',
      TURNPIKE_TLS_CERT: files.cert,
      TURNPIKE_TLS_KEY: files.key,
    })
  })
  afterAll(async () => {
    await secure.stop()
    await service.stop()
  })

  const post = (path: string, body: unknown, key = ''): string => {
    const text = JSON.stringify(body)
    const lines = [`POST /api/v1${path} HTTP/1.1`, 'Host: shop', `Authorization: Bearer ${service.token}`]
    if (key !== '') lines.push(`Idempotency-Key: ${key}`)
    const length = [`Content-Type: application/json`, `Content-Length: ${text.length}`]
    return [...lines, ...length, '', text].join('\r\n')
  }
  const buy = (key = '') => post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 }, key)
  const connect = (isTls: boolean): Promise<WireClient> =>
    WireClient.connect(Number(new URL(isTls ? secure.url : service.url).port), '127.0.0.1', undefined, isTls)
  const balanceNow = async (): Promise<number> => (await service.get('/balance')).data.balance_rub
  /** A request of another client over TLS, answered: bytes sent before it have arrived. */
  async function visit(): Promise<void> {
    const other = await connect(true)
    await other.send(Buffer.from('GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n'))
    await other.until(() => other.kept.includes('"ok":true'))
    other.close()
  }
  /** The log gets a line when a request has ended, whether its client is still connected or not. */
  const endedOf = (path: string): number =>
    service.log.filter((line) => line.includes(`"path":"/api/v1${path}"`)).length

  for (const [name, isTls] of [
    ['plain', false],
    ['over TLS', true],
  ] as const) {
    test(`a purchase with another request in the same segment is answered or not charged, ${name}`, async () => {
      for (const next of [balance, buy()]) {
        const [before, ended] = [await balanceNow(), endedOf('/dedicated/buy')]
        const client = await connect(isTls)
        await client.send(Buffer.from(buy() + next))
        await client.until(() => client.hasEnded || client.kept.includes('HTTP/1.1 401'))
        await until(() => endedOf('/dedicated/buy') > ended)
        const isAnswered = client.kept.includes('"order_id"')
        expect([isAnswered, (await balanceNow()) < before]).toEqual([isAnswered, isAnswered])
        client.close()
      }
    })

    test(`a free change followed by another request in the same segment is answered or not made, ${name}`, async () => {
      const before = (await service.get('/premium/password')).data.password
      const ended = endedOf('/premium/password/reset')
      const client = await connect(isTls)
      await client.send(Buffer.from(post('/premium/password/reset', {}) + balance))
      await client.until(() => client.hasEnded || client.kept.includes('"password"'))
      await until(() => endedOf('/premium/password/reset') > ended)
      const isAnswered = client.kept.includes('"password"')
      const after = (await service.get('/premium/password')).data.password
      expect([isAnswered, after !== before]).toEqual([isAnswered, isAnswered])
      client.close()
    })

    test(`a purchase is answered or rolled back when the next request arrives before its commit, ${name}`, async () => {
      const [before, ended] = [await balanceNow(), endedOf('/dedicated/buy')]
      const client = await connect(isTls)
      const { promise, resolve } = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      const { customer } = await service.services.customers.authenticate(service.token, undefined, 'trade')
      const holding = service.services.db.transact(async (tx) => {
        await service.services.ledger.lock(tx, customer)
        held.resolve()
        await promise
      })
      await held.promise
      await client.send(Buffer.from(buy()))
      await (isTls ? until(() => secure.pending() >= 1) : service.untilPending(1))
      await client.send(Buffer.from(balance))
      await (isTls ? visit() : client.until(() => client.hasEnded))
      resolve()
      await holding
      await until(() => endedOf('/dedicated/buy') > ended)
      await client.until(() => client.hasEnded || client.kept.includes('"ok":false'))
      const isAnswered = client.kept.includes('"order_id"')
      // Over plain HTTP it is always rolled back: Bun closes the connection when the next request arrives.
      expect([isAnswered && !isTls, (await balanceNow()) < before]).toEqual([false, isAnswered])
      client.close()
    })
  }

  const waitInCommits = () =>
    service.services.db.transact(async (tx) => {
      for (const statement of waitingCommits) await tx.run(statement)
    })

  /** Sends a purchase and, while its commit waits, another request. Only PostgreSQL can make a commit wait. */
  async function duringCommit(client: WireClient, key: string, arrived: () => Promise<unknown>): Promise<void> {
    const { db } = service.services
    const { promise, resolve } = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const holding = db.transact(async (tx) => {
      await tx.all('SELECT pg_advisory_xact_lock(16)')
      held.resolve()
      await promise
    })
    await held.promise
    await client.send(Buffer.from(buy(key)))
    const isWaiting = `SELECT 1 AS one FROM pg_locks WHERE locktype = 'advisory' AND objid = 16 AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    expect(await untilTrue(async () => (await db.first(isWaiting)) !== undefined)).toBe(true)
    await client.send(Buffer.from(balance))
    await arrived()
    resolve()
    await holding
  }

  if (engine !== 'postgres') return

  test('a request that arrives during the commit of a purchase waits for its answer over TLS', async () => {
    await waitInCommits()
    const client = await connect(true)
    const before = await balanceNow()
    await duringCommit(client, '', visit)
    await client.until(() => client.hasEnded || client.kept.includes('"ok":false'))
    const [bought, next] = client.kept.toString().split('HTTP/1.1 401')
    expect([bought?.includes('"order_id"'), next?.includes('"ok":false')]).toEqual([true, true])
    expect(await balanceNow()).toBeLessThan(before)
    client.close()
  })

  test('the shop replays a purchase to its key when its plain HTTP connection closed during the commit', async () => {
    await waitInCommits()
    const client = await connect(false)
    const [before, ended] = [await balanceNow(), endedOf('/dedicated/buy')]
    await duringCommit(client, 'once', () => client.until(() => client.hasEnded))
    await until(() => endedOf('/dedicated/buy') > ended)
    expect(client.total).toBe(0)
    const again = await connect(false)
    await again.send(Buffer.from(buy('once')))
    await again.until(() => again.hasEnded || again.kept.includes('}}'))
    expect(again.kept.toString()).toMatch(/200 OK[^]*Idempotent-Replayed: true[^]*"order_id"/)
    const after = await balanceNow()
    expect(after).toBeLessThan(before)
    await again.send(Buffer.from(buy('once')))
    await until(() => endedOf('/dedicated/buy') > ended + 2)
    expect(await balanceNow()).toBe(after)
    again.close()
    client.close()
  })
})
