import type { Clock } from '../../core/time.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { NodePeer } from '../../node-protocol/state.ts'
import type { DataPath } from '../agent/data-path.ts'
import type { NodeLog } from '../agent/runtime.ts'
import { clearRemains, createChanges, type MachineChanges, undoChanges } from './changes.ts'
import { createPeerCounts } from './counts.ts'
import { createDesired, readTunnelAddress, type TunnelAddress } from './desired.ts'
import { type Device, openDevice } from './device.ts'
import { raiseFirewall, readForwarding, turnOnForwarding } from './firewall.ts'
import { diffPeers, toSetCalls } from './peers.ts'
import { findMissing, findProgram, lookAtMachine, must, type RunProgram, refuseMissing } from './run.ts'
import { createSpeed, type Speed } from './speed.ts'

type WireguardDeps = {
  readonly deviceName: string
  /** Where changes are journalled. */
  readonly folder: string
  readonly setup: VpnSetup
  readonly run: RunProgram
  readonly clock: Clock
  readonly log: NodeLog
  /** Counters were read. */
  readonly onCounted?: () => void
  /** Called once if the node cannot continue; close() undoes its changes. */
  readonly onFault: (error: unknown) => void
}

export type WireguardNode = {
  readonly dataPath: DataPath
  readonly kind: Device['kind']
  /** Applies changed peers. */
  apply(peers: readonly NodePeer[]): Promise<void>
  /** Applies the complete list of peers. */
  replace(peers: readonly NodePeer[]): Promise<void>
  /** Blocks all peers while the shop refuses this node. */
  hold(isHeld: boolean): Promise<void>
  close(): Promise<void>
}

/** Interval between looks, below one second for `kill -9`; longer with many peers, up to `maxPauseMs`. */
const pauseMs = 900
const maxPauseMs = 3_000
const restPerLook = 4
/** Consecutive failures before the node gives up. */
const maxFailures = 5

/** Sets the machine up as a VPN node. */
export async function openWireguardNode(deps: WireguardDeps): Promise<WireguardNode> {
  const { deviceName, folder, setup, run, log } = deps
  refuseMissing(findMissing(lookAtMachine(findProgram)))
  const networks = setup.addresses.map(readNetwork)
  await clearRemains(folder, run, log)
  const changes = createChanges(folder, deviceName)
  const plan = { name: deviceName, setup, networks }
  try {
    // The firewall comes first, so that no packet passes without it.
    await raiseFirewall({ device: deviceName, networks, forwarding: readForwarding() }, changes, run)
    turnOnForwarding(changes)
    const device = await openDevice(plan, changes, run, log)
    const speed = createSpeed(deviceName, changes, run, log)
    log.info('vpn device is up', { device: deviceName, kind: device.kind, port: setup.listen_port })
    const reopen = () => openDevice(plan, changes, run, log)
    return createLoop(deps, { networks, changes, device, speed, reopen })
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
  readonly device: Device
  readonly speed: Speed
  readonly reopen: () => Promise<Device>
}

type Page = { readonly peers: readonly NodePeer[]; readonly isAll: boolean }

function createLoop(deps: WireguardDeps, parts: Parts): WireguardNode {
  const { deviceName, run, clock, log } = deps
  let { device } = parts
  const counts = createPeerCounts()
  const refused = new Map<string, string>()
  const desired = createDesired({
    networks: parts.networks,
    counts,
    refuse: (id, problem) => {
      if (refused.get(id) !== problem) log.warn('peer left out', { peer: id, problem })
      refused.set(id, problem)
    },
  })
  const pages: Page[] = []
  let failures = 0
  let isHeld = false
  let isClosing = false
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Counts, then applies changes, so that bytes are credited to a key's previous owner. */
  async function pass(): Promise<void> {
    const { peers } = await device.look()
    counts.absorb(peers, desired.ownerOf)
    deps.onCounted?.()
    for (let page = pages.shift(); page; page = pages.shift()) {
      if (page.isAll) desired.replace(page.peers)
      else desired.take(page.peers)
    }
    const passing = isHeld ? [] : desired.passing(clock())
    const difference = diffPeers(peers, passing)
    for (const call of toSetCalls(deviceName, difference)) await must(run, call)
    await parts.speed.keep(passing)
    desired.forgetAllBut(new Set(passing.map((each) => each.public_key)))
  }

  async function passOrMend(): Promise<void> {
    try {
      await pass()
      failures = 0
    } catch (error) {
      failures += 1
      log.error('a look at the device failed', { error, failures })
      if (failures >= maxFailures) {
        isClosing = true
        deps.onFault(error)
      } else await mend()
    }
  }

  /** Recreates a missing device and its peers. */
  async function mend(): Promise<void> {
    const isThere = await device.look().then(
      () => true,
      () => false,
    )
    if (isThere) return
    await device.close()
    await parts.speed.reset()
    device = await parts.reopen()
    counts.absorb([], () => undefined)
    log.warn('vpn device made anew', { device: deviceName })
    await pass()
  }

  const turns = createTurns(async () => {
    clearTimeout(timer)
    if (isClosing) return
    const beganAt = performance.now()
    await passOrMend().catch((error: unknown) => log.error('the device could not be mended', { error }))
    const restMs = (performance.now() - beganAt) * restPerLook
    if (!isClosing) timer = setTimeout(() => void turns.next(), Math.min(maxPauseMs, Math.max(pauseMs, restMs)))
  })
  timer = setTimeout(() => void turns.next(), pauseMs)

  const hear = (page: Page): Promise<void> => {
    pages.push(page)
    return turns.next()
  }
  return {
    dataPath: toDataPath(counts, clock),
    kind: device.kind,
    apply: (peers) => hear({ peers, isAll: false }),
    replace: (peers) => hear({ peers, isAll: true }),
    hold(wanted) {
      if (isHeld === wanted) return Promise.resolve()
      isHeld = wanted
      return turns.next()
    },
    async close() {
      isClosing = true
      clearTimeout(timer)
      await turns.last()
      await device.look().then(
        ({ peers }) => counts.absorb(peers, desired.ownerOf),
        (error: unknown) => log.warn('no last count', { error }),
      )
      await device.close()
      await undoAll(parts.changes, run)
      log.info('vpn device is gone', { device: deviceName })
    },
  }
}

/** Runs one at a time; calls during a run share the next one. */
function createTurns(work: () => Promise<void>) {
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

const toDataPath = (counts: ReturnType<typeof createPeerCounts>, clock: Clock): DataPath => ({
  takeChanged: () => ({ proxies: [], subusers: [], hosts: [], peers: counts.takeChanged() }),
  takeSources: () => [],
  // Peers have no leases: `left` comes with their state.
  allow: () => undefined,
  get health() {
    return { tunnels: counts.upAt(clock()), carried: counts.carried }
  },
})
