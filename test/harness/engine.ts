import { readConfig } from '../../src/app/settings/config.ts'
import { engineLimitsOf, policyOf } from '../../src/app/settings/gateway.ts'
import { makeHopKey } from '../../src/dataplane/agent/hop-key.ts'
import { Snapshot } from '../../src/dataplane/agent/snapshot.ts'
import type { Ask } from '../../src/dataplane/gateway/access/admission.ts'
import type { CustomerLimits } from '../../src/dataplane/gateway/access/limits.ts'
import type { Policy } from '../../src/dataplane/gateway/access/policy.ts'
import type { Lookup } from '../../src/dataplane/gateway/dial/resolve.ts'
import { LinuxEngine } from '../../src/dataplane/gateway/engines/linux/engine.ts'
import { PortableEngine } from '../../src/dataplane/gateway/engines/portable/engine.ts'
import type { Engine, EngineDeps, EngineLimits } from '../../src/dataplane/gateway/engines/shared/engine.ts'
import { noLimit, type Speeds } from '../../src/dataplane/gateway/metering/speed-limit.ts'
import { createSockets } from '../../src/dataplane/gateway/system/sockets.ts'
import type { Found, NodeExit, NodeGateway, NodeProxy, NodeSubuser } from '../../src/node-protocol/state.ts'
import { until } from './until.ts'

/** The relay engine under test; the test command runs every gateway test once for each. */
export const gatewayEngine =
  process.platform !== 'linux' || process.env['TURNPIKE_TEST_GATEWAY_ENGINE'] === 'portable' ? 'portable' : 'linux'

/** Reactors of the Linux engine under test. */
export const gatewayReactors = Number(process.env['TURNPIKE_TEST_GATEWAY_REACTORS'] ?? '1')

/**
 * A gateway engine without a shop, with customers from this file and by default the shipped limits and policy.
 */
export type TestGateway = {
  readonly port: number
  readonly engine: Engine
  /** Lookups at the shop. */
  readonly lookups: { count: number }
  /** Applies a change from the shop. */
  change(changed: {
    readonly proxies?: readonly NodeProxy[]
    readonly subusers?: readonly NodeSubuser[]
    readonly exits?: readonly NodeExit[]
    readonly gateways?: readonly NodeGateway[]
  }): void
  /** Stops the engine, and returns its final status. */
  stop(): Promise<Engine['status']>
}

export type TestGatewayOptions = {
  /** The relay engine; by default the one of this run. */
  readonly kind?: typeof gatewayEngine
  /** Reactors of the Linux engine; by default those of this run. */
  readonly reactors?: number
  /** The listening address; loopback by default. */
  readonly hostname?: string
  /** The listening port; any by default. */
  readonly port?: number
  /** The exit address of customers with IPv4; loopback by default. */
  readonly leaveFrom?: string
  /** Differences from the shipped policy for destinations. */
  readonly policy?: Partial<Policy>
  readonly mode?: 'sandbox' | 'production'
  readonly limits?: Partial<Omit<EngineLimits, 'customer'>>
  /** Called for ports that could not be opened; by default such a port fails the test. */
  readonly onPort?: (port: number, error: unknown) => void
  readonly customer?: Partial<CustomerLimits>
  readonly lookup?: Lookup
  /** Speed limits; none by default. */
  readonly speeds?: () => Partial<Speeds>
  /** Looks a login up at the shop; by default the shop finds none. */
  readonly ask?: (...args: Parameters<Ask>) => Promise<{ readonly found: Found } | 'unanswered'>
  readonly subuser?: Partial<NodeSubuser>
  /** The exits that the premium login `pavel` can use. Default: one exit that leaves from this machine. */
  readonly exits?: readonly NodeExit[]
  readonly onAdmitted?: EngineDeps['onAdmitted']
  readonly onExit?: EngineDeps['onExit']
  /** The node id and key of this gateway, for hops to other gateways. */
  readonly hop?: EngineDeps['hop']
  readonly openHop?: EngineDeps['openHop']
  readonly gateways?: readonly NodeGateway[]
  /** Bytes added by each lease; plenty by default. */
  readonly leaseBytes?: number
  /** The number of leases granted; unlimited by default. */
  readonly maxLeases?: number
  /** The delay of each lease. */
  readonly leaseMs?: number
}

export const passwordOf = (username: string): string => `${username.split('-', 1)[0]}.secret`
export const basicOf = (username: string, password: string = passwordOf(username)): string =>
  Buffer.from(`${username}:${password}`).toString('base64')
/** The Proxy-Authorization line of a login. */
export const loginLine = (username: string, password?: string): string =>
  `Proxy-Authorization: Basic ${basicOf(username, password)}\r\n`

const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
export const digestOf = (username: string): string => Buffer.from(sha256(passwordOf(username))).toString('hex')

export function proxyOf(id: number, username: string, options: Partial<NodeProxy> = {}): NodeProxy {
  return {
    id,
    username,
    digest: digestOf(username),
    port_type: 'http',
    leave_from: '127.0.0.1',
    sources: [],
    entry_port: null,
    expires_at: Date.now() + 86_400_000,
    state: 'active',
    withdrawn: false,
    owner: id.toString(16).padStart(16, '0'),
    ...options,
  }
}

/**
 * `anna` and `boris` have HTTP proxies, `dora` a SOCKS5 proxy, `clara` and `emil` the same over IPv6. `frida` has
 * expired, `gleb` is blocked.
 */
