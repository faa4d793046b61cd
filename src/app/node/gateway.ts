import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import manifest from '../../../package.json' with { type: 'json' }
import { sha256 } from '../../adapters/crypto.ts'
import { raiseFileLimit } from '../../adapters/libc.ts'
import type { Command } from '../../cli/command.ts'
import { type Address, readAddress } from '../../core/address.ts'
import { maxInterfaceMegabits } from '../../core/bytes.ts'
import type { Log } from '../../core/log.ts'
import { refuseHere } from '../../core/refusal.ts'
import { classify } from '../../core/reserved.ts'
import { askShop, CredentialLookup } from '../../dataplane/agent/ask.ts'
import { takeHopKey } from '../../dataplane/agent/hop-key.ts'
import type { Meter } from '../../dataplane/agent/meter.ts'
import { PlaceReports } from '../../dataplane/agent/places.ts'
import { realTiming, type Timing } from '../../dataplane/agent/runtime.ts'
import { Snapshot } from '../../dataplane/agent/snapshot.ts'
import { type PagePosition, readSavedState, SavedState } from '../../dataplane/agent/sync.ts'
import { AddressTrials, type TryAddress } from '../../dataplane/agent/trials.ts'
import type { VanishedItems } from '../../dataplane/agent/vanished.ts'
import { ExitReports } from '../../dataplane/gateway/access/exit-health.ts'
import { after } from '../../dataplane/gateway/engines/portable/dialler.ts'
import { createAccepter } from '../../dataplane/gateway/engines/shared/accepter.ts'
import type { Engine, EngineDeps, EngineLimits } from '../../dataplane/gateway/engines/shared/engine.ts'
import { HopConnections, pinOf } from '../../dataplane/gateway/engines/shared/hop-client.ts'
import { Http2Clients } from '../../dataplane/gateway/engines/shared/http2-clients.ts'
import type { TlsReactors } from '../../dataplane/gateway/engines/shared/tls-reactors.ts'
import { createTryAddress, createTryListener } from '../../dataplane/gateway/engines/shared/try-address.ts'
import { countDrainingTunnels, HandoverOffer, type Predecessor } from '../../dataplane/gateway/handover/handover.ts'
import type { Sockets } from '../../dataplane/gateway/sides/sockets.ts'
import { type TlsClient, toTlsClient } from '../../dataplane/gateway/sides/tls-client.ts'
import type { SiteSource } from '../../dataplane/gateway/site/content.ts'
import { openSite, type SiteServer, type SiteTerms } from '../../dataplane/gateway/site/server.ts'
import { createSockets } from '../../dataplane/gateway/system/sockets.ts'
import { type Certificate, coversName } from '../../dataplane/tls/certificate.ts'
import { Front, type TlsListener } from '../../dataplane/tls/front.ts'
import type { TlsSocket } from '../../dataplane/tls/tls-socket.ts'
import { type ReportBody } from '../../node-protocol/report.ts'
import type { StatePage } from '../../node-protocol/state.ts'
import { addFrontMetrics, addGatewayMetrics, addHttp2Metrics, addNodeMetrics } from '../metrics/node.ts'
import { createProcessMetrics, serveMetrics } from '../metrics/process.ts'
import type { Config } from '../settings/config.ts'
import { engineLimitsOf, gatewaySettings } from '../settings/gateway.ts'
import { listening, withIpv6OrWithout } from '../settings/listening.ts'
import { assertGatewayTls } from '../settings/tls.ts'
import { openTls, type Tls } from '../tls.ts'
import { type Agent, nodeRuntimeOf, openAgent } from './agent.ts'
import { nodeCommand, type RunningNode } from './command.ts'
import { chooseEngine, createPressureLog } from './engine.ts'
import {
  describeGateway,
  drainMs,
  hasWholeState,
  meetPredecessor,
  shareSpeeds,
  takeOver,
  untilEmpty,
} from './handover.ts'
import { createNames } from './names.ts'
import { PasswordKeys } from './password-keys.ts'
import { reloadCommand } from './reload.ts'
import { GatewayRules } from './rules.ts'
import { TicketKeys } from './ticket-keys.ts'

