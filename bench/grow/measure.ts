import { join } from 'node:path'
import { randomBytes } from '../../src/adapters/crypto.ts'
import type { Services } from '../../src/app/shop/services.ts'
import type { NodeIdentity } from '../../src/dataplane/agent/identity.ts'
import { DatabaseReader } from '../../test/storm/soak/readings.ts'
import { alternate, loadHttp, ratiosOf, toRequest } from '../measure.ts'
import { personNumber } from '../people.ts'
import { cpuSecondsOf, familyMb } from '../process-cost.ts'
import { familyOf, fromSources, type ShopProcess } from '../shop-process.ts'
import { type BenchDatabase, type Stage, withServices } from '../stage.ts'
import { median } from '../statistics.ts'
import { buyRequests } from '../stocked.ts'
import type { GatewaysOutcome, GatewaysPlan } from './gateways-worker.ts'

/** The figures of one size, by the names of `measures`. */
export type Figures = Partial<Record<MeasureName, number>>

/** Every measure: its unit, and how it is reckoned for a larger shop. */
export const measures = {
  'a purchase': { unit: 'ms', grows: 'flat' },
  'a purchase, processor time of shop and database': { unit: 'ms', grows: 'flat' },
  'a purchase, against an empty shop': { unit: '×', grows: 'flat' },
  'a purchase, against an empty shop, by processor time': { unit: '×', grows: 'flat' },
  'GET /balance': { unit: 'ms', grows: 'flat' },
  'GET /transactions?limit=50': { unit: 'ms', grows: 'flat' },
  'GET /dedicated/list?limit=50': { unit: 'ms', grows: 'flat' },
  'operator: GET /orders?limit=50': { unit: 'ms', grows: 'flat' },
  'operator: GET /search, a customer': { unit: 'ms', grows: 'flat' },
  'operator: GET /search, an order': { unit: 'ms', grows: 'flat' },
  'operator: GET /search, an address': { unit: 'ms', grows: 'flat' },
  'operator: GET /overview?days=30': { unit: 'ms', grows: 'linear' },
  'operator: GET /overview?days=366': { unit: 'ms', grows: 'linear' },
  'operator: GET /reports/days, a year': { unit: 'ms', grows: 'linear' },
  'the whole state, read by one node': { unit: 'ms', grows: 'flat' },
  '200 gateways: the last has the whole state': { unit: 'ms', grows: 'flat' },
  '200 gateways: reports': { unit: '/s', grows: 'flat' },
  '200 gateways: a report, p99': { unit: 'ms', grows: 'flat' },
  '200 gateways: processor of the shop': { unit: 'cores', grows: 'flat' },
  '200 gateways: GET /balance beside them, p99': { unit: 'ms', grows: 'flat' },
  'a checkpoint': { unit: 's', grows: 'flat' },
  backup: { unit: 's', grows: 'linear' },
  'backup, processor time of the command': { unit: 's', grows: 'linear' },
  'backup, memory': { unit: 'MB', grows: 'flat' },
  'verify, everything': { unit: 's', grows: 'linear' },
  'verify, everything: processor time of the command': { unit: 's', grows: 'linear' },
  'verify, everything: memory': { unit: 'MB', grows: 'flat' },
  'sums of a day': { unit: 'ms', grows: 'linear' },
  'the database': { unit: 'MB', grows: 'linear' },
} as const satisfies Record<string, { readonly unit: string; readonly grows: 'flat' | 'linear' }>

export type MeasureName = keyof typeof measures

/** Customers who buy and ask. */
const askers = 1_000
const buyersOfProxies = 20
const proxiesEach = 1_000
const connections = 4
const requestsEach = 400
const readsEach = 7
const gatewayCount = 200
const gatewaySeconds = 20
const stateReads = 3

export type GrownShop = {
  readonly database: BenchDatabase
  readonly shop: ShopProcess
  readonly tokens: readonly string[]
  readonly operator: string
}

/** Starts a shop, and sells 20,000 proxies over HTTP if it has not sold them before. */
export async function openGrown(stage: Stage, database: BenchDatabase, isEmpty: boolean): Promise<GrownShop> {
  const opened = await withServices(database, async (services) => {
    const tokens: string[] = []
    for (let number = 1; number <= (isEmpty ? 200 : askers); number += 1) {
      const { text } = await services.customers.issueToken(personNumber(number).customer, { name: 'bench' })
      tokens.push(text)
    }
    const name = `bench-${Date.now()}`
    await services.db.transact((tx) => services.operators.add(tx, name, 'owner'))
    const { text: operator } = await services.operators.issueToken(name, { name: 'bench', expiresAt: null })
    const sold = await services.proxyOperator.countActive()
    return { tokens, operator, isSold: sold.active + sold.interrupted >= buyersOfProxies * proxiesEach }
  })
  const shop = await stage.startShop(database, { TURNPIKE_SANDBOX: 'off' })
  if (!isEmpty && !opened.isSold) {
    const requests = buyRequests(opened.tokens.slice(0, buyersOfProxies), proxiesEach)
    await loadHttp({ port: shop.port, connections: 2, count: buyersOfProxies, requests })
  }
  return { database, shop, ...opened }
}

