/**
 * Command: `npm run soak -- --hours N [--seed N] [--customers N] [--per-second N] [--json]`. Exits with 1 if a figure
 * is not flat or anything is lost, and with 2 on a usage error.
 */
import { parseArgs } from 'node:util'
import { findFleetObstacle } from '../fleet/net.ts'
import { runSoak } from './soak.ts'
import { toSoakTable, toVerdict } from './table.ts'

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '2' },
    seed: { type: 'string' },
    customers: { type: 'string', default: '6' },
    'per-second': { type: 'string', default: '14' },
    json: { type: 'boolean', default: false },
  },
})

function mistyped(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}

const hours = Number(values.hours)
if (!(hours > 0 && hours <= 1000)) mistyped('--hours is a number up to 1000.')
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
const customers = Number(values.customers)
const perSecond = Number(values['per-second'])
if (!Number.isSafeInteger(seed)) mistyped('--seed is a whole number.')
if (!(Number.isSafeInteger(customers) && customers >= 1 && customers <= 20)) mistyped('--customers is 1 to 20.')
if (!(perSecond > 0 && perSecond <= 200)) mistyped('--per-second is a number up to 200.')
const lacking = await findFleetObstacle()
if (lacking !== undefined) mistyped(`A soak cannot run here: ${lacking}.`)

const print = values.json ? () => {} : (line: string) => void process.stdout.write(`${line}\n`)
print(`seed ${seed}`)
// On these signals the soak ends with all its child processes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
const outcome = await runSoak({ hours, seed, customers, perSecond, print })
process.stdout.write(values.json ? `${JSON.stringify(outcome, undefined, 2)}\n` : `\n${toSoakTable(outcome)}\n`)
process.exit(toVerdict(outcome).length === 0 ? 0 : 1)