/** The machine's own addresses may change while it runs. */
const lookAroundMs = 60_000
/** Minimum interval between two log lines about connections turned away. */
const pressureMs = 10_000

/** Fewer connections than a small shop's customers open. */
const fewConnections = 1000

/** Maximum wait for the first report of address checks that the shop takes. Customers are served meanwhile. */
const maxTrialMs = 15_000

export type Gateway = RunningNode & { readonly port: number }

/** Runs a gateway. With `takesOver` it listens on the running process's sockets. Undefined when stopped early. */
export async function openGateway(
  config: Config,
  log: Log,
  end: AbortSignal,
  takesOver = false,
  trialTiming = realTiming,
): Promise<Gateway | undefined> {
  const before = takesOver ? await meetPredecessor(config, log) : undefined
  try {
    return await openBeside(config, log, end, before, trialTiming)
  } finally {
    before?.close()
  }
}

async function openBeside(
  config: Config,
  log: Log,
  end: AbortSignal,
  before: Predecessor | undefined,
  trialTiming: Timing,
): Promise<Gateway | undefined> {
  const revoked = { call: () => {} }
  // Before the join: a bad certificate must not use up the one-time join key.
  assertGatewayTls(config)
  const tls = config.gatewayTlsPort > 0 ? openTls(config, 'gateway', log, before !== undefined) : undefined
  const open: { front?: Front } = {}
  const agent = await openAgent(config, 'gateway', log, end, () => revoked.call())
  if (!agent) {
    await tls?.stop()
    return undefined
  }
  const { engine, hops, meter, sync, contact, rules, saved, trials, exitReports, names, passwordKeys, snapshot } =
    assemble(
      agent,
      config,
      log,
      trialTiming,
      // Also before the port is open: customers of a replaced process keep their address.
      () => tls && tlsFieldsOf(config, tls.current(), open.front?.port ?? config.gatewayTlsPort),
      (source) => open.front?.welcome(readAddress(source)),
    )
  const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
  revoked.call = () => {
    engine.setRefused(true)
    // The restarted process joins with the new key.
    if (agent.hasNewerKey()) fail()
  }
  const hasSaved = rules.pageAt > 0
  const running = sync.run(end)
  // The gateway opens only with a state, from the shop or saved: without one it would refuse every customer.
  if (before && !(await hasWholeState(sync, end)) && !end.aborted) {
    await tls?.stop()
    await meter.stop()
    throw refuseHere('The new process cannot reach the shop. The running gateway continues.', 'unavailable')
  }
  if (rules.pageAt === 0) await Promise.race([sync.ready, running])
  if (end.aborted) {
    await tls?.stop()
    await meter.stop()
    return undefined
  }
  const inherited = new Map(await before?.listeners())
  // It answers nothing once it has left.
  const tickets = new TicketKeys(config.gatewayTicketSecret, agent.clock, await before?.ticketKeys())
  const tlsDescriptor = tls && inherited.get(config.gatewayTlsPort)
  if (tls) inherited.delete(config.gatewayTlsPort)
  if (before && tls && tlsDescriptor === undefined) tryTlsPort(config)
  const speedShares = await shareSpeeds(agent, rules, end)
  const port = listen(engine, config, inherited)
  // After its first report the node is live, and the shop sells its addresses.
  meter.start()
  const metrics = createProcessMetrics(config, 'gateway')
  addNodeMetrics(metrics, engine.dataPath, contact, () => countDrainingTunnels(agent.folder, agent.boot, realTiming))
  addGatewayMetrics(metrics, engine, () => exitReports.countStates(), names.counts)
  tls?.addMetrics(metrics)
  engine.changed({ proxies: [], subusers: [], exits: true, ports: true }, notePort(log))
  if (before) await takeOver(before, engine, meter)
  // The challenges of an order are known only to its process, so the ACME listener is closed and opened again.
  if (before) void tls?.order().catch((fault: unknown) => log.error('fault', { fault }))
  const sockets = createSockets(process.platform)
  const site = siteTermsOf(config, agent.shopUrl, passwordKeys.current)
  const dispatcher = tls && engine.openTls?.({ site, ticketKeys: tickets.state.keys })
  tickets.onChanged = (keys) => dispatcher?.setTicketKeys(keys)
  const ownHttp2 = createHttp2Clients(engine, sockets)
  const http2 = dispatcher ?? ownHttp2
  const take = (client: TlsClient) => engine.takeTls?.(client)
  const onFault = (fault: unknown) => log.error('fault', { fault })
  const ownSite = site && !dispatcher ? openSite(site, { take, snapshot, sockets, after, onFault }) : undefined
  passwordKeys.onChanged = (keys) => (dispatcher ?? ownSite)?.setPasswordKeys(keys)
  const users = { engine, sockets, http2: ownHttp2, dispatcher, site: ownSite?.site }
  const front = tls && listenTls(users, tls, config, log, tlsDescriptor)
  if (front) {
    open.front = front
    if (site) noteSite(config, site.source, tls.current(), log)
    addFrontMetrics(metrics, 'gateway', front)
    addHttp2Metrics(metrics, http2)
  }
  const figures = serveMetrics(config, 'gateway', metrics, log)
  const looking = setInterval(() => void rules.lookAround(), lookAroundMs)
  const pressing = setInterval(
    createPressureLog(log, () => engine.status),
    pressureMs,
  )
  // Addresses are sold once the port is open and each address was checked.
  const endTrials = new AbortController()
  end.addEventListener('abort', () => endTrials.abort())
  const trying = trials.run(endTrials.signal)
  let shown: Promise<void> | undefined
  const stopShowing = (): Promise<void> => {
    endTrials.abort()
    saved.close()
    metrics.stop()
    return (shown ??= figures.stop())
  }
  const { promise: replaced, resolve: setReplaced } = Promise.withResolvers<void>()
  const about = describeGateway(config, () => engine.dataPath.health.tunnels)
  const offer = new HandoverOffer({
    folder: agent.folder,
    boot: agent.boot,
    ...about,
    listeners: () => [...engine.listeners(), ...(front ? [front] : [])],
    ticketKeys: () => tickets.state,
    async leave() {
      about.noteDraining()
      speedShares.drain()
      log.info('taken over', { open: engine.status.open, max_seconds: config.gatewayDrainSeconds })
      front?.close()
      http2.drain()
      hops.drain()
      ownSite?.site.drain()
      await Promise.all([engine.drain(), stopShowing(), tls?.stop()])
      meter.beginDrain()
      void untilEmpty(engine, config, end, log).then(setReplaced)
    },
    onGivenUp: () =>
      log.warn('not taken over', {
        explanation: 'The new process has stalled. This one continues. Repeat the reload.',
      }),
    onFault: (fault) => log.error('fault', { fault }),
  })
  const report = async (): Promise<void> => {
    // While the shop cannot be reached, the gateway is open with its saved state and nothing is sold.
    if (await hasWholeState(sync, end)) {
      await Promise.race([trials.ready, realTiming.pause(maxTrialMs, endTrials.signal)])
    }
    if (end.aborted) return
    const fields = { port, ...(front && { tls_port: front.port }), node: agent.node }
    log.info('gateway open', { ...fields, mode: rules.mode, version: manifest.version })
  }
  const reported = report()
  // With a saved state customers are served already, so systemd need not wait for the shop.
  if (!hasSaved) await reported
  return {
    port,
    failed,
    replaced,
    isServing: () => !about.who().draining,
    onHangUp: tls?.look,
    async settled() {
      await reported
      await tls?.settled()
    },
    async stop() {
      front?.close()
      // From here on the shop sells none of its addresses, and it accepts no connection.
      const closed = Promise.all([meter.withdraw(), engine.stop(drainMs)])
      clearInterval(looking)
      clearInterval(pressing)
      tickets.stop()
      await stopShowing()
      await closed
      hops.close()
      front?.end()
      await tls?.stop()
      await meter.stop()
      offer.close()
      await Promise.all([running, trying, reported, speedShares.watching])
      log.info('gateway closed')
    },
  }
}