/** The purchase in both shops in turns: noise of the machine affects both. */
export async function measurePurchases(
  empty: GrownShop,
  grown: GrownShop,
  rounds: number,
  restock: () => Promise<void>,
  say: (text: string) => void,
): Promise<Figures> {
  const server = await findServer(grown.database)
  // Other programs on the machine change how long a purchase takes, and hardly what it costs.
  const costs = new Map<GrownShop, number[]>()
  const sell = async (of: GrownShop) => {
    const pids = [of.shop.pid, ...server]
    const costMs = (): number => pids.reduce((sum, pid) => sum + 1000 * cpuSecondsOf(pid), 0)
    const beforeMs = costMs()
    const plan = { port: of.shop.port, connections, count: requestsEach, requests: buyRequests(of.tokens, 1) }
    const sample = await loadHttp(plan)
    costs.set(of, [...(costs.get(of) ?? []), (costMs() - beforeMs) / requestsEach])
    return sample
  }
  for (const each of [empty, grown]) await sell(each)
  costs.clear()
  await restock()
  const taken = await alternate(
    [
      { name: 'empty', measure: () => sell(empty) },
      { name: 'grown', measure: () => sell(grown) },
    ],
    rounds,
    say,
  )
  const times = (taken.get('grown') ?? []).map(({ p50Ms }) => p50Ms)
  const sumOf = (of: GrownShop): number => (costs.get(of) ?? []).reduce((sum, each) => sum + each, 0)
  return {
    'a purchase': median(times),
    'a purchase, processor time of shop and database': sumOf(grown) / rounds,
    'a purchase, against an empty shop': median(ratiosOf(taken, 'empty', 'grown')),
    'a purchase, against an empty shop, by processor time': sumOf(grown) / sumOf(empty),
  }
}

/** The process of PostgreSQL, whose children are its connections. */
async function findServer({ engine, address }: BenchDatabase): Promise<number[]> {
  if (engine === 'sqlite') return []
  const reader = new DatabaseReader(address)
  try {
    return [await reader.findServer()]
  } finally {
    await reader.close()
  }
}

const getRequest = (path: string, token: string): string => toRequest({ method: 'GET', path, token })

/** What customers and operators read, each a few times: the median. */
export async function measureReads({ shop, tokens, operator, database }: GrownShop): Promise<Figures> {
  const figures: Figures = {}
  for (const [name, path] of [
    ['GET /balance', '/balance'],
    ['GET /transactions?limit=50', '/transactions?limit=50'],
    ['GET /dedicated/list?limit=50', '/dedicated/list?limit=50'],
  ] as const) {
    const requests = tokens.map((token) => getRequest(path, token))
    figures[name] = (await loadHttp({ port: shop.port, connections: 1, count: requestsEach, requests })).p50Ms
  }
  const { order, address } = await withServices(database, findNamed)
  for (const [name, path] of [
    ['operator: GET /orders?limit=50', '/orders?limit=50'],
    ['operator: GET /search, a customer', '/search?q=customer+77'],
    ['operator: GET /search, an order', `/search?q=${order}`],
    ['operator: GET /search, an address', `/search?q=${address}`],
    ['operator: GET /overview?days=30', '/overview?days=30'],
    ['operator: GET /overview?days=366', '/overview?days=366'],
    ['operator: GET /reports/days, a year', '/reports/days?days=365'],
  ] as const) {
    figures[name] = await readTime(shop.port, path, operator)
  }
  return figures
}

/** An order and an address of the middle of the shop. */
async function findNamed({ db }: Services): Promise<{ order: string; address: string }> {
  const found = await db.first<{ id: string }>('SELECT id FROM orders ORDER BY id LIMIT 1 OFFSET 1000', [])
  const slot = await db.first<{ address: string }>('SELECT address FROM stock ORDER BY id LIMIT 1 OFFSET 1000', [])
  return { order: found?.id ?? 'ord_none', address: slot?.address ?? '' }
}

/** Some answers of the operator's API are kept for 10 s: the slowest of the reads is the one that computes. */
async function readTime(port: number, path: string, token: string): Promise<number> {
  const times: number[] = []
  for (let read = 0; read < readsEach; read += 1) {
    const startedMs = performance.now()
    const answer = await fetch(`http://127.0.0.1:${port}/admin/v1${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${text.slice(0, 300)}`)
    times.push(performance.now() - startedMs)
  }
  return path.startsWith('/overview') || path.startsWith('/reports') ? Math.max(...times) : median(times)
}

