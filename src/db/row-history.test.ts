import { describe, expect, test } from 'bun:test'
import { HandClock } from '../../test/harness/clock.ts'
import { engines, makeTestDatabase, openTestDatabase } from '../../test/harness/database.ts'
import { openFilledShop } from '../../test/harness/filled.ts'
import { readMigrations } from '../app/shop/database.ts'
import { realRuntime } from '../app/shop/services.ts'
import { auditOf } from '../core/finding.ts'
import { createLedgerAudit } from '../domains/ledger/index.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { countUnstamped, createHistoryVerifier, createRowHistory } from './row-history.ts'
import type { Database } from './transaction.ts'

/** Rows that exist before the migration that adds the row history. */
const before = [
  `INSERT INTO nodes (id, kind, name, location, state, boot, hop_bytes, drained_at, created_at)
   VALUES ('node_1', 'gateway', 'gate-1', '', 'open', '2026', 7, 5, 1)`,
  `INSERT INTO stock_ranges (id, prefix, node_ids, state, created_at, changed_at) VALUES (1, '8.8.8.0/24', '', 'in', 1, 1)`,
  `INSERT INTO stock_trials (node_id, range_id, served, problems, seen_as, changed_at)
   VALUES ('node_1', 1, '[]', '["it''s away"]', NULL, 3)`,
  `INSERT INTO proxy_outages (proxy_id, from_at, cause) VALUES (4, 10, 'outage')`,
]

const findingsIn = async (db: Database) => (await createHistoryVerifier({ db }).verify()).findings
const run = (db: Database, sql: string) => db.transact((tx) => tx.run(sql))

