import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { draftMark } from '../../src/app/backup/backup.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { findClosed, isUnfinished } from '../../src/db/closed.ts'
import { openDatabase } from '../../src/db/open.ts'
import {
  type Engine,
  engines,
  enginesOf,
  makeTestDatabase,
  openTestDatabase,
  type TestDatabase,
} from '../harness/database.ts'
import { isLong } from '../harness/scale.ts'
import { endStarted, runCommand, startTurnpike, untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'
import { addCustomer, wire } from '../harness/wired.ts'

const program = fileURLToPath(import.meta.resolve('./load.ts'))
const rounds = isLong ? 50 : 1

afterAll(endStarted)

/** A shop that sells without pause, and the orders that it has acknowledged so far. */
function startLoad(address: string, customers: readonly CustomerId[]) {
  const child = Bun.spawn([process.execPath, program, address, ...customers], { stdout: 'pipe', stderr: 'inherit' })
  const acknowledged: string[] = []
  async function collect(): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      acknowledged.push(...lines.filter((line) => line !== 'begun'))
    }
  }
  const collected = collect()
  return {
    acknowledged,
    async kill() {
      child.kill('SIGKILL')
      await collected
      await child.exited
    },
  }
}

const envOf = (engine: Engine, testDatabase: TestDatabase): Record<string, string> => ({
  TURNPIKE_DATA: testDatabase.folder,
  TURNPIKE_SECRET_KEY: '00'.repeat(32),
  ...(engine === 'postgres' && { TURNPIKE_DATABASE_URL: testDatabase.address }),
})

/** Starts a command and sends SIGKILL once `isUnderWay`, unless the command has ended by then. */
async function startAndKill(
  command: readonly string[],
  env: Record<string, string>,
  isUnderWay: () => boolean | Promise<boolean>,
): Promise<void> {
  const running = startTurnpike(command, env)
  let isOver = false
  const ended = running.exited.then(() => (isOver = true))
  expect(await untilTrue(async () => isOver || (await isUnderWay()))).toBeTrue()
  running.kill('SIGKILL')
  await ended
}

/** Runs a command to its end. An earlier attempt may have ended before its SIGKILL. */
async function runToEnd(command: readonly string[], env: Record<string, string>): Promise<void> {
  const { exit, err, out } = await runCommand(command, env)
  const isDone = exit === 0 || /not empty|already/.test(err)
  if (!isDone) throw new Error(`${command[0]} ended with ${exit}: ${err}${out}`)
}

/** True once a restore has begun to fill the database. */
async function isBeingFilled(engine: Engine, testDatabase: TestDatabase): Promise<boolean> {
  if (engine === 'sqlite') return existsSync(`${testDatabase.address}.unfinished`)
  const db = openDatabase(testDatabase.address)
  try {
    return isUnfinished(await findClosed(db))
  } finally {
    await db.close()
  }
}

async function ordersIn(testDatabase: TestDatabase): Promise<Set<string>> {
  const db = openDatabase(testDatabase.address)
  const rows = await db.all<{ id: string }>('SELECT id FROM orders')
  const halves = await db.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM orders WHERE NOT EXISTS
       (SELECT 1 FROM postings WHERE postings.customer_id = orders.customer_id AND postings.seq = orders.charge_seq)`,
  )
  await db.close()
  expect(halves?.n).toBe(0n)
  return new Set(rows.map((row) => row.id))
}

/** A shop with two customers who can pay for everything. */
async function openShop(engine: Engine) {
  const { db, testDatabase } = await openTestDatabase(engine)
  const services = wire(db)
  const customers = [await addCustomer(services, 10n ** 12n), await addCustomer(services, 10n ** 12n)]
  await db.transact((tx) => services.customers.decideMode(tx, 'production'))
  await db.close()
  return { testDatabase, customers, acknowledged: [] as string[] }
}

describe.each([...enginesOf('sqlite')])('backups of a shop on %s under load', (engine) => {
  test(`${rounds} backups, each with SIGKILL of the shop and a command, restore all purchases acknowledged before`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-backups-'))
    let shop = await openShop(engine)
    for (let round = 0; round < rounds; round += 1) {
      // A shop sells thousands in each round. A new one after ten rounds bounds the rows that a restore verifies.
      if (round > 0 && round % 10 === 0) {
        await shop.testDatabase.remove()
        shop = await openShop(engine)
      }
      const { testDatabase, customers } = shop
      const turn = round + engines.indexOf(engine)
      const load = startLoad(testDatabase.address, customers)
      await until(() => load.acknowledged.length > turn % 10)
      const before = [...shop.acknowledged, ...load.acknowledged]
      const backup = join(folder, String(round))
      const hasBegun = () => readdirSync(folder).some((name) => name.startsWith(`${round}${draftMark}`))
      if (turn % 2 === 0) {
        await startAndKill(['backup', backup], envOf(engine, testDatabase), hasBegun)
        for (const left of readdirSync(folder))
          if (left.includes(draftMark)) rmSync(join(folder, left), { recursive: true })
      }
      // The shop is killed while its backup is written.
      const killing = untilTrue(() => hasBegun() || existsSync(backup)).then(() => load.kill())
      await runToEnd(['backup', backup], envOf(engine, testDatabase))
      await killing
      shop.acknowledged.push(...load.acknowledged)
      const onto = engines[turn % 2] ?? engine
      const target = await makeTestDatabase(onto)
      if (turn % 2 === 1) {
        await startAndKill(['restore', backup], envOf(onto, target), () => isBeingFilled(onto, target))
      }
      await runToEnd(['restore', backup], envOf(onto, target))
      const kept = await ordersIn(target)
      expect(before.length).toBeGreaterThan(round % 10)
      expect(before.filter((order) => !kept.has(order))).toEqual([])
      await target.remove()
      rmSync(backup, { recursive: true, force: true })
    }
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true, force: true })
    await shop.testDatabase.remove()
  })
})
