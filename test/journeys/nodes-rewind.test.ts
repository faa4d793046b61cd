import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sha256 } from '../../src/adapters/crypto.ts'
import { raiseCounters } from '../../src/db/counter.ts'
import { listRewinds } from '../../src/db/timeline.ts'
import type { Database } from '../../src/db/transaction.ts'
import { ownerName } from '../../src/domains/customers/rules.ts'
import { engines } from '../harness/database.ts'
import { refusalOf } from '../harness/failure.ts'
import { joinNode, reportOf, type TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/wired.ts'

/** Drops a trigger, as a schema is without it while a restore is under way. Returns what makes it again. */
async function dropTrigger(db: Database, name: string, table: string): Promise<() => Promise<unknown>> {
  const isSqlite = db.engine === 'sqlite'
  const definition = isSqlite
    ? 'SELECT sql FROM sqlite_master WHERE name = $1'
    : 'SELECT pg_get_triggerdef(oid) AS sql FROM pg_trigger WHERE tgname = $1'
  const { sql } = (await db.first<{ sql: string }>(definition, [name])) ?? { sql: '' }
  await db.transact((tx) => tx.run(isSqlite ? `DROP TRIGGER ${name}` : `DROP TRIGGER ${name} ON ${table}`))
  return () => db.transact((tx) => tx.run(sql))
}

describe.each([...engines])('nodes of a database that goes back in time, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  const buy = () => service.post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
  const rewinds = async () => (await listRewinds(service.services.db, 0)).length
  const nodeNamed = async ({ id }: TestNode) =>
    (await service.services.fleet.nodes('gateway')).find((node) => node.id === id)
  const report = (node: TestNode, body: Parameters<typeof reportOf>[0]) =>
    node.ask('POST', 'report', reportOf({ health: { tunnels: 0, lag_ms: 0, total_bytes: 0 }, ...body }))

  /** A node that has applied all pages, and the mark of the last one. */
  async function readAll(): Promise<{ node: TestNode; mark: string }> {
    const node = await joinNode(service)
    await service.post('/premium/subusers', {})
    let mark = ''
    for (let more = true; more; ) {
      const page = node.applyPage(await node.page())
      ;({ more } = page)
      mark = page.mark ?? mark
    }
    expect(mark).not.toBe('')
    return { node, mark }
  }

  const stateWith = (node: TestNode, mark: string) =>
    node.ask('GET', `state?${new URLSearchParams({ cursor: node.cursor ?? '', mark }).toString()}`)

  /** Deletes the marks of the last page, as a database that went back does not have them, behind a restarted shop. */
  async function loseMark(): Promise<void> {
    const { db, timeline } = service.services
    await db.transact((tx) => tx.run('DELETE FROM history_marks'))
    await timeline.look()
  }

  test('a report with a lost mark notes 1 rewind, and no node sells until it has read its whole state to the end', async () => {
    const { node, mark } = await readAll()
    const before = await rewinds()
    await loseMark()
    expect(await rewinds()).toBe(before + 1)
    for (const each of [1, 2, 3]) expect([each, (await report(node, { mark })).status]).toEqual([each, 200])
    expect(await rewinds()).toBe(before + 1)
    expect((await nodeNamed(node))?.awaitsState).toBe(true)
    expect((await buy()).status).toBe(503)
    expect((await stateWith(node, mark)).status).toBe(400)
    node.cursor = undefined
    await node.catchUp()
    expect((await nodeNamed(node))?.awaitsState).toBe(true)
    await node.catchUp()
    expect((await nodeNamed(node))?.awaitsState).toBe(false)
  })

  test('a node that a half-restored schema does not know is answered 503 and not 401, and no rewind is noted before the triggers exist', async () => {
    const { node, mark } = await readAll()
    const { db, fleet, timeline } = service.services
    const bringBack = await dropTrigger(db, 'nodes_hop_key_history_update', 'nodes')
    const setSecret = (secret: Uint8Array) =>
      db.transact((tx) => tx.run('UPDATE nodes SET secret_digest = $2 WHERE id = $1', [node.id, secret]))
    const row = await db.first<{ secret: Uint8Array }>('SELECT secret_digest AS secret FROM nodes WHERE id = $1', [
      node.id,
    ])
    const before = await rewinds()
    await setSecret(new Uint8Array(32))
    await db.transact((tx) => tx.run('DELETE FROM history_marks'))
    fleet.forget()
    expect(await refusalOf(timeline.look())).toMatchObject({ reason: 'database_unavailable' })
    for (const each of [1, 2, 3]) expect([each, (await report(node, { mark })).status]).toEqual([each, 503])
    expect((await stateWith(node, mark)).status).toBe(503)
    expect(await rewinds()).toBe(before)
    await setSecret(row?.secret ?? new Uint8Array(32))
    await bringBack()
    expect((await report(node, { mark })).status).toBe(200)
    expect(await rewinds()).toBe(before + 1)
    await setSecret(new Uint8Array(32))
    fleet.forget()
    expect((await report(node, { mark })).status).toBe(401)
    await setSecret(row?.secret ?? new Uint8Array(32))
  })

  test('a node that lies about its mark holds no other node back and notes no rewind', async () => {
    const { node } = await readAll()
    const other = await readAll()
    const before = await rewinds()
    for (const mark of ['', 'x'.repeat(400), Buffer.alloc(90, 7).toString('base64url')])
      expect((await report(node, { mark })).status).toBe(200)
    expect((await stateWith(node, 'invented')).status).toBe(200)
    expect([await rewinds(), (await nodeNamed(other.node))?.awaitsState]).toEqual([before, false])
  })

  test('a node of the previous version, which sends no mark, gets its pages and reports', async () => {
    const { node } = await readAll()
    expect((await node.ask('GET', `state?cursor=${node.cursor}`)).status).toBe(200)
    expect((await report(node, {})).status).toBe(200)
  })

  /** A node that has read the whole state after a rewind, and the mark of it. */
  async function readAfterRewind(): Promise<{ node: TestNode; mark: string }> {
    const { node } = await readAll()
    await loseMark()
    node.cursor = undefined
    let mark = ''
    for (let more = true; more; ) {
      const page = node.applyPage(await node.page())
      ;({ more } = page)
      mark = page.mark ?? mark
    }
    return { node, mark }
  }
  const lostBy = async ({ id }: TestNode) =>
    (await service.services.fleet.lostGoods(0, 10_000)).filter((each) => each.node === id)
  const proxyOf = (id: number) => {
    return { kind: 'proxy' as const, id: String(id), login: `u${id}abcd`, address: '203.0.113.7', owner: '' }
  }

  test('the shop keeps 1 of 3 vanished things, the one that its books do not know, once, and logs its customer without login and address', async () => {
    const { node, mark } = await readAfterRewind()
    const { db, customers } = service.services
    const [customer] = await customers.list('', 1)
    if (!customer) throw new Error('the shop has no customer')
    const row = await db.first<{ id: string; login: string }>('SELECT id, login FROM subusers LIMIT 1')
    const known = { kind: 'subuser' as const, id: row?.id ?? '', login: row?.login ?? '', address: '', owner: '' }
    const lost = { ...proxyOf(7), owner: ownerName(customer.id, sha256) }
    const secret = { ...known, login: 'any' }
    for (const each of [1, 2])
      expect([each, (await report(node, { mark, vanished: [known, lost, secret] })).status]).toEqual([each, 200])
    expect(await lostBy(node)).toMatchObject([lost])
    const lines = service.log.filter((line) => line.includes('"event":"lost"') && line.includes(`"${node.name}"`))
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({ kind: 'proxy', id: '7', customer: customer.id })
    expect(service.log.filter((line) => /u7abcd|203\.0\.113\.7/.test(line))).toEqual([])
  })

  test('a node lists lost goods only after a rewind, with a mark of that life, and once', async () => {
    const before = await readAll()
    const vanished = [proxyOf(1)]
    expect((await report(before.node, { mark: before.mark, vanished })).status).toBe(200)
    expect(await lostBy(before.node)).toEqual([])
    const { node, mark } = await readAfterRewind()
    expect((await report(node, { vanished })).status).toBe(200)
    expect((await report(node, { mark: before.mark, vanished })).status).toBe(200)
    expect(await lostBy(node)).toEqual([])
    expect((await report(node, { mark, vanished })).status).toBe(200)
    for (const id of [2, 3]) expect((await report(node, { mark, vanished: [proxyOf(id)] })).status).toBe(200)
    expect(await lostBy(node)).toMatchObject(vanished)
  })

  test('a proxy that two gateways list is shown and counted once', async () => {
    const { fleet } = service.services
    const before = await fleet.countLostGoods(0)
    for (let gateways = 0; gateways < 2; gateways += 1) {
      const { node, mark } = await readAfterRewind()
      expect((await report(node, { mark, vanished: [proxyOf(17)] })).status).toBe(200)
    }
    const shown = (await fleet.lostGoods(0, 200, 50)).filter(({ id }) => id === '17')
    expect([shown.length, (await fleet.countLostGoods(0)) - before]).toEqual([1, 1])
  })

  test('a node that lists 12,000 lost goods fills 2,000 rows, 30 log lines and 50 lines of doctor', async () => {
    const { node, mark } = await readAfterRewind()
    for (let batch = 0; batch < 60; batch += 1) {
      const vanished = Array.from({ length: 200 }, (_, index) => proxyOf(100 + batch * 200 + index))
      expect((await report(node, { mark, vanished })).status).toBe(200)
    }
    expect(await lostBy(node)).toHaveLength(2000)
    const lines = service.log.filter((line) => line.includes('"event":"lost"') && line.includes(`"${node.name}"`))
    expect(lines).toHaveLength(30)
    const shown = await service.services.fleet.lostGoods(0, 200, 50)
    expect(shown.filter((each) => each.node === node.id)).toHaveLength(50)
    expect(new Set(shown.map((each) => each.node)).size).toBeGreaterThan(1)
  })

  test.each([
    ['a newline in the address', { address: '203.0.113.7\nWRONG  database: all is lost' }],
    ['an address that is none', { address: '203.0.113.300' }],
    ['a login outside the alphabet', { login: 'u7 of admin' }],
    ['an id outside the alphabet', { id: '7\n' }],
    ['an owner that is no digest', { owner: 'the operator' }],
  ])('a report with %s is refused with 400, and nothing is kept', async (_, part) => {
    const { node, mark } = await readAfterRewind()
    expect((await report(node, { mark, vanished: [{ ...proxyOf(7), ...part }] })).status).toBe(400)
    expect(await lostBy(node)).toEqual([])
  })

  test('lost goods that an operator has seen are listed no longer, and those that a node lists later are', async () => {
    const { fleet } = service.services
    const first = await readAfterRewind()
    expect((await report(first.node, { mark: first.mark, vanished: [proxyOf(18)] })).status).toBe(200)
    const listed = await fleet.countLostGoods(0)
    expect(await fleet.seeLostGoods()).toBeGreaterThanOrEqual(listed)
    const after = [
      await fleet.seeLostGoods(),
      await fleet.countLostGoods(0),
      (await fleet.lostGoods(0, 200, 50)).length,
    ]
    expect(after).toEqual([0, 0, 0])
    const later = await readAfterRewind()
    expect((await report(later.node, { mark: later.mark, vanished: [proxyOf(19)] })).status).toBe(200)
    expect((await fleet.lostGoods(0, 200, 50)).map(({ id }) => id)).toEqual(['19'])
  })

  test('a counter below the ids in use is raised at the start, and verify finds nothing after it', async () => {
    const { db } = service.services
    const { node } = await readAll()
    expect(node.cursor).toBeDefined()
    const findings = async () => (await findingsOf(service.services)).filter((each) => each.promise === 'counter')
    await db.transact((tx) => tx.run(`UPDATE counters SET next = 1 WHERE name = 'slot'`))
    expect(await findings()).toHaveLength(1)
    await raiseCounters(db)
    expect(await findings()).toEqual([])
  })
})