/** As many connections as there are file descriptors; logs if that is less than configured. */
function limitsOf(config: Config, log: Log): EngineLimits {
  const files = raiseFileLimit(process.platform)
  const limits = engineLimitsOf(config, files)
  const { connections, ports } = limits
  const fields = { files, connections, configured: config.gatewayConnections, ports }
  const explanation = 'The limit of open files is lower. Raise it with LimitNOFILE= in the unit, or with ulimit -n.'
  // A default limit is worth a warning only if it is low.
  const isConfigured = config.gatewayConnections !== Number(gatewaySettings.gatewayConnections.fallback)
  if (limits.connections >= config.gatewayConnections) log.info('file limit', fields)
  else if (isConfigured || connections < fewConnections) log.warn('file limit', { ...fields, explanation })
  else log.info('file limit', { ...fields, explanation })
  return limits
}

const ownSix: Address = { version: 6, bytes: Uint8Array.from({ length: 16 }, (_, at) => (at === 15 ? 1 : 0)) }

const notePort = (log: Log) => (port: number, fault: unknown) =>
  log.error('port not opened', {
    port,
    fault,
    explanation:
      'Customers cannot use this port of TURNPIKE_PREMIUM_PORTS here. "ss -ltnp" shows a program that has it.',
  })

/** A saved page is a change: what it does not name may be on another page. */
const savedPosition: PagePosition = { isWhole: false, isFirst: false, isLast: true }