const proxies = (): NodeProxy[] => [
  proxyOf(1, 'anna'),
  proxyOf(2, 'boris'),
  proxyOf(3, 'clara', { leave_from: '::1' }),
  proxyOf(4, 'dora', { port_type: 'socks' }),
  proxyOf(5, 'emil', { port_type: 'socks', leave_from: '::1' }),
  proxyOf(6, 'frida', { expires_at: Date.now() - 1000 }),
  proxyOf(7, 'gleb', { state: 'blocked' }),
]

/** The shop's answer for a proxy that the gateway knows too. */
export const foundProxy = (username: string): Found => ({
  proxy: proxies().find((each) => each.username === username) ?? null,
  subuser: null,
})

/** `pavel` is billed by the byte and leaves from this machine. */
export const subuserOf = (options: Partial<NodeSubuser> = {}): NodeSubuser => ({
  id: 'sub-pavel',
  login: 'pavel',
  digest: digestOf('pavel'),
  state: 'active',
  tunnels: null,
  keep_hosts: false,
  whitelist: [],
  ports: [],
  pools: [{ pool: 'residential', left: 1e12 }],
  owner: 'f'.repeat(16),
  ...options,
})

/** An exit on this machine. */
export const localExit: NodeExit = {
  id: 'exit-1',
  pool: 'residential',
  kind: 'local',
  host: '127.0.0.1',
  port: null,
  credentials: null,
  country: 'us',
  state: '',
  city: '',
  zip: '',
  asn: null,
  offers: null,
  node: null,
  drained: false,
}

/** Dependencies of an engine without a shop, and its recorded faults and lookups. */
export function makeEngineDeps(options: TestGatewayOptions) {
  const config = readConfig({})
  const shipped = engineLimitsOf(config)
  const lookups = { count: 0 }
  const snapshot = new Snapshot()
  const { leaveFrom = '127.0.0.1' } = options
  const change = snapshot.apply({
    proxies: proxies().map((each) => (each.leave_from === '::1' ? each : { ...each, leave_from: leaveFrom })),
    subusers: [subuserOf(options.subuser)],
    gateways: options.gateways ?? [],
    exits: [...(options.exits ?? [{ ...localExit, host: leaveFrom }])],
  })
  const policy = { ...policyOf(config, options.mode ?? 'sandbox'), ...options.policy }
  const leaseBytes = options.leaseBytes ?? 1e12
  const faults: unknown[] = []
  let allowed = 0
  let current = noLimit
  /** The same object as before unless the limits changed. */
  const speeds = (): Speeds => {
    const now = { ...noLimit, ...options.speeds?.() }
    if (!Bun.deepEquals(now, current)) current = now
    return current
  }
  let allow: Engine['dataPath']['allow'] = () => {}
  const deps: EngineDeps = {
    snapshot,
    agent: {
      wantLease(id, pool) {
        if (allowed < leaseBytes * (options.maxLeases ?? Number.POSITIVE_INFINITY)) allowed += leaseBytes
        setTimeout(() => allow(id, pool, allowed), options.leaseMs ?? 0)
      },
      giveBack() {},
      noteNow() {},
    },
    ask: async (question, source) => {
      lookups.count += 1
      const answer = await options.ask?.(question, source)
      if (answer === 'unanswered') return answer
      if (answer) snapshot.learn(answer.found)
      return 'answered'
    },
    policy: () => policy,
    speeds,
    limits: {
      ...shipped,
      ...options.limits,
      customer: { tunnels: 100_000, newPerSecond: 1_000_000, namesPerSecond: 100_000, ...options.customer },
    },
    clock: Date.now,
    lastContactAt: Date.now,
    sha256,
    random: Math.random,
    hop: options.hop ?? { node: 'nod_test', privateKey: makeHopKey().privateKey },
    openHop: options.openHop,
    onAdmitted: options.onAdmitted,
    onExit: (report) => options.onExit?.(report),
    onFault: (fault) => void faults.push(fault),
    ...(options.lookup && { lookup: options.lookup }),
  }
  const answerTo = (engine: Engine): void => {
    allow = (id, pool, upto) => engine.dataPath.allow(id, pool, upto)
  }
  return { deps, change, lookups, faults, answerTo }
}

export function openEngine(options: TestGatewayOptions = {}): TestGateway {
  const { deps, change, lookups, faults, answerTo } = makeEngineDeps(options)
  const engine: Engine =
    (options.kind ?? gatewayEngine) === 'linux'
      ? new LinuxEngine({ ...deps, reactors: options.reactors ?? gatewayReactors, isStrict: true })
      : new PortableEngine({ ...deps, sockets: createSockets(process.platform) })
  answerTo(engine)
  const port = engine.start({ hostname: options.hostname ?? '127.0.0.1', port: options.port ?? 0 })
  const fail = (failed: number): void => {
    throw new Error(`port ${failed} was not opened`)
  }
  engine.changed(change, options.onPort ?? fail)
  return {
    port,
    engine,
    lookups,
    change: ({ proxies: changed = [], subusers = [], exits = [], gateways = [] }) =>
      engine.changed(
        deps.snapshot.apply({ proxies: [...changed], subusers: [...subusers], exits: [...exits], gateways }),
        () => {},
      ),
    async stop() {
      await engine.stop(0)
      await until(() => engine.status.open === 0)
      if (faults.length > 0) throw new AggregateError(faults, 'the engine has a bug')
      return engine.status
    },
  }
}

export { until }