describe.each([...engines])('the history of rows on %s', (engine) => {
  test('the row history starts with the existing rows, and triggers record each later change', async () => {
    const testDatabase = await makeTestDatabase(engine)
    const db = openDatabase(testDatabase.address)
    const shipped = readMigrations()
    await migrate(db, shipped.slice(0, 1))
    for (const sql of before) await run(db, sql)
    await migrate(db, shipped)
    expect(await findingsIn(db)).toEqual([])
    expect(await db.first('SELECT COUNT(*) AS n FROM row_history WHERE checkpoint IS NULL')).not.toEqual({ n: 0n })
    await run(db, `UPDATE nodes SET drained_at = NULL, max_ports = 3`)
    await run(db, `UPDATE proxy_outages SET until_at = 20, given = 'nothing', expires_before = 30, expires_after = 30`)
    await run(db, `UPDATE stock_trials SET seen_as = '9.9.9.9'`)
    expect(await findingsIn(db)).toEqual([])
    await run(db, 'DELETE FROM stock_trials')
    expect(await findingsIn(db)).toEqual([])
    await db.close()
    await testDatabase.remove()
  })

  test('verify reports a numbered version of a row whose history keeps only the latest version', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    await run(db, `INSERT INTO counters (name, next) VALUES ('slot', 7)`)
    expect(await findingsIn(db)).toEqual([])
    await run(db, `UPDATE row_history SET version = 1 WHERE of_table = 'counters'`)
    expect(await findingsIn(db)).toMatchObject([
      { promise: 'history', where: { params: { table: 'counters', key: 'slot' } } },
    ])
    await opened.close()
  })

  test('100 changes of a proxy between two checkpoints are one version, and verify finds nothing', async () => {
    const opened = await openFilledShop(engine)
    const { db, services, clock } = opened
    await services.ledgerAudit.makeCheckpoint()
    const id = (await db.first<{ id: bigint }>(`SELECT MIN(id) AS id FROM proxies WHERE state = 'held'`))?.id ?? 0n
    const versions = async () =>
      await db.all<{ of_table: string; checkpoint: bigint | null; content: string }>(
        `SELECT of_table, checkpoint, content FROM row_history
         WHERE of_table IN ('proxies', 'proxies, entrance') AND row_key = $1 ORDER BY of_table, version`,
        [String(id)],
      )
    const flood = async () => {
      for (let round = 0; round < 100; round += 1) {
        await db.transact((tx) =>
          tx.run(`UPDATE proxies SET comment = $2, both_protocols = $3 WHERE id = $1`, [
            id,
            `round ${round}`,
            round % 2,
          ]),
        )
      }
    }
    const known = await versions()
    await flood()
    clock.advance(3_600_000)
    await services.ledgerAudit.makeCheckpoint()
    await flood()
    const added = (await versions()).filter((each) => !known.some((old) => Bun.deepEquals(old, each)))
    expect(added.map((each) => [each.of_table, each.checkpoint === null])).toEqual([
      ['proxies', false],
      ['proxies', true],
      ['proxies, entrance', false],
      ['proxies, entrance', true],
    ])
    expect(added[1]?.content).toContain('round 99')
    for (const verifier of services.verifiers) expect((await auditOf(verifier)).findings).toEqual([])
    await opened.close()
  })

  test('a version that no checkpoint covers is replaced only in the histories of rows that customers change', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    const write = (table: string, version: number, content: string) =>
      run(
        db,
        `INSERT INTO row_history (of_table, row_key, version, content) VALUES ('${table}', '7', ${version}, '${content}')`,
      )
    for (const table of ['tokens', 'subusers']) for (const version of [1, 2]) await write(table, version, `v${version}`)
    const versions = await db.all(
      `SELECT of_table, version, content FROM row_history WHERE of_table IN ('tokens', 'subusers') ORDER BY 1, 2`,
    )
    expect(versions).toEqual([
      { of_table: 'subusers', version: 1n, content: 'v2' },
      { of_table: 'tokens', version: 1n, content: 'v1' },
      { of_table: 'tokens', version: 2n, content: 'v2' },
    ])
    const isRefused = (sql: string) =>
      run(db, sql).then(
        () => false,
        () => true,
      )
    const edit = `UPDATE row_history SET content = 'other' WHERE of_table = `
    expect(await isRefused(`${edit} 'tokens'`)).toBeTrue()
    await run(db, `UPDATE row_history SET checkpoint = 1 WHERE of_table = 'subusers'`)
    expect(await isRefused(`${edit} 'subusers'`)).toBeTrue()
    await opened.close()
  })

  test('a checkpoint stamps every history when one has 50 times its share, and one call leaves no version', async () => {
    const opened = await openTestDatabase(engine)
    const { db } = opened
    const clock = new HandClock()
    const history = createRowHistory({ ...realRuntime, maxStamped: 20 })
    const audit = createLedgerAudit({ ...realRuntime, db, clock: clock.read, history })
    await audit.makeCheckpoint()
    const flooded = Array.from({ length: 500 }, (_, index) => `('proxies', '${index}', 1, 'x')`).join(', ')
    await run(
      db,
      `INSERT INTO row_history (of_table, row_key, version, content) VALUES ${flooded}, ('vpn_peers', 'dev_1', 1, 'y')`,
    )
    expect(await countUnstamped(db)).toBe(501)
    const covered = await db
      .transact(async (tx) => {
        const { isComplete, versions } = await history.stamp(tx, 99)
        const peers = await tx.first(`SELECT checkpoint FROM row_history WHERE of_table = 'vpn_peers'`)
        throw Object.assign(new Error('only a try'), { covered: { isComplete, versions, peers } })
      })
      .catch((error: unknown) => (error as { covered?: unknown }).covered)
    expect(covered).toEqual({ isComplete: false, versions: 11, peers: { checkpoint: 99n } })
    clock.advance(3_600_000)
    const made = await audit.makeCheckpoint()
    expect(made?.number).toBeGreaterThan(25)
    expect(await countUnstamped(db)).toBe(0)
    const { findings } = await db.snapshot((reader) => audit.verify(reader, new Map(), async () => []))
    expect(findings).toEqual([])
    await opened.close()
  })
})
