/**
 * So many gateways in one process, each with the agent of a real one: its identity, the state by long polling, and
 * reports of the bytes of some proxies. Reads its plan as JSON from standard input, prints `ready` when every gateway
 * has the whole state, then runs for the seconds of the plan and prints the outcome as JSON.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../../src/adapters/log.ts'
import { openAgent } from '../../src/app/node/agent.ts'
import { nodeFolder, readConfig } from '../../src/app/settings/config.ts'
import type { DataPath, Reported } from '../../src/dataplane/agent/data-path.ts'
import type { NodeIdentity } from '../../src/dataplane/agent/identity.ts'
import { percentile } from '../statistics.ts'

export type GatewaysPlan = {
  readonly url: string
  readonly folder: string
  /** Identities of nodes that have joined, one for each gateway. */
  readonly identities: readonly NodeIdentity[]
  readonly seconds: number
}

export type GatewaysOutcome = {
  readonly readyP50Ms: number
  readonly readyMaxMs: number
  /** Items of the state that all gateways read, and reports that the shop took. */
  readonly items: number
  readonly reports: number
  readonly reportP99Ms: number
  /** Since the shop had last answered, at the end: the largest of all gateways. */
  readonly awayMaxMs: number
  readonly warnings: number
}

/** Proxies that each gateway has relayed bytes for within a second. */
const busyProxies = 20
const bytesEach = 10_000
const shownWarnings = 3

const plan = JSON.parse(await Bun.stdin.text()) as GatewaysPlan
const end = new AbortController()
let [items, warnings] = [0, 0]
const reportMs: number[] = []

/** A relay that has moved bytes of the proxies that it knows since the last report. */
class Relay implements DataPath {
  private readonly counts = new Map<number, number>()
  private turn = 0

  constructor(private readonly number: number) {}

  /** Each gateway relays for other proxies. */
  learn(id: number): void {
    if (this.counts.size < busyProxies && id % plan.identities.length === this.number) this.counts.set(id, 0)
  }

  takeChanged() {
    this.turn += 1
    const proxies: Reported<'proxies'>[] = [...this.counts].map(([id]) => {
      const total = this.turn * bytesEach
      return { id, received: total, sent: total }
    })
    return { proxies, subusers: [], hosts: [], peers: [] }
  }

  takeSources() {
    return []
  }

  allow(): void {}

  get health() {
    return { tunnels: this.counts.size, totalBytes: 2 * bytesEach * this.turn * this.counts.size }
  }
}

async function openGateway(identity: NodeIdentity, number: number) {
  const config = readConfig({
    TURNPIKE_DATA: join(plan.folder, String(number)),
    TURNPIKE_SHOP_URL: plan.url,
    TURNPIKE_METRICS_LISTEN: '',
  })
  const folder = nodeFolder(config, 'gateway')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'node.json'), JSON.stringify(identity), { mode: 0o600 })
  const log = createLog('warn', 'gateway', (line) => {
    warnings += 1
    if (warnings <= shownWarnings) process.stderr.write(`  ${line}`)
  })
  const agent = await openAgent(config, 'gateway', log, end.signal, () => {})
  if (!agent) throw new Error('a gateway did not join')
  const { report } = agent.link
  agent.link.report = async (...given) => {
    const startedMs = performance.now()
    const answer = await report(...given)
    reportMs.push(performance.now() - startedMs)
    return answer
  }
  return agent
}

const agents = []
for (const [number, identity] of plan.identities.entries()) agents.push(await openGateway(identity, number))
const startedMs = performance.now()
const readyMs: number[] = []
const attached = agents.map((agent, number) => {
  const relay = new Relay(number)
  return agent.attach(relay, (page) => {
    for (const proxy of page.proxies) relay.learn(proxy.id)
    items += page.proxies.length + page.subusers.length + page.exits.length
  })
})
await Promise.all(
  attached.map(async ({ sync, meter }) => {
    void sync.run(end.signal)
    await sync.ready
    readyMs.push(performance.now() - startedMs)
    meter.start()
  }),
)
process.stdout.write('ready\n')
reportMs.length = 0
await Bun.sleep(plan.seconds * 1000)
const outcome: GatewaysOutcome = {
  readyP50Ms: percentile(readyMs, 0.5),
  readyMaxMs: Math.max(...readyMs),
  items,
  reports: reportMs.length,
  reportP99Ms: percentile(reportMs, 0.99),
  awayMaxMs: Math.max(...attached.map(({ contact }) => contact.awayMs() ?? Number.POSITIVE_INFINITY)),
  warnings,
}
process.stdout.write(`${JSON.stringify(outcome)}\n`)
process.exit(0)
