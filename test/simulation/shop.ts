import { createVault, sha256 } from '../../src/adapters/crypto.ts'
import { createLog } from '../../src/adapters/log.ts'
import { type Config, readConfig } from '../../src/app/settings/config.ts'
import { createApi } from '../../src/app/shop/api.ts'
import { followHistory } from '../../src/app/shop/history.ts'
import { shopJobs } from '../../src/app/shop/jobs.ts'
import { createServices, type Services, shopConfigOf } from '../../src/app/shop/services.ts'
import { readAddress } from '../../src/core/address.ts'
import { noStalls } from '../../src/core/stall-monitor.ts'
import { createLeaders } from '../../src/db/leader.ts'
import type { OpenSender } from '../../src/domains/webhooks/ports.ts'
import { startJobs } from '../../src/jobs/jobs.ts'
import { startDeliveries } from '../../src/jobs/webhooks.ts'
import type { Process } from './process.ts'
import type { Store } from './store.ts'

export const vault = createVault(new Uint8Array(32))

/** The hosts of the simulated network. */
export const shopHost = 'shop.example.net'
export const shopUrl = `https://${shopHost}`
/** The address of a simulated client; most have the same. */
export const fromHeader = 'x-simulated-from'
const sourceOf = ({ headers }: Request) => readAddress(headers.get(fromHeader) ?? '198.51.100.7')

export const configOf = (folder: string, databaseUrl?: string): Config =>
  readConfig({
    TURNPIKE_DATA: folder,
    TURNPIKE_SANDBOX: 'off',
    TURNPIKE_METRICS_LISTEN: '',
    TURNPIKE_FRONT: 'off',
    TURNPIKE_PUBLIC_URL: shopUrl,
    TURNPIKE_GATEWAY_HOST: 'gw.example.net',
    TURNPIKE_VPN_HOST: 'vpn.example.net',
    TURNPIKE_PREMIUM_LEASE_BYTES: '1000000',
    TURNPIKE_RATE_READS: '0',
    TURNPIKE_RATE_CHARGES: '0',
    ...(databaseUrl !== undefined && { TURNPIKE_DATABASE_URL: databaseUrl }),
  })

const runtimeOf = (process: Process) => ({
  clock: process.clock,
  random: (count: number) => process.world.chance.bytes(count),
  sha256,
  stalls: noStalls,
  passwordCost: { memoryCost: 8, timeCost: 1 },
})

/** A shop that runs: its functions from request to answer. */
export type RunningShop = {
  readonly process: Process
  readonly services: Services
  readonly toCustomers: (request: Request) => Promise<Response>
  readonly toNodes: (request: Request) => Promise<Response>
}

export type ShopDeps = {
  readonly store: Store
  readonly folder: string
  /** Names of the jobs that run: a simulated shop with few of them lets the rest meet more often. */
  readonly runsJob: (name: string) => boolean
  readonly openSender: OpenSender
  readonly log: string[]
}

/** The shop's own parts as the product joins them, without ports: its jobs run, and it answers requests. */
export async function openShop(process: Process, deps: ShopDeps): Promise<RunningShop> {
  const { store } = deps
  const config = configOf(deps.folder, store.url)
  const log = createLog('debug', 'shop', (line) => deps.log.push(line))
  const runtime = runtimeOf(process)
  const db = store.open(process)
  const services = createServices(db, runtime, { ...shopConfigOf(config, vault), openSender: deps.openSender })
  // No simulated gateway reports the state of exits.
  services.premium.exits.isServed = async () => true
  const historyJobs = await followHistory(config, services, log)
  await services.stock.ranges.unfinished.adoptOld()
  await db.transact((tx) => services.fleet.ensurePasswordKey(tx))
  const api = createApi(config, services, runtime, {
    log,
    recorder: { request: () => {} },
    hasFront: false,
    publicUrl: () => shopUrl,
    onAdmitted: () => {},
    warnings: () => [],
  })
  const all = [...shopJobs(services, runtime, log, () => undefined), ...historyJobs]
  const jobs = all.filter(({ name }) => deps.runsJob(name))
  const leaders = createLeaders(store.url, (_, connections) => store.open(process, connections))
  startJobs(
    jobs,
    log,
    (job) => leaders.leads(job),
    () => {},
    process.clock,
  )
  if (deps.runsJob('deliver webhooks')) startDeliveries(services, log)
  return {
    process,
    services,
    toCustomers: (request) => api.toCustomers(request, sourceOf(request)),
    toNodes: (request) => api.toNodes(request, new URL(request.url), sourceOf(request)),
  }
}