/** Sums the days that have no sums yet, as the job of a shop does after an update: the time for one of many. */
export const measureDays = (database: BenchDatabase): Promise<Figures> =>
  withServices(database, async ({ ledger, orders, db }) => {
    for (const { sumDays } of [ledger, orders]) await sumDays(0)
    // As if they had been noted some minutes ago.
    await db.transact((tx) => tx.run('UPDATE summed_days SET noted_at = 0 WHERE summed_at IS NULL'))
    const startedMs = performance.now()
    const summed = (await ledger.sumDays(1000)) + (await orders.sumDays(1000))
    return summed < 100 ? {} : { 'sums of a day': (2 * (performance.now() - startedMs)) / summed }
  })

/** One node that reads the whole state, then 200 at once that poll and report as real agents do. */
export async function measureGateways(stage: Stage, { shop, tokens, database }: GrownShop): Promise<Figures> {
  const identities = await withServices(database, joinGateways)
  const url = `http://127.0.0.1:${shop.port}`
  const run = async (some: readonly NodeIdentity[], seconds: number, beside: () => Promise<void> = async () => {}) =>
    runGateways({ url, folder: stage.makeFolder(), identities: some, seconds }, beside)
  const alone: number[] = []
  for (const each of identities.slice(gatewayCount)) alone.push((await run([each], 0)).readyMaxMs)
  let [cores, besideMs] = [0, 0]
  const outcome = await run(identities.slice(0, gatewayCount), gatewaySeconds, async () => {
    const before = { seconds: cpuSecondsOf(shop.pid), ms: performance.now() }
    const requests = tokens.map((token) => getRequest('/balance', token))
    const plan = { port: shop.port, connections: 4, seconds: gatewaySeconds / 2, perSecond: 100, requests }
    besideMs = (await loadHttp(plan)).p99Ms
    cores = ((cpuSecondsOf(shop.pid) - before.seconds) * 1000) / (performance.now() - before.ms)
  })
  if (outcome.warnings > 0) console.error(`  ${outcome.warnings} warnings of gateways`)
  return {
    'the whole state, read by one node': median(alone),
    '200 gateways: the last has the whole state': outcome.readyMaxMs,
    '200 gateways: reports': outcome.reports / gatewaySeconds,
    '200 gateways: a report, p99': outcome.reportP99Ms,
    '200 gateways: processor of the shop': cores,
    '200 gateways: GET /balance beside them, p99': besideMs,
  }
}

/** Without HTTP: a shop lets one address join a few nodes a minute. */
async function joinGateways({ db, fleet }: Services): Promise<NodeIdentity[]> {
  const joined: NodeIdentity[] = []
  for (let number = 0; number < gatewayCount + stateReads; number += 1) {
    const name = `grown-${Date.now()}-${number}`
    await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'test' }))
    const secret = `tpn_${randomBytes(32).toHex()}`
    const { id } = await fleet.join((await fleet.issueKey(name)).text, secret, 'bench')
    joined.push({ node: id, name, kind: 'gateway', secret })
  }
  return joined
}

async function runGateways(plan: GatewaysPlan, beside: () => Promise<void>): Promise<GatewaysOutcome> {
  const child = Bun.spawn([process.execPath, '--no-env-file', join(import.meta.dir, 'gateways-worker.ts')], {
    stdin: new Blob([JSON.stringify(plan)]),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let text = ''
  let working: Promise<void> | undefined
  const decoder = new TextDecoder()
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true })
    if (text.startsWith('ready\n')) working ??= beside()
  }
  await working
  if ((await child.exited) !== 0) throw new Error('the simulated gateways failed')
  return JSON.parse(text.slice('ready\n'.length)) as GatewaysOutcome
}

/** A command of the operator's tool: its seconds, its processor time and its largest memory. */
export async function measureCommand(
  { database }: Pick<GrownShop, 'database'>,
  args: readonly string[],
): Promise<{ seconds: number; cpuSeconds: number; mb: number }> {
  const startedMs = performance.now()
  const child = Bun.spawn([...fromSources, ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      TURNPIKE_DATA: database.folder,
      TURNPIKE_SECRET_KEY: '00'.repeat(32),
      ...(database.engine === 'postgres' && { TURNPIKE_DATABASE_URL: database.address }),
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let mb = 0
  const timer = setInterval(() => (mb = Math.max(mb, highestMb(child.pid))), 200)
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  clearInterval(timer)
  if ((await child.exited) !== 0) throw new Error(`${args.join(' ')} failed: ${(out + err).slice(0, 2000)}`)
  const cpuSeconds = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6
  return { seconds: (performance.now() - startedMs) / 1000, cpuSeconds, mb }
}

/** The launcher starts the program as its child. */
const highestMb = (pid: number): number => familyMb(familyOf(pid)) || 0
