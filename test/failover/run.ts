/**
 * Command: `npm run failover -- [--rounds N] [--seed N] [--only FAULT;…]`. Runs two shops and two gateways on a
 * replicated database with faults. Exits with 1 if a promise was broken, and with 2 on a usage error.
 */
import { parseArgs } from 'node:util'
import { findFleetObstacle } from '../storm/fleet/net.ts'
import { findClusterObstacle } from './cluster.ts'
import { runFailover } from './failover.ts'
import { type DatabaseFault, databaseFaults } from './faults.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '40' }, seed: { type: 'string' }, only: { type: 'string' } },
})

function mistyped(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}

const rounds = Number(values.rounds)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
if (!(Number.isSafeInteger(rounds) && rounds > 0 && Number.isSafeInteger(seed)))
  mistyped('--rounds and --seed are whole numbers.')
const isFault = (name: string): name is DatabaseFault => databaseFaults.some((each) => each === name)
const only = values.only?.split(';').filter((name) => name !== '')
if (only && !only.every(isFault))
  mistyped(`--only names faults, separated by semicolons: ${databaseFaults.join('; ')}.`)
const obstacle = (await findFleetObstacle()) ?? (await findClusterObstacle())
if (obstacle !== undefined) mistyped(`A cluster cannot be had here: ${obstacle}.`)
const print = (line: string) => void process.stdout.write(`${line}\n`)
print(`seed ${seed}`)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
const outcome = await runFailover({ rounds, seed, print, ...(only && { only: only.filter(isFault) }) })
const problems = [...outcome.rounds.flatMap((each) => each.problems), ...outcome.problems]
const clean = outcome.rounds.filter((each) => each.problems.length === 0).length
const slowest = Math.max(...outcome.rounds.map(({ resumedMs }) => resumedMs))
print(
  `${clean} of ${rounds} rounds clean; sold again after ${(slowest / 1000).toFixed(1)} s at most; ` +
    `${outcome.purchases} purchases, ${outcome.payments} payments, ${outcome.usedBytes} bytes, ` +
    `${outcome.directWrites} direct writes`,
)
print(`logged: ${JSON.stringify(outcome.logged)}`)
for (const problem of outcome.problems) print(`WRONG ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)
