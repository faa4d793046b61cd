import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Engine } from '../harness/database.ts'
import { longTest } from '../harness/long-test.ts'
import { isLong } from '../harness/scale.ts'
import { untilTrue } from '../harness/turnpike.ts'
import type { AttackName } from './bounds.ts'
import { runStorm, type StormOptions } from './storm.ts'
import { toTable } from './table.ts'

/** Attacks that a test can run beside others: they use no more of the machine than a customer. */
const quiet: readonly AttackName[] = [
  'repeated keys',
  'overdraft',
  'access revoked within the body',
  'foreign ids and cursors',
  'malformed requests',
  'noise at the gateway',
]

const full = { minutes: 1.2, customers: 4, attackers: [...quiet, 'quota overrun', 'revoked lines'] } as const
/** A storm takes minutes of real time, so `npm test` runs none; its parts have their own tests. */
const tried: readonly Engine[] = isLong ? ['sqlite', 'postgres'] : []

/** The pids of children that run a role. */
function rolesBelow(pid: number): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,args='])
  const rows = stdout.toString().matchAll(/^ *(\d+) +(\d+) .*turnpike\.ts (?:shop|gateway)$/gm)
  return [...rows].filter((row) => Number(row[2]) === pid).map((row) => Number(row[1]))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

longTest('SIGTERM to a storm ends its shop and its gateway', async () => {
  const command = [
    process.execPath,
    '--no-env-file',
    join(import.meta.dir, 'run.ts'),
    '--minutes',
    '5',
    '--customers',
    '1',
  ]
  const storm = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' })
  expect(await untilTrue(async () => rolesBelow(storm.pid).length === 2)).toBe(true)
  const roles = rolesBelow(storm.pid)
  storm.kill('SIGTERM')
  await storm.exited
  expect(await untilTrue(async () => !roles.some(isRunning))).toBe(true)
})

describe.each(tried)('a storm on %s', (engine) => {
  test("every bill in a storm of 1.2 min equals its customer's count, and no attacker exceeds its bound", async () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const options: Omit<StormOptions, 'engine' | 'seed'> = full
    const outcome = await runStorm({ ...options, engine, seed })
    expect({ problems: outcome.problems, table: outcome.problems.length > 0 ? toTable(outcome) : '' }).toEqual({
      problems: [],
      table: '',
    })
    expect(outcome.honest.orders).toBeGreaterThan(5)
    expect(outcome.honest.usedBytes).toBeGreaterThan(0)
    expect(outcome.attackers.map((row) => row.attacker)).toEqual([...(options.attackers ?? [])])
  })
})
