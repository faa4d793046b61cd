import type { Clock } from '../../core/time.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { NodePeer } from '../../node-protocol/state.ts'
import type { DataPath } from '../agent/data-path.ts'
import type { NodeLog } from '../agent/runtime.ts'
import { createChanges, endLastTunnel, isLink, type MachineChanges, type PeerSession, undoChanges } from './changes.ts'
import { freshMs, PeerCounts } from './counts.ts'
import { DesiredPeers, readTunnelAddress, type TunnelAddress } from './desired.ts'
import { type Device, openDevice } from './device.ts'
import { type ConnectionLimits, type Firewall, raiseFirewall, readForwarding, turnOnForwarding } from './firewall.ts'
import { type DevicePeer, diffPeers, toSetCalls } from './peers.ts'
import { findMissing, lookAtMachine, must, type RunProgram, refuseMissing } from './run.ts'
import { createSpeed, type Speed } from './speed.ts'

type WireguardDeps = {
  readonly deviceName: string
  /** Where changes are journalled. */
  readonly folder: string
  readonly setup: VpnSetup
  readonly limits: ConnectionLimits
  readonly run: RunProgram
  readonly clock: Clock
  readonly log: NodeLog
  readonly onCounted?: () => void
  /** Called once if the node cannot continue; close() undoes its changes. */
  readonly onFault: (error: unknown) => void
}

/** Interval between looks, below one second for `kill -9`; longer with many peers, up to `maxPauseMs`. */
const pauseMs = 900
const maxPauseMs = 3_000
const restPerLook = 4
const maxFailures = 5

export async function openWireguardNode(deps: WireguardDeps): Promise<WireguardNode> {
  const { deviceName, folder, setup, run, log } = deps
  refuseMissing(findMissing(lookAtMachine()))
  const networks = setup.addresses.map(readNetwork)
  const last = await endLastTunnel(folder, run)
  if (last) log.info('firewall and sessions taken over', { of: last.pid, sessions: last.sessions.length })
  const changes = createChanges(folder, deviceName, last)
  const plan = { name: deviceName, setup, networks }
  try {
    // The firewall comes first, so that no packet passes without it.
    const forwarding = readForwarding(last?.kept)
    const { limits } = deps
    const firewall = await raiseFirewall({ device: deviceName, networks, forwarding, limits }, changes, run, log)
    turnOnForwarding(changes)
    const device = await openDevice(plan, changes, run, log)
    const speed = createSpeed(deviceName, changes, run, log)
    log.info('vpn device is up', { device: deviceName, kind: device.kind, port: setup.listen_port })
    const reopen = () => openDevice(plan, changes, run, log)
    const isFresh = (at: number) => deps.clock() - at < freshMs
    const endpoints = new Map(
      last?.sessions.flatMap((each) => (isFresh(each.handshake_at) ? [[each.public_key, each.endpoint]] : [])),
    )
    return new WireguardNode(deps, { networks, changes, firewall, device, speed, reopen, endpoints })
  } catch (error) {
    await undoAll(changes, run)
    throw error
  }
}

async function undoAll(changes: MachineChanges, run: RunProgram): Promise<void> {
  await undoChanges(changes.list(), run)
  changes.close()
}

function readNetwork(text: string): TunnelAddress {
  const read = readTunnelAddress(text)
  if (!read) throw new Error(`the shop gave ${text} as the node's address in the tunnel`)
  return read
}

type Parts = {
  readonly networks: readonly TunnelAddress[]
  readonly changes: MachineChanges
  readonly firewall: Firewall
  readonly device: Device
  readonly speed: Speed
  readonly reopen: () => Promise<Device>
  /** Where the peers of the run before were, by public key. */
  readonly endpoints: Map<string, string>
}

type Page = { readonly peers: readonly NodePeer[]; readonly isAll: boolean }

/** Keeps the device's peers equal to the desired ones, and counts their bytes. */
export class WireguardNode {
  readonly dataPath: DataPath
  readonly kind: Device['kind']
  private device: Device
  private readonly counts = new PeerCounts()
  private readonly desired: DesiredPeers
  /** Problem of each refused peer, as last logged. */
  private readonly refused = new Map<string, string>()
  private readonly pages: Page[] = []
  private readonly runs = createSerialRuns(() => this.turn())
  private failures = 0
  private isHeld = false
  private isClosing = false
  private timer: ReturnType<typeof setTimeout>

  constructor(
    private readonly deps: WireguardDeps,
    private readonly parts: Parts,
  ) {
    this.device = parts.device
    this.kind = parts.device.kind
    this.dataPath = toDataPath(this.counts, deps.clock)
    this.desired = new DesiredPeers({
      networks: parts.networks,
      counts: this.counts,
      refuse: (id, problem) => this.refuse(id, problem),
    })
    this.timer = setTimeout(() => void this.runs.next(), pauseMs)
  }

  apply(peers: readonly NodePeer[]): Promise<void> {
    return this.take({ peers, isAll: false })
  }

  /** Applies the complete list of peers. */
  replace(peers: readonly NodePeer[]): Promise<void> {
    return this.take({ peers, isAll: true })
  }

