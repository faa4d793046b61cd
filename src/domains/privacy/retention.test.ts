import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { fillShop, wireFilled } from '../../../test/harness/filled.ts'
import type { Services } from '../../app/shop/services.ts'
import { auditOf } from '../../core/finding.ts'
import { isBeginning, monthStartsUntil, readCursor, redact, thingsIn, toCursor, withoutNames } from './rules.ts'

describe.each([...engines])('retention on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wireFilled(opened.db, clock)
    await fillShop({ services, clock })
  })
  afterAll(async () => {
    await opened.close()
  })
  const hours = () =>
    opened.db.all<{ subuser_id: string; pool: string; hour: bigint; received: bigint; sent: bigint }>(
      'SELECT * FROM traffic_hours ORDER BY subuser_id, pool, hour',
    )
  const verify = async () =>
    (await Promise.all(services.verifiers.map((each) => auditOf(each)))).flatMap((audit) => audit.findings)

  test('foldHours and forgetSources change nothing before the retention period is over', async () => {
    const before = await hours()
    expect(await services.retaining.foldHours(100)).toBe(0)
    expect(await hours()).toEqual(before)
    const devices = await opened.db.first('SELECT COUNT(*) AS n FROM vpn_peers WHERE last_handshake_at IS NOT NULL')
    await services.retaining.forgetSources(100)
    expect(await opened.db.first('SELECT COUNT(*) AS n FROM vpn_peers WHERE last_handshake_at IS NOT NULL')).toEqual(
      devices,
    )
  })

  test('foldHours merges hours into months and forgetSources clears sources after 500 days, and verify passes', async () => {
    const sums = (rows: Awaited<ReturnType<typeof hours>>) =>
      [...Map.groupBy(rows, (row) => `${row.subuser_id} ${row.pool}`)].map(([account, all]) => [
        account,
        all.reduce((sum, row) => sum + row.received, 0n),
        all.reduce((sum, row) => sum + row.sent, 0n),
      ])
    const before = await hours()
    await opened.db.transact((tx) => tx.run(`UPDATE tokens SET used_at = 1, used_from = '203.0.113.9'`))
    clock.advanceDays(500)
    expect(await services.retaining.foldHours(1)).toBe(1)
    while ((await services.retaining.foldHours(1)) === 1) continue
    const after = await hours()
    expect(after.every((row) => new Date(Number(row.hour)).toISOString().endsWith('-01T00:00:00.000Z'))).toBe(true)
    expect(after.length).toBeLessThan(before.length)
    expect(sums(after)).toEqual(sums(before))
    while ((await services.retaining.forgetSources(1)) > 0) continue
    const left = await opened.db.first<{ n: bigint }>(
      `SELECT (SELECT COUNT(*) FROM tokens WHERE used_from IS NOT NULL)
         + (SELECT COUNT(*) FROM whitelist_entries WHERE last_used_at IS NOT NULL)
         + (SELECT COUNT(*) FROM vpn_peers WHERE last_handshake_at IS NOT NULL) AS n`,
    )
    expect(left?.n).toBe(0n)
    expect(await verify()).toEqual([])
  })
})

test('redact keeps only ids, moments and numbers of a request', () => {
  const id = `cus_${'0'.repeat(26)}`
  const request = { names: [id, '17', 'Anna'], note: 'her note', at: '2026-01-01T00:00:00.000Z', n: 3, undo: true }
  expect(JSON.parse(redact(JSON.stringify(request)))).toEqual({
    names: [id, '17', '[erased]'],
    note: '[erased]',
    at: '2026-01-01T00:00:00.000Z',
    n: 3,
    undo: true,
  })
  expect(redact('not json')).toBe('"[erased]"')
  expect(redact(redact(JSON.stringify(request)))).toBe(redact(JSON.stringify(request)))
  expect(thingsIn(JSON.stringify(request))).toEqual({ ids: [id], numbers: [17, 3] })
})

test('isBeginning recognises the audit entry that created a customer by its action, time and name', () => {
  const beginning = { createdAt: 1000, content: `'O''Brien',1000,NULL` }
  const entry = { action: 'createCustomer', at: 1500, request: JSON.stringify({ words: [`O'Brien`] }) }
  expect(isBeginning(entry, beginning)).toBe(true)
  expect(isBeginning({ ...entry, at: 100_000 }, beginning)).toBe(false)
  expect(isBeginning({ ...entry, request: '{"name":"Brien"}' }, beginning)).toBe(false)
  expect(isBeginning({ ...entry, action: 'noteCustomer' }, beginning)).toBe(false)
  const escaped = { createdAt: 1000, content: `E'a\\\\b',1000,NULL` }
  expect(isBeginning({ ...entry, request: JSON.stringify({ name: 'a\\b' }) }, escaped)).toBe(true)
})

test('withoutNames removes names and keys from an order, and leaves texts that are no object unchanged', () => {
  expect(withoutNames('{"period":1,"name":"laptop","public_key":"k"}')).toBe('{"period":1}')
  for (const text of ['[]', 'no', 'null']) expect(withoutNames(text)).toBe(text)
})

test('readCursor reads the text of toCursor, and refuses other texts', () => {
  const cursor = { holding: 3, after: ['a', 7] }
  expect(readCursor(toCursor(cursor))).toEqual(cursor)
  for (const text of ['', '{}', '["x"]', '[1.5]', '[1,null]']) expect(readCursor(text)).toBeUndefined()
})

test('monthStartsUntil lists the starts of all months across the end of a year', () => {
  const starts = monthStartsUntil(Date.UTC(2025, 10, 20), Date.UTC(2026, 1, 1))
  expect(starts.map((at) => new Date(at).toISOString().slice(0, 10))).toEqual([
    '2025-11-01',
    '2025-12-01',
    '2026-01-01',
  ])
})