const createHops = ({ clock: wallClock }: Agent, onFault: (fault: unknown) => void): HopConnections =>
  new HopConnections({ clock: realTiming.now, wallClock, after, random: Math.random, onFault })

/** Stays connected with the gateways whose customers enter here. */
function keepHops(hops: HopConnections, { gateways }: Snapshot, self: string): void {
  const exits = [...gateways.values()].filter(({ entry, id }) => entry === self && id !== self)
  const ids = exits.map(({ id }) => id)
  hops.keep(gateways, ids)
}

const reportHops = ({ states }: HopConnections) => ({
  hops: states.map(({ id, isUp, sinceAt, reason }) => ({ id, up: isUp, since: Math.round(sinceAt), reason })),
})

const leaseAgentOf = (meter: () => Meter): EngineDeps['agent'] => ({
  wantLease: (id, pool) => meter().wantLease(id, pool),
  giveBack: (id, pool) => meter().giveBack(id, pool),
  noteNow: () => meter().noteNow(),
})

/** The saved state is served until the shop answers. It does not set the clock. */
function applySaved(folder: string, log: Log, snapshot: Snapshot, rules: GatewayRules, isForVpn: boolean): void {
  for (const page of readSavedState(folder, log)) {
    snapshot.apply(isForVpn ? page : { ...page, devices: [] })
    rules.apply(page, savedPosition, snapshot)
  }
}

const createPlaceReports = ({ link, clock }: Agent, log: Log, engine: () => Engine): PlaceReports =>
  new PlaceReports({ link, clock, ...nodeRuntimeOf(log), onRefused: (places) => engine().refuseMachines(places) })

/** Resolves like the node's own calls to the shop, hosts file included. */
const lookUpAll = async (name: string) => (await lookup(name, { all: true })).map(({ address }) => address)

