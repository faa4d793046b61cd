import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { freePort } from '../harness/gateway.ts'
import { longTest } from '../harness/long-test.ts'
import { startPostgres } from '../harness/postgres.ts'
import { type Service, startService } from '../harness/service.ts'
import { endStarted, runtimeCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'
import { findingsOf } from '../harness/vpn.ts'

let service: Service
beforeAll(async () => {
  service = await startService('sqlite')
})
afterAll(async () => {
  await endStarted()
  await service.stop()
})

/** Limits the pages of the SQLite file, which fails as a full disk does and can be lifted. */
const limitTo = (pages: bigint) => service.services.db.transact((tx) => tx.first(`PRAGMA max_page_count = ${pages}`))

test('a shop on a full disk serves reads, answers purchases 503 and logs why; the key buys once later', async () => {
  const { token, customer } = await service.newCustomer(10_000n)
  const row = await service.services.db.first<{ page_count: bigint }>('PRAGMA page_count')
  await limitTo(row?.page_count ?? 0n)
  const buy = (key: string) => service.post('/vpn/buy', { period: 1 }, { token, key })
  const bought: string[] = []
  let refused: Awaited<ReturnType<typeof buy>> | undefined
  for (let number = 0; number < 20 && !refused; number += 1) {
    const answer = await buy(`buy ${number}`.replace(' ', '-'))
    if (answer.status === 200) bought.push(answer.data.order_id)
    else refused = answer
  }
  expect([refused?.status, refused?.error.code, refused?.headers.get('retry-after')]).toEqual([503, 'unavailable', '5'])
  const ready = async () => {
    const response = await fetch(`${service.url}/readyz`)
    return [response.status, ((await response.json()) as { reason?: string }).reason]
  }
  expect(await ready()).toEqual([503, 'The disk of the database is full.'])
  expect((await service.get('/balance', { token })).data.balance_rub).toBe(10_000 - bought.length * 299)
  const entry = service.log.find((line) => line.includes('"event":"unavailable"'))
  expect(entry).toContain('database or disk is full')
  expect(service.log.join('')).not.toContain('"event":"fault"')
  await limitTo(1_000_000n)
  const later = await buy(`buy-${bought.length}`)
  expect([later.status, (await buy(`buy-${bought.length}`)).data.order_id]).toEqual([200, later.data.order_id])
  expect(await untilTrue(async () => (await ready())[0] === 200)).toBeTrue()
  expect((await service.services.orders.list(customer, undefined, 50)).length).toBe(bought.length + 1)
  expect(await findingsOf(service)).toEqual([])
})

/** A sandbox shop in a process of its own. */
async function startShop(env: Record<string, string>, by?: string[]) {
  const [port, token] = [freePort(), 'tp_test_of_a_small_disk']
  const more = { TURNPIKE_METRICS_LISTEN: '', TURNPIKE_SANDBOX_TOKEN: token, TURNPIKE_CHARGES_PER_MINUTE: '0' }
  const shop = startTurnpike(['shop'], { ...env, ...more, TURNPIKE_PORT: String(port) }, by)
  await shop.until(/"event":"shop open"/)
  const url = `http://127.0.0.1:${port}`
  const authorization = `Bearer ${token}`
  return {
    pid: shop.pid,
    async ready() {
      const response = await fetch(`${url}/readyz`)
      return [response.status, ((await response.json()) as { reason?: string }).reason] as const
    },
    async buy(key: string) {
      const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': key }
      return (await fetch(`${url}/api/v1/vpn/buy`, { method: 'POST', headers, body: '{"period":1}' })).status
    },
    async stop() {
      shop.kill('SIGTERM')
      await shop.exited
    },
  }
}

/** A shop whose data folder is on a file system of 24 MiB that only its process sees. */
async function startOnSmallDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-small-'))
  const rights = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const script = 'mount -t tmpfs -o size=24m tmpfs "$0" && mkdir -m 700 "$0/data" && exec "$@"'
  const by = ['unshare', ...rights, '--mount', 'sh', '-c', script, folder, ...runtimeCommand]
  const shop = await startShop({ TURNPIKE_DATA: join(folder, 'data') }, by)
  return {
    ...shop,
    /** The folder as the shop's process sees it. */
    seen: `/proc/${shop.pid}/root${folder}`,
    async end() {
      await shop.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

test('GET /readyz answers 503 while the disk is full or the data folder is renamed, without a purchase, and recovers by itself', async () => {
  const shop = await startOnSmallDisk()
  expect(await shop.ready()).toEqual([200, undefined])
  expect(await shop.buy('before')).toBe(200)
  const filler = join(shop.seen, 'filler')
  fill(filler)
  expect(await untilTrue(async () => (await shop.ready())[0] === 503)).toBeTrue()
  expect(await shop.ready()).toEqual([503, 'The disk of the database is full.'])
  let refused = 200
  for (let number = 0; number < 100 && refused === 200; number += 1) refused = await shop.buy(`full-${number}`)
  expect(refused).toBe(503)
  expect((await shop.ready())[0]).toBe(503)
  rmSync(filler)
  expect(await untilTrue(async () => (await shop.ready())[0] === 200)).toBeTrue()
  expect(await shop.buy('after')).toBe(200)
  renameSync(join(shop.seen, 'data'), join(shop.seen, 'moved'))
  expect(await untilTrue(async () => (await shop.ready())[0] === 503)).toBeTrue()
  expect(await shop.ready()).toEqual([503, 'The database is no longer in the data folder.'])
  renameSync(join(shop.seen, 'moved'), join(shop.seen, 'data'))
  expect(await untilTrue(async () => (await shop.ready())[0] === 200)).toBeTrue()
  expect(await shop.buy('again')).toBe(200)
  await shop.end()
})

/** A sandbox shop whose database is in a tablespace on a file system of 64 MiB. */
async function startOnSmallTablespace() {
  const server = await startPostgres({ own: true, smallMb: 64 })
  const small = server.small
  if (!small) throw new Error('the server has no small file system')
  const url = new URL(server.url)
  const admin = new SQL(server.url, { max: 1 })
  const space = join(small.seen, 'space')
  mkdirSync(space)
  // The server runs as the owner of the folder around it.
  const { uid, gid } = statSync(join(small.seen, '..'))
  chownSync(space, uid, gid)
  await admin.unsafe(`CREATE TABLESPACE small LOCATION '${small.folder}/space'`)
  await admin.unsafe('CREATE DATABASE shop TABLESPACE small')
  await admin.close()
  url.pathname = '/shop'
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-small-'))
  const started = await startShop({ TURNPIKE_DATA: folder, TURNPIKE_DATABASE_URL: url.href })
  return {
    ...started,
    filler: join(small.seen, 'filler'),
    async end() {
      await started.stop()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

longTest(
  'GET /readyz answers 503 when a purchase finds the disk of PostgreSQL full, and recovers by itself',
  async () => {
    const shop = await startOnSmallTablespace()
    expect(await shop.buy('before')).toBe(200)
    expect(await shop.ready()).toEqual([200, undefined])
    fill(shop.filler)
    let refused = 200
    for (let number = 0; number < 300 && refused === 200; number += 1) refused = await shop.buy(`full-${number}`)
    expect(refused).toBe(503)
    expect(await shop.ready()).toEqual([503, 'The disk of the database is full.'])
    rmSync(shop.filler)
    expect(await untilTrue(async () => (await shop.ready())[0] === 200)).toBeTrue()
    expect(await shop.buy('after')).toBe(200)
    await shop.end()
  },
)

/** Writes a file until nothing more fits. */
function fill(path: string): void {
  for (const size of [1 << 20, 4096]) {
    try {
      for (;;) appendFileSync(path, new Uint8Array(size))
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
    }
  }
}
