import { Database as Sqlite } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { auditOf, sayFinding } from '../../src/core/finding.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import type { HandClock } from '../harness/clock.ts'
import { enginesOf, makeTestDatabase } from '../harness/database.ts'
import { openFilledShop, wireFilled } from '../harness/filled.ts'
import { isLong } from '../harness/scale.ts'
import { openRawDatabase } from './edits.ts'

setDefaultTimeout(240_000)

async function findingsOf(db: Database, clock: HandClock): Promise<ReturnType<typeof sayFinding>[]> {
  const audits = []
  for (const verifier of wireFilled(db, clock).verifiers) audits.push(await auditOf(verifier))
  return audits.flatMap(({ findings }) => findings.map((each) => sayFinding(each)))
}

describe.each([...enginesOf('postgres')])('damaged rows on %s', (engine) => {
  test('an unreadable row does not hide other damaged rows from verify', async () => {
    const opened = await openFilledShop(engine)
    const rawDatabase = await openRawDatabase(engine, opened.testDatabase.address)
    const customers = await opened.db.all<{ id: string }>('SELECT id FROM customers ORDER BY id')
    const [anna, boris] = [customers[0]?.id ?? '', customers[1]?.id ?? '']
    const orders = await opened.db.all<{ id: string }>(`SELECT id FROM orders WHERE product = 'dedicated' ORDER BY id`)
    const first = orders[0]?.id ?? ''
    await rawDatabase.run(`UPDATE orders SET calculation = '{' WHERE id = '${first}'`)
    await rawDatabase.run(
      engine === 'sqlite'
        ? `UPDATE accounts SET balance = 1.5 WHERE customer_id = '${anna}'`
        : `UPDATE accounts SET balance = 9223372036854775807 WHERE customer_id = '${anna}'`,
    )
    await rawDatabase.run(`UPDATE postings SET amount = amount + 1 WHERE customer_id = '${boris}' AND seq = 1`)
    await rawDatabase.run(`UPDATE vpn_terms SET price = price + 1 WHERE seq = 1`)
    await rawDatabase.run('UPDATE traffic_lots SET expires_at = expires_at - 1')
    const wheres = new Set((await findingsOf(opened.db, opened.clock)).map((each) => each.where))
    expect(wheres).toContain(`order ${first}`)
    expect(wheres).toContain(`posting 1 of ${boris}`)
    expect([...wheres].some((where) => where.includes('accounts') || where.includes(anna))).toBe(true)
    expect([...wheres].some((where) => where.startsWith('subscription '))).toBe(true)
    const bought = await opened.db.all<{ id: string }>(
      `SELECT id FROM orders WHERE product = 'premium' AND action = 'buy' ORDER BY id`,
    )
    for (const { id } of bought) expect(wheres).toContain(`order ${id}`)
    await rawDatabase.close()
    await opened.close()
  })

  test('verify reports sums past 64 bits as findings', async () => {
    const opened = await openFilledShop(engine)
    const rawDatabase = await openRawDatabase(engine, opened.testDatabase.address)
    await rawDatabase.run('UPDATE usage_counts SET received = 9223372036854775807, sent = 9223372036854775807')
    await rawDatabase.run('UPDATE usage_counts SET believed_received = 9223372036854775807, believed_sent = received')
    await rawDatabase.run('UPDATE traffic_lots SET rest = 9223372036854775807, size = 9223372036854775807')
    await rawDatabase.run('UPDATE traffic_hours SET received = 9223372036854775807')
    await rawDatabase.run('UPDATE usage_leases SET granted = 9223372036854775807')
    const findings = await findingsOf(opened.db, opened.clock)
    const promises = new Set(findings.map((each) => each.promise))
    for (const promise of ['lots', 'lease', 'hours', 'vpn', 'traffic order'] as const)
      expect(promises).toContain(promise)
    expect(findings.filter((each) => each.reason === 'part_failed')).toEqual([])
    await rawDatabase.close()
    await opened.close()
  })
})

describe('damaged SQLite files', () => {
  /** The database file of a filled shop, without a WAL. */
  async function makeFile(): Promise<{ path: string; clock: HandClock; remove: () => Promise<void> }> {
    const { db, testDatabase, clock } = await openFilledShop('sqlite')
    await db.close()
    return { path: testDatabase.address, clock, remove: () => testDatabase.remove() }
  }

  function isNamed(path: string): boolean {
    try {
      const file = new Sqlite(path, { readwrite: true })
      const rows = file.query('PRAGMA integrity_check').all() as { integrity_check: string }[]
      file.close()
      return rows[0]?.integrity_check !== 'ok'
    } catch {
      return true
    }
  }

  /** Whether verify finds something; a file that cannot be opened counts as found. */
  async function isNoticed(path: string, clock: HandClock): Promise<boolean> {
    let db: Database | undefined
    try {
      db = openDatabase(path)
      return (await findingsOf(db, clock)).length > 0
    } catch {
      return true
    } finally {
      await db?.close().catch(() => {})
    }
  }

  test('verify finds a flipped bit that integrity_check finds', async () => {
    const { path, clock, remove } = await makeFile()
    const testDatabase = await makeTestDatabase('sqlite')
    const whole = readFileSync(path)
    let named = 0
    // All 300 may be tried, however the file is laid out; a short run ends at the fourth that integrity_check finds.
    const flips = 300
    /** Verify reads the whole shop for each flip. */
    const maxNamed = isLong ? flips : 4
    for (let flip = 0; flip < flips && named < maxNamed; flip += 1) {
      const bytes = Uint8Array.from(whole)
      // 113 has no common divisor with 300, so that the first flips are spread over the whole file.
      const at = Math.floor((((flip * 113) % flips) * bytes.length) / flips) + (flip % 97)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (flip % 8))
      const copy = join(testDatabase.folder, `flipped-${flip}.db`)
      writeFileSync(copy, bytes)
      if (!isNamed(copy)) continue
      named += 1
      expect([at, await isNoticed(copy, clock)]).toEqual([at, true])
    }
    expect(named).toBeGreaterThan(2)
    await testDatabase.remove()
    await remove()
  })

  test('compareWith reports a kept checkpoint as absent from a SQLite file whose WAL was cut off', async () => {
    const opened = await openFilledShop('sqlite')
    const { services, clock } = opened
    await services.db.transact((tx) => tx.run(`UPDATE rate_buckets SET back_at = 3`))
    const log = `${opened.testDatabase.address}-wal`
    const length = statSync(log).size
    clock.advance(300_000)
    const made = await services.ledgerAudit.makeCheckpoint()
    const kept = [{ number: made?.number, hash: made?.hash.toHex() ?? '' }]
    expect((await services.ledgerAudit.compareWith(kept)).findings).toEqual([])
    const testDatabase = await makeTestDatabase('sqlite')
    copyFileSync(opened.testDatabase.address, testDatabase.address)
    copyFileSync(log, `${testDatabase.address}-wal`)
    truncateSync(`${testDatabase.address}-wal`, length)
    const cut = openDatabase(testDatabase.address)
    expect(await findingsOf(cut, clock)).toEqual([])
    const { findings } = await wireFilled(cut, clock).ledgerAudit.compareWith(kept)
    expect(findings.map((each) => each.reason)).toEqual(['checkpoint_absent'])
    await cut.close()
    await testDatabase.remove()
    await opened.close()
  })
})
