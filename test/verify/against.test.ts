import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tx } from '../../src/db/transaction.ts'
import { moneyJobs } from '../../src/jobs/shop.ts'
import { enginesOf } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'
import { runCommand } from '../harness/turnpike.ts'

type Sent = { readonly number: number; readonly hash: string }

describe.each([...enginesOf('postgres')])('checkpoints kept elsewhere, on %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-'))
  const file = join(folder, 'kept.jsonl')
  const sent: Sent[] = []
  let service: Service
  const keeper = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      sent.push((await request.json()) as Sent)
      return new Response('')
    },
  })

  beforeAll(async () => {
    const kept = { TURNPIKE_CHECKPOINT_FILE: file, TURNPIKE_CHECKPOINT_URL: keeper.url.href }
    service = await startService(engine, kept)
    for (let made = 0; made < 3; made += 1) {
      await service.newCustomer(10n)
      service.clock.advance(300_000)
      await makeCheckpoint()
    }
  })
  afterAll(async () => {
    await service.stop()
    await keeper.stop(true)
    rmSync(folder, { recursive: true })
  })

  /** Runs the shop's checkpoint job at a time that the test chooses. */
  async function makeCheckpoint(): Promise<void> {
    const quiet = { info: () => {}, error: () => {} }
    await moneyJobs(service.services, quiet)
      .find((job) => job.name === 'checkpoint')
      ?.work()
  }

  const verify = async (against: string) => {
    const env = {
      TURNPIKE_DATA: service.testDatabase.folder,
      ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: service.testDatabase.address }),
    }
    const { exit, out } = await runCommand(['verify', '--against', against, '--json'], env)
    return { exit, report: JSON.parse(out) }
  }

  test('each checkpoint is written to the file and sent to the address once', () => {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const written = lines.map((line) => JSON.parse(line) as Sent)
    expect(written).toEqual(sent)
    expect(written.map((each) => each.number)).toEqual([1, 2, 3])
  })

  test('verify --against exits 0 when the database has every checkpoint, and names a missing one', async () => {
    const whole = await verify(file)
    expect(whole.report).toMatchObject({ ok: true, covered: { 'checkpoints kept elsewhere': 3 } })
    expect(whole.exit).toBe(0)
    expect((await verify(sent[1]?.hash ?? '')).exit).toBe(0)
    expect((await verify('ab'.repeat(32))).report.findings).toMatchObject([
      { where: `checkpoint ${'ab'.repeat(32)}`, problem: 'it was kept elsewhere and is not in this database' },
    ])
    expect((await verify('no-such-file')).exit).toBe(2)
  })

  test('verify --against finds newest rows that were cut off, which verify alone does not', async () => {
    const { db } = service.services
    await db.transact((tx) => cutOff(tx, engine))
    const alone = await verify(sent[1]?.hash ?? '')
    expect(alone.report).toMatchObject({ ok: true })
    const against = await verify(file)
    expect(against.exit).toBe(1)
    expect(against.report.findings).toMatchObject([
      {
        promise: 'checkpoint',
        where: `checkpoint 3, ${sent[2]?.hash}`,
        advice: expect.stringContaining('compare it with a backup'),
      },
    ])
  })
})

/** Deletes the last checkpoint and its marks as the owner of the database could, and restores the triggers. */
async function cutOff(tx: Tx, engine: 'sqlite' | 'postgres'): Promise<void> {
  const guards = engine === 'sqlite' ? await sqliteGuards(tx) : []
  for (const { name } of guards) await tx.run(`DROP TRIGGER ${name}`)
  if (engine === 'postgres') await tx.run(`SET LOCAL session_replication_role = replica`)
  await tx.run('DELETE FROM checkpoints WHERE number = 3')
  await tx.run('UPDATE row_history SET checkpoint = NULL WHERE checkpoint = 3')
  for (const { sql } of guards) await tx.run(sql)
}

const sqliteGuards = (tx: Tx): Promise<{ name: string; sql: string }[]> =>
  tx.all(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('checkpoints', 'row_history')`)
