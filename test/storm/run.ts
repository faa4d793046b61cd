/**
 * Command: `npm run storm -- --engine sqlite|postgres --minutes N [--seed N] [--only NAME,…]
 * [--fleet [--gateways N] [--shops N]] [--json]`. Exits with 1 if anything exceeded its bound, and with 2 on a usage
 * error.
 */
import { parseArgs } from 'node:util'
import { findObstacle } from '../harness/netns.ts'
import { enterOwnNetwork } from '../harness/own-network.ts'
import { type AttackName, bounds } from './bounds.ts'
import { findFleetObstacle } from './fleet/net.ts'
import { runFleetStorm } from './fleet/storm.ts'
import { toFleetTable } from './fleet/table.ts'
import { type FleetFault, fleetFaults } from './fleet/weather.ts'
import { maxGateways } from './fleet/world.ts'
import { openStealthyClient } from './stealthy-client.ts'
import { runStorm } from './storm.ts'
import { toTable } from './table.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    customers: { type: 'string', default: '5' },
    only: { type: 'string' },
    fleet: { type: 'boolean', default: false },
    gateways: { type: 'string', default: '3' },
    shops: { type: 'string', default: '2' },
    json: { type: 'boolean', default: false },
  },
})

function mistyped(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}

const { engine } = values
if (engine !== 'sqlite' && engine !== 'postgres') mistyped('--engine is sqlite or postgres.')
const minutes = Number(values.minutes)
if (!(minutes > 0 && minutes <= 24 * 60)) mistyped('--minutes is a number up to 1440.')
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
const customers = Number(values.customers)
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(customers))
  mistyped('--seed and --customers are whole numbers.')
const [gateways, shops] = [Number(values.gateways), Number(values.shops)]
if (!(Number.isSafeInteger(gateways) && gateways >= 2 && gateways <= maxGateways))
  mistyped(`--gateways is a number from 2 to ${maxGateways}.`)
if (!(Number.isSafeInteger(shops) && shops >= 1 && shops <= 5)) mistyped('--shops is a number from 1 to 5.')
const isAttack = (name: string): name is AttackName => name in bounds
const only = values.only?.split(',').filter((name) => name !== '')
const isFleetFault = (name: string): name is FleetFault => fleetFaults.some((each) => each === name)
if (values.fleet && only && !only.every(isFleetFault)) mistyped(`--only names faults: ${fleetFaults.join(', ')}.`)
if (!values.fleet && only && !only.every(isAttack))
  mistyped(`--only names attackers: ${Object.keys(bounds).join(', ')}.`)

const print = values.json ? () => {} : (line: string) => void process.stdout.write(`${line}\n`)
print(`seed ${seed}`)
// On these signals the storm ends with all its child processes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
if (values.fleet) {
  const lacking = await findFleetObstacle()
  if (lacking !== undefined) mistyped(`A fleet cannot be had here: ${lacking}.`)
  const outcome = await runFleetStorm({
    engine,
    minutes,
    seed,
    customers,
    gateways,
    shops,
    print,
    ...(only && { only: only.filter(isFleetFault) }),
  })
  process.stdout.write(values.json ? `${JSON.stringify(outcome, undefined, 2)}\n` : `\n${toFleetTable(outcome)}\n`)
  process.exit(outcome.problems.length === 0 ? 0 : 1)
}
// In its own network, without other storms, where a client can use a user-space TCP.
const obstacle = await findObstacle()
if (obstacle !== undefined) print(`without a client with a user-space TCP: ${obstacle}`)
const network = obstacle === undefined ? enterOwnNetwork() : undefined
const outcome = await runStorm({
  engine,
  minutes,
  seed,
  customers,
  print,
  ...(network && { openStealthyClient: () => openStealthyClient(network) }),
  ...(only && { attackers: only.filter(isAttack) }),
})
process.stdout.write(values.json ? `${JSON.stringify(outcome, undefined, 2)}\n` : `\n${toTable(outcome)}\n`)
process.exit(outcome.problems.length === 0 ? 0 : 1)
