import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createLog } from '../../src/adapters/log.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { readMigrations } from '../../src/app/shop/database.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import { openShop, type Shop } from '../../src/app/shop/shop.ts'
import type { Finding } from '../../src/core/finding.ts'
import { type Migration, migrate } from '../../src/db/migrate.ts'
import { type Caller, createCaller } from '../harness/caller.ts'
import { type Service, startService } from '../harness/service.ts'
import { untilTrue } from '../harness/turnpike.ts'

/** A migration that adds to every table what `tidy` allows the next version to add. */
async function makeNext({ services }: Service): Promise<Migration> {
  const tables = await services.db.all<{ name: string }>(
    `SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`,
  )
  const lines = tables.flatMap(({ name }) =>
    name === 'migrations'
      ? []
      : [
          `ALTER TABLE ${name} ADD COLUMN next_note TEXT;`,
          `ALTER TABLE ${name} ADD COLUMN next_count BIGINT NOT NULL DEFAULT 0;`,
          `CREATE INDEX ${name}_by_next_note ON ${name} (next_note);`,
        ],
  )
  return { name: '9999-next', text: `CREATE TABLE next_things (id TEXT PRIMARY KEY);\n${lines.join('\n')}\n` }
}

describe('a shop on the schema of the next version', () => {
  let first: Service
  let second: Shop | undefined
  let other: Caller
  beforeAll(async () => {
    first = await startService('postgres', { TURNPIKE_SECRET_KEY: '56'.repeat(32) }, realRuntime)
  })
  afterAll(async () => {
    await second?.stop()
    await first.stop()
  })

  const order = { country_code: 'DE', period: 7, count: 1, ipv: 4 }
  /** Buys each product once and reads each list; returns the statuses other than 200. */
  async function buyAll(caller: Caller): Promise<number[]> {
    const answers = [
      await caller.post('/dedicated/buy', order),
      await caller.post('/premium/traffic/buy', { pool_type: 'residential', gb: 0.1 }),
      await caller.get('/dedicated/list'),
      await caller.get('/orders'),
      await caller.get('/events'),
      await caller.get('/vpn/locations'),
    ]
    return answers.map((each) => each.status).filter((status) => status !== 200)
  }

  test('a shop sells without a failure while and after a migration adds columns to every table', async () => {
    expect(await buyAll(first)).toEqual([])
    const next = await makeNext(first)
    const migration = { isOver: false }
    const failed: string[] = []
    const selling = (async () => {
      while (!migration.isOver) {
        const { status, error } = await first.post('/dedicated/buy', order)
        if (status !== 200) failed.push(`${status} ${error?.code}`)
      }
    })()
    expect(await migrate(first.services.db, [...readMigrations(), next])).toEqual([next.name])
    migration.isOver = true
    await selling
    expect(failed).toEqual([])
    for (let round = 0; round < 5; round += 1) expect(await buyAll(first)).toEqual([])
  })

  test('a shop opens a database of the next version, sells beside another shop, and verify finds nothing', async () => {
    const config = readConfig({
      TURNPIKE_SECRET_KEY: '56'.repeat(32),
      TURNPIKE_PORT: '0',
      TURNPIKE_METRICS_LISTEN: '',
      TURNPIKE_RATE_READS: '0',
      TURNPIKE_RATE_CHARGES: '0',
      TURNPIKE_DATA: `${first.testDatabase.folder}/second`,
      TURNPIKE_DATABASE_URL: first.testDatabase.address,
    })
    second = await openShop(
      config,
      createLog('error', 'shop', () => {}),
    )
    other = await createCaller(second.url, first.token)
    const both = await Promise.all([buyAll(first), buyAll(other), buyAll(first), buyAll(other)])
    expect(both.flat()).toEqual([])
    const findings: Finding[] = []
    // These two compare the schema, which the next version has extended.
    for (const each of first.services.verifiers) {
      if (!['schema', 'integrity'].includes(each.name)) findings.push(...(await each.verify()).findings)
    }
    expect(findings).toEqual([])
    expect(await untilTrue(async () => (await fetch(`${second?.url}/readyz`)).status === 200)).toBeTrue()
  })
})