/** The engine, and the parts that receive state and report usage. They call each other only after all are made. */
function assemble(
  agent: Agent,
  config: Config,
  log: Log,
  trialTiming: Timing,
  findTls: () => TlsFields | undefined,
  onAdmitted: (source: string) => void,
) {
  const rules = new GatewayRules(config, agent.shopUrl, lookUpAll)
  const snapshot = new Snapshot(agent.node)
  const saved = new SavedState({ ...nodeRuntimeOf(log), folder: agent.folder })
  const exitReports = new ExitReports(realTiming.now)
  const key = takeHopKey(agent.folder)
  const names = createNames(log)
  const limits = limitsOf(config, log)
  const onFault = (fault: unknown): void => log.error('fault', { fault })
  const hops = createHops(agent, onFault)
  const passwordKeys = new PasswordKeys()
  const ask = askShop(snapshot, new CredentialLookup({ link: agent.link, now: realTiming.now, log }))
  const lastContactAt = (): number => agent.clock() - (contact.awayMs() ?? agent.clock() - rules.pageAt)
  const engineDeps: EngineDeps = {
    snapshot,
    agent: leaseAgentOf(() => meter),
    ask,
    places: config.gatewayVpn ? createPlaceReports(agent, log, () => engine) : undefined,
    policy: () => rules.policy,
    speeds: () => rules.speeds,
    limits,
    clock: agent.clock,
    lastContactAt,
    sha256,
    random: Math.random,
    hop: { node: agent.node, privateKey: key.privateKey, isForVpn: config.gatewayVpn },
    openHop: (gateway) => hops.open(gateway),
    onAdmitted,
    onExit: noteExit(log, exitReports, snapshot),
    onFault,
    lookup: names.lookup,
  }
  const engine = chooseEngine(config, log, engineDeps, config.gatewayTlsPort > 0)
  const isBehindEntry = () => ![undefined, null, agent.node].includes(snapshot.gateways.get(agent.node)?.entry)
  const tryListener = createTryListener(config.gatewayListen, isBehindEntry)
  const trials = openTrials(agent, rules, log, trialTiming, tryListener)
  const ownFields = () => ({
    hop_key: key.publicKey,
    ...findTls(),
    ...reportHops(hops),
    exit_reports: exitReports.take(),
    // A sandbox relays over loopback, which has no speed.
    ...(rules.mode === 'sandbox' && { interface_mbit: maxInterfaceMegabits }),
  })
  const extraFields = () => ({ ...ownFields(), ...figuresOf(engine, limits, names.counts.failed) })
  const { sync, meter, contact } = agent.attach(
    engine.dataPath,
    receiver({ ...agent, engine, hops, saved, trials, snapshot, passwordKeys, rules, exitReports }, log),
    extraFields,
  )
  applySaved(agent.folder, log, snapshot, rules, config.gatewayVpn)
  return { engine, hops, meter, sync, contact, rules, saved, trials, exitReports, names, passwordKeys, snapshot }
}

type Receivers = {
  readonly engine: Engine
  readonly hops: ReturnType<typeof createHops>
  readonly node: string
  readonly saved: SavedState
  readonly trials: AddressTrials
  readonly snapshot: Snapshot
  readonly passwordKeys: PasswordKeys
  readonly rules: GatewayRules
  readonly exitReports: ExitReports
  readonly vanished: VanishedItems
}

/** Applies a page of the shop's state everywhere. */
const receiver =
  ({ engine, hops, node, saved, trials, snapshot, passwordKeys, rules, exitReports, vanished }: Receivers, log: Log) =>
  (page: StatePage, position: PagePosition): void => {
    engine.setRefused(false)
    const { password_keys: keys = [], ...rest } = page
    passwordKeys.use(keys)
    // Without the shop no unknown password can be looked up, so the keys are not written to the disk.
    saved.note(rest, position)
    trials.apply(page, position)
    if (position.isFirst) snapshot.beginWhole()
    const changes = [snapshot.apply(page)]
    if (position.isWhole && position.isLast) {
      vanished.add(snapshot.listUnnamed())
      changes.push(snapshot.endWhole())
    }
    rules.apply(page, position, snapshot)
    for (const change of changes) engine.changed(change, notePort(log))
    keepHops(hops, snapshot, node)
    exitReports.keep(snapshot.exits)
  }

const figuresOf = ({ status }: Engine, { ports }: EngineLimits, failedLookups: number) => ({
  errors: status.turnedAway + status.starved + failedLookups,
  ...(Number.isFinite(ports) && { max_ports: ports }),
})

