/**
 * `npm run bench -- [names…] [--seconds N] [--rounds N] [--minutes N] [--json] [--write]`: measures Turnpike beside
 * other programs and prints which targets are met. It starts everything that it needs, and stops it again, also when a
 * bench fails.
 */
import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { balance } from './balance.ts'
import { before, beforeTls } from './before.ts'
import { consoleBench } from './console.ts'
import type { Bench } from './context.ts'
import { fairness } from './fairness.ts'
import { versionsOfProxies } from './forward-proxies.ts'
import { front } from './front.ts'
import { gateway } from './gateway.ts'
import { hop } from './hop.ts'
import { ledger } from './ledger.ts'
import { describeMachine, measureBusy, toLines, versionOf } from './machine.ts'
import { move } from './move.ts'
import { packed } from './packed.ts'
import { findPgbench } from './pgbench.ts'
import { premium } from './premium.ts'
import { probe } from './probe.ts'
import { purchase } from './purchase.ts'
import { purchaseThousand } from './purchase-thousand.ts'
import { reactors } from './reactors.ts'
import { type Outcome, toTable, writePages } from './report.ts'
import { shops } from './shops.ts'
import { soak } from './soak.ts'
import { speedLimit } from './speed-limit.ts'
import { createStage } from './stage.ts'
import { start } from './start.ts'
import { tls } from './tls.ts'
import { tlsInstructions } from './tls-instructions.ts'
import { udp } from './udp.ts'
import { vpn } from './vpn.ts'
import { vpnDevices } from './vpn-devices.ts'
import { vpnNode } from './vpn-node.ts'
import { webhooks } from './webhooks.ts'

/** Every bench, in order. A new bench is its own file and a line here. */
const benches: readonly Bench[] = [
  ledger,
  balance,
  webhooks,
  purchase,
  purchaseThousand,
  fairness,
  front,
  shops,
  premium,
  move,
  start,
  packed,
  consoleBench,
  gateway,
  before,
  beforeTls,
  tls,
  tlsInstructions,
  reactors,
  udp,
  hop,
  speedLimit,
  probe,
  soak,
  vpn,
  vpnNode,
  vpnDevices,
]

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

const say = (text: string): void => void process.stderr.write(`${text}\n`)

function stopWith(message: string): never {
  say(`bench: ${message}`)
  process.exit(2)
}

function readCount(name: 'seconds' | 'rounds' | 'minutes', max: number): number {
  const count = Number(values[name])
  if (!Number.isInteger(count) || count < 1 || count > max) stopWith(`--${name} takes a whole number from 1 to ${max}`)
  return count
}

const seconds = readCount('seconds', 600)
const rounds = readCount('rounds', 99)
const minutes = readCount('minutes', 600)
const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name))
if (unknown.length > 0) {
  stopWith(`no bench is called ${unknown.join(', ')}; there are ${benches.map((bench) => bench.name).join(', ')}`)
}
const chosen = benches.filter((bench) => positionals.length === 0 || positionals.includes(bench.name))

const outcomes: Outcome[] = []
const failed: string[] = []
/** Above this the figures are printed with a warning. */
const maxBusy = 0.1
let busy = 0
const stage = createStage(say)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void stage.end().finally(() => process.exit(128 + constants.signals[signal])))
}

async function runBench(bench: Bench): Promise<void> {
  say(`\n${bench.name}: ${bench.about}`)
  const busyNow = await measureBusy()
  busy = Math.max(busy, busyNow)
  if (busyNow > maxBusy)
    say(`  ${Math.round(busyNow * 100)} % of the processors are busy with other things: the figures do not count`)
  try {
    outcomes.push({
      bench: bench.name,
      about: bench.about,
      rows: await bench.run({ stage, seconds, rounds, minutes, say }),
    })
  } catch (error) {
    failed.push(bench.name)
    say(`${bench.name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  } finally {
    await stage.clear()
  }
}

try {
  for (const bench of chosen) await runBench(bench)
} finally {
  await stage.end()
}

const pgbench = findPgbench()
const machine = describeMachine(
  [
    `Turnpike ${manifest.version}`,
    `Bun ${Bun.version}`,
    versionOf(['node', '--version'])?.replace(/^v/, 'Node '),
    pgbench && versionOf([pgbench, '--version']),
    versionOf(['wrk', '--version'])?.replace(/ \[.*$/, ''),
    versionOf(['wireguard-go', '--version']),
    versionOf(['iperf3', '--version']),
    ...versionsOfProxies(),
  ].filter((version) => version !== undefined),
  busy,
)
const command = [
  'npm run bench --',
  ...positionals,
  `--seconds ${seconds}`,
  `--rounds ${rounds}`,
  `--minutes ${minutes}`,
  '--write',
].join(' ')

if (values.json) process.stdout.write(`${JSON.stringify({ machine, outcomes, failed }, null, 2)}\n`)
else process.stdout.write(`\n${toLines(machine).join('\n')}\n\n${toTable(outcomes)}`)
const isBusy = busy > maxBusy
if (values.write && isBusy) say('bench: nothing is written, for others used the processors: the figures do not count')
if (values.write && failed.length === 0 && !isBusy) {
  writePages(
    outcomes,
    benches.map((bench) => bench.name),
    machine,
    command,
  )
}
process.exit(failed.length > 0 ? 1 : 0)