  /** Blocks all peers while the shop refuses this node. */
  hold(wanted: boolean): Promise<void> {
    if (this.isHeld === wanted) return Promise.resolve()
    this.isHeld = wanted
    return this.runs.next()
  }

  /**
   * Ends the tunnel. Before a restart, the firewall stays for the next process, which then renews the sessions.
   * `isRestart` is called late: of two signals that arrive together, Bun may deliver the second first.
   */
  async close(isRestart = () => false): Promise<void> {
    const { counts, desired, deps, parts } = this
    this.isClosing = true
    clearTimeout(this.timer)
    await this.runs.last()
    const peers = await this.device.look().then(
      (seen) => seen.peers,
      (error: unknown) => deps.log.warn('no last count', { error }),
    )
    if (peers) counts.absorb(peers, (publicKey) => desired.ownerOf(publicKey))
    await this.device.close()
    const restarts = isRestart()
    if (restarts) {
      await undoChanges(parts.changes.list().filter(isLink), deps.run)
      parts.changes.leave(toSessions(peers ?? []))
    } else await undoAll(parts.changes, deps.run)
    deps.log.info('vpn device is gone', { device: deps.deviceName, restarts })
  }

  private take(page: Page): Promise<void> {
    this.pages.push(page)
    return this.runs.next()
  }

  private refuse(id: string, problem: string): void {
    if (this.refused.get(id) !== problem) this.deps.log.warn('peer left out', { peer: id, problem })
    this.refused.set(id, problem)
  }

  /** One look at the device; sets the timer of the next one. */
  private async turn(): Promise<void> {
    clearTimeout(this.timer)
    if (this.isClosing) return
    const beganAt = performance.now()
    await this.passOrMend().catch((error: unknown) => this.deps.log.error('the device could not be mended', { error }))
    const restMs = (performance.now() - beganAt) * restPerLook
    if (this.isClosing) return
    this.timer = setTimeout(() => void this.runs.next(), Math.min(maxPauseMs, Math.max(pauseMs, restMs)))
  }

  /** Checks the firewall, counts, then applies changes, so that bytes are credited to a key's previous owner. */
  private async pass(): Promise<void> {
    const { deps, desired, pages } = this
    const { endpoints, firewall } = this.parts
    const isGuarded = await firewall.keep()
    const { peers } = await this.device.look()
    this.counts.absorb(peers, (publicKey) => desired.ownerOf(publicKey))
    deps.onCounted?.()
    for (let page = pages.shift(); page; page = pages.shift()) {
      if (page.isAll) desired.replace(page.peers)
      else desired.take(page.peers)
    }
    const passing = this.isHeld || !isGuarded ? [] : desired.passing(deps.clock())
    const difference = diffPeers(peers, passing)
    for (const call of toSetCalls(deps.deviceName, difference, endpoints)) await must(deps.run, call)
    for (const { public_key } of difference.set) endpoints.delete(public_key)
    await this.parts.speed.keep(passing)
    desired.forgetAllBut(new Set(passing.map((each) => each.public_key)))
  }

  private async passOrMend(): Promise<void> {
    try {
      await this.pass()
      this.failures = 0
    } catch (error) {
      this.failures += 1
      this.deps.log.error('a look at the device failed', { error, failures: this.failures })
      if (this.failures >= maxFailures) {
        this.isClosing = true
        this.deps.onFault(error)
      } else await this.mend()
    }
  }

  /** Recreates a missing device and its peers. */
  private async mend(): Promise<void> {
    const isThere = await this.device.look().then(
      () => true,
      () => false,
    )
    if (isThere) return
    await this.device.close()
    await this.parts.speed.reset()
    this.device = await this.parts.reopen()
    this.counts.absorb([], () => undefined)
    this.deps.log.warn('vpn device recreated', { device: this.deps.deviceName })
    await this.pass()
  }
}

const toSessions = (peers: readonly DevicePeer[]): PeerSession[] =>
  peers.flatMap(({ publicKey, endpoint, handshakeAt }) =>
    endpoint === null || handshakeAt === null ? [] : [{ public_key: publicKey, endpoint, handshake_at: handshakeAt }],
  )

/** Runs one at a time; calls during a run share the next one. */
function createSerialRuns(work: () => Promise<void>) {
  let running: Promise<void> | undefined
  let waiting: Promise<void> | undefined
  const start = (): Promise<void> => {
    running = work().finally(() => {
      running = undefined
    })
    return running
  }
  return {
    next(): Promise<void> {
      if (!running) return start()
      waiting ??= running.then(() => {
        waiting = undefined
        return start()
      })
      return waiting
    },
    last: async (): Promise<void> => {
      await waiting
      await running
    },
  }
}

const toDataPath = (counts: PeerCounts, clock: Clock): DataPath => ({
  takeChanged: () => ({ proxies: [], subusers: [], hosts: [], peers: counts.takeChanged() }),
  takeSources: () => [],
  // Peers have no leases: `left` comes with their state.
  allow: () => undefined,
  get health() {
    return { tunnels: counts.upAt(clock()), totalBytes: counts.totalBytes }
  },
})