function openTrials(agent: Agent, rules: GatewayRules, log: Log, timing: Timing, tryListener: TryAddress) {
  const tryAddress = createTryAddress(process.platform)
  return new AddressTrials({
    ...nodeRuntimeOf(log),
    timing,
    node: agent.node,
    link: agent.link,
    callShop: agent.link.callFrom,
    // A sandbox leaves from ::1 in place of an IPv6 address that it does not have.
    tryAddress: (address) =>
      tryListener(address) ??
      tryAddress(rules.mode === 'sandbox' && address.version === 6 && tryAddress(address) ? ownSix : address),
    needsEgressCheck: (address) => rules.mode === 'production' && classify(address) !== 'loopback',
  })
}

/** Reports the state of an exit to the shop, and logs when it changes. */
function noteExit(log: Log, exitReports: ExitReports, snapshot: Snapshot): EngineDeps['onExit'] {
  return (report) => {
    const before = exitReports.note(report)
    const { pool, host } = snapshot.exits.get(report.id) ?? { pool: '', host: '' }
    const fields = { exit: report.id, pool, leaves_from: host }
    if (!report.isUp) log.warn('exit down', { ...fields, reason: report.reason })
    else if (before?.isUp === false) log.info('exit up', { ...fields, down_ms: report.sinceAt - before.sinceAt })
  }
}

function listen(engine: Engine, config: Config, inherited: ReadonlyMap<number, number>): number {
  const { gatewayListen, gatewayPort: port } = config
  return listening(gatewayListen, port, 'gateway (TURNPIKE_GATEWAY_PORT)', () =>
    withIpv6OrWithout(gatewayListen, (hostname) => engine.start({ hostname, port, inherited })),
  )
}

const hostName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

type TlsFields = Pick<ReportBody, 'tls' | 'hop_tls'>

/**
 * Where customers reach the TLS port: by a name in the certificate, the configured one if it is among them. Other
 * gateways need no name. Browsers reach it by the challenge host, or by any name if the port shows no site.
 */
function tlsFieldsOf(config: Config, certificate: Certificate | undefined, port: number): TlsFields | undefined {
  if (!certificate) return undefined
  const { gatewayHost, gatewaySite, gatewayChallengeHost: challengeHost } = config
  const names = certificate.names.filter((name) => hostName.test(name))
  const named = names.find((name) => name !== challengeHost) ?? names[0]
  const host = hostName.test(gatewayHost) && coversName(certificate, gatewayHost) ? gatewayHost : named
  const challenged = challengeHost !== undefined && coversName(certificate, challengeHost) ? challengeHost : undefined
  const own = new X509Certificate(certificate.cert)
  const pin = own.issuer === own.subject ? { pin: certificate.digest } : {}
  const browserHost = gatewaySite.kind === 'off' ? host : challenged
  const hop = { port, name: host ?? null, key: pinOf(own) }
  return {
    tls:
      host === undefined
        ? undefined
        : { host, port, browser_host: browserHost, ...(config.gatewayVpn && { vpn: true }), ...pin },
    hop_tls: hop,
  }
}

const createHttp2Clients = (engine: Engine, sockets: Sockets): Http2Clients =>
  new Http2Clients({
    sockets,
    take: (client) => engine.takeTls?.(client),
    after,
    clock: () => performance.now(),
  })

/** Clients that wait for 407 get none from a site, so the log says where they get one. */
function noteSite(config: Config, source: SiteSource, certificate: Certificate | undefined, log: Log): void {
  const { gatewayChallengeHost: name } = config
  if (name === undefined) {
    const explanation =
      'Clients without a login get the site. Browsers need TURNPIKE_GATEWAY_CHALLENGE_HOST. ' +
      'TURNPIKE_GATEWAY_SITE=off answers all clients with 407.'
    log.info('site', { site: source.kind, explanation })
  } else if (certificate && !coversName(certificate, name))
    log.warn('challenge host without a certificate', {
      setting: 'TURNPIKE_GATEWAY_CHALLENGE_HOST',
      name,
      explanation: 'Browsers refuse the proxy. Add the name to the certificate.',
    })
}

