import { type Command, machineCommand } from '../../cli/command.ts'
import type { Log } from '../../core/log.ts'
import { Refusal } from '../../core/refusal.ts'
import { growingPause, realTiming } from '../../dataplane/agent/runtime.ts'
import { LinkError, type ShopLink } from '../../dataplane/agent/shop-link.ts'
import type { PagePosition } from '../../dataplane/agent/sync.ts'
import type { VanishedItems } from '../../dataplane/agent/vanished.ts'
import { clearRemains, describeChange, endLastTunnel, readChanges } from '../../dataplane/wireguard/changes.ts'
import { openWireguardNode, type WireguardNode } from '../../dataplane/wireguard/node.ts'
import { findMissing, lookAtMachine, refuseMissing, runProgram } from '../../dataplane/wireguard/run.ts'
import type { VpnSetup } from '../../node-protocol/join.ts'
import type { VanishedItem } from '../../node-protocol/report.ts'
import type { NodePeer, StatePage } from '../../node-protocol/state.ts'
import { addNodeMetrics } from '../metrics/node.ts'
import { createProcessMetrics, serveMetrics } from '../metrics/process.ts'
import { configOf } from '../process.ts'
import { type Config, nodeFolder } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import { connectionLimitsOf } from '../settings/vpn.ts'
import { openAgent } from './agent.ts'
import { nodeCommand, type RunningNode } from './command.ts'

const firstPauseMs = 250
const maxPauseMs = 5_000
/** How soon the stop follows the announcement of a restart. */
const restartWithinMs = 30_000

/** Runs a VPN node. First ends the tunnel that a killed run left. Undefined when stopped before it has joined. */
async function openVpnNode(config: Config, log: Log, end: AbortSignal): Promise<RunningNode | undefined> {
  const folder = nodeFolder(config, 'vpn')
  await orBadSetting(async () => {
    refuseMissing(findMissing(lookAtMachine()))
    await endLastTunnel(folder, runProgram)
  })
  const revoked = { call: () => {} }
  const agent = await openAgent(config, 'vpn', log, end, () => revoked.call())
  const setup = agent && (await loadSetup(agent.link, log, end))
  if (!setup) {
    await clearRemains(folder, runProgram)
    return undefined
  }
  const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
  const counted = { note: () => {} }
  const node = await orBadSetting(() =>
    openWireguardNode({
      deviceName: config.vpnDevice,
      folder,
      setup,
      limits: connectionLimitsOf(config),
      run: runProgram,
      clock: agent.clock,
      log,
      onCounted: () => counted.note(),
      onFault: () => fail(),
    }),
  )
  revoked.call = () => {
    void node.hold(true)
    // The restarted process joins with the new key.
    if (agent.hasNewerKey()) fail()
  }
  const { meter, sync, contact } = agent.attach(node.dataPath, passOnTo(node, agent.vanished))
  counted.note = () => meter.noteNow()
  meter.start()
  const metrics = createProcessMetrics(config, 'vpn-node')
  addNodeMetrics(metrics, node.dataPath, contact)
  const figures = serveMetrics(config, 'vpn-node', metrics, log)
  const running = sync.run(end)
  const isOfSystemd = process.env['NOTIFY_SOCKET'] !== undefined && process.env['TURNPIKE_SUPERVISED'] !== '1'
  let restartAskedAt = Number.NEGATIVE_INFINITY
  return {
    ready: sync.ready,
    failed,
    // The unit sends SIGHUP before SIGTERM when it is restarted and not stopped.
    onHangUp: isOfSystemd ? () => void (restartAskedAt = realTiming.now()) : undefined,
    async stop() {
      metrics.stop()
      await figures.stop()
      await node.close(() => realTiming.now() - restartAskedAt < restartWithinMs)
      await meter.stop()
      await running
    },
  }
}

/** A restart does not fix these: the operator has to act. */
async function orBadSetting<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Refusal ? new BadSetting(error.message) : error
  }
}

/** The shop assigns this node's keys and addresses, so the node retries until the shop answers. */
async function loadSetup(link: ShopLink, log: Log, end: AbortSignal): Promise<VpnSetup | undefined> {
  for (let failures = 1; !end.aborted; failures += 1) {
    try {
      return await link.vpn(end)
    } catch (error) {
      if (!(error instanceof LinkError)) throw error
      if (!end.aborted) log.warn('setup not given yet', { fault: error })
      await realTiming.pause(growingPause(failures, firstPauseMs, maxPauseMs, Math.random), end)
    }
  }
  return undefined
}

/** Passes state pages to the device. A whole read is applied page by page, and once more after its last page. */
function passOnTo(node: WireguardNode, vanished: VanishedItems): (page: StatePage, position: PagePosition) => void {
  let whole: NodePeer[] = []
  const served = new Map<string, NodePeer>()
  return (page, position) => {
    if (position.isFirst) whole = []
    if (position.isWhole) whole.push(...page.peers)
    const isEnd = position.isWhole && position.isLast
    if (isEnd) {
      for (const { id } of whole) served.delete(id)
      vanished.add([...served.values()].map(toVanished))
      served.clear()
    }
    for (const peer of isEnd ? whole : position.isWhole ? [] : page.peers)
      if (peer.state === 'up') served.set(peer.id, peer)
      else served.delete(peer.id)
    void node.hold(false)
    if (isEnd) void node.replace(whole)
    else if (page.peers.length > 0) void node.apply(page.peers)
    if (isEnd) whole = []
  }
}

const toVanished = ({ id, public_key: login, allowed }: NodePeer): VanishedItem => ({
  kind: 'peer',
  id,
  login,
  address: allowed.join(' '),
  owner: '',
})

export const vpnNodeCommands: readonly Command[] = [
  nodeCommand('vpn-node', 'Runs a VPN node: WireGuard tunnels, for a shop here or elsewhere. Needs root.', openVpnNode),
  machineCommand({
    name: 'vpn-node status',
    summary: 'Lists what a VPN node has changed on this machine, and what this machine lacks to be one.',
    async run(given) {
      const held = readChanges(nodeFolder(configOf(given), 'vpn'))
      const changes = (held?.changes ?? []).map(describeChange)
      const missing = findMissing(lookAtMachine())
      const state = held === undefined ? 'stopped' : held.runs ? 'running' : 'killed'
      const heading = {
        stopped: 'No VPN node runs here, and none has left anything behind.',
        running: `A VPN node runs as process ${held?.pid}. It has changed:`,
        killed: 'A VPN node restarts here or was killed. The next start takes over what it left behind:',
      }[state]
      const lacks = missing.map((each) => `Missing: ${each.what}. ${each.how}`)
      return {
        json: { state, pid: held?.pid ?? null, changes, missing },
        lines: [heading, ...changes.map((each) => `  ${each}`), ...lacks],
      }
    },
  }),
]