/** The site of the TLS port; undefined if the setting is `off`. */
function siteTermsOf(config: Config, shopUrl: string, passwordKeys: readonly Uint8Array[]): SiteTerms | undefined {
  const source = siteSourceOf(config, shopUrl)
  const { gatewayChallengeHost: challengeHost } = config
  return source && { source, challengeHost, passwordKeys, hasDevices: config.gatewayVpn }
}

function siteSourceOf({ gatewaySite: site }: Config, shopUrl: string): SiteSource | undefined {
  const nonce = crypto.getRandomValues(new Uint8Array(8)).toHex()
  if (site.kind === 'off') return undefined
  if (site.kind === 'files') return site
  // A shop elsewhere may be private: only the shop of this machine is shown.
  const socket = /^unix:(.+)$/.exec(shopUrl)?.[1]
  return site.kind === 'shop' && socket !== undefined ? { kind: 'shop', socket, nonce } : { kind: 'builtin' }
}

type TlsUsers = {
  readonly engine: Engine
  readonly sockets: Sockets
  readonly http2: Http2Clients
  readonly dispatcher: TlsReactors | undefined
  readonly site: SiteServer | undefined
}

function listenTls(
  { engine, sockets, http2, dispatcher, site }: TlsUsers,
  { current }: Tls,
  config: Config,
  log: Log,
  inherited?: number,
) {
  const { gatewayTlsPort: port } = config
  const max = engineLimitsOf(config, raiseFileLimit(process.platform)).connections
  const takeTls = (tls: TlsSocket): void => {
    const shown = site?.isFor(tls) ? site : undefined
    if (tls.protocol === 'h2') http2.take(tls, shown)
    else if (shown) shown.take(tls)
    else engine.takeTls?.(toTlsClient(tls, sockets))
  }
  const open = (hostname: string): Front =>
    new Front({
      hostname,
      port,
      certificate: current,
      max,
      offersHttp2: true,
      makeRoom: () => dispatcher?.makeRoom() ?? (site?.makeRoom() || http2.makeRoom()),
      threads: dispatcher,
      onTls: takeTls,
      onFault: (fault) => log.error('fault', { fault }),
      adopt: dispatcher
        ? (onAccepted, onBegun) => dispatcher.listen({ hostname, port, inherited }, onAccepted, onBegun)
        : inherited === undefined
          ? undefined
          : (onAccepted) => openAccepter(inherited, port, onAccepted),
    })
  return listening(config.gatewayListen, port, tlsPortName, () => withIpv6OrWithout(config.gatewayListen, open))
}

const tlsPortName = 'gateway over TLS (TURNPIKE_GATEWAY_TLS_PORT)'

/** Refuses a port that cannot be opened, while the running gateway still serves: it is opened after the takeover. */
function tryTlsPort({ gatewayListen, gatewayTlsPort: port }: Config): void {
  const open = (hostname: string) => Bun.listen({ hostname, port, socket: { data() {} } }).stop(true)
  listening(gatewayListen, port, tlsPortName, () => withIpv6OrWithout(gatewayListen, open))
}

function openAccepter(descriptor: number, port: number, onAccepted: Parameters<typeof createAccepter>[0]): TlsListener {
  const accepter = createAccepter(onAccepted)
  const listener = accepter.open(descriptor, port)
  return {
    ...listener,
    stop() {
      listener.stop()
      accepter.end()
    },
  }
}

export const gatewayCommands: readonly Command[] = [
  nodeCommand(
    'gateway',
    'Runs a gateway: proxies over HTTP and SOCKS5, for a shop here or elsewhere.',
    (config, log, end, given) => openGateway(config, log, end, given.has('take-over')),
    [
      {
        flag: 'take-over',
        meaning:
          'replace the gateway that runs on this data folder; the old process serves its open connections to their end',
      },
    ],
  ),
  reloadCommand,
]
