import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import type { Log } from '../../adapters/log.ts'
import type { Command } from '../../cli/command.ts'
import { Refusal } from '../../kernel/refusal.ts'
import { makeBoot } from '../../plane/agent/boot-id.ts'
import { sendEarlier } from '../../plane/agent/earlier.ts'
import type { Identity } from '../../plane/agent/identity.ts'
import { openJournal } from '../../plane/agent/journal.ts'
import { createMeter, type Meter } from '../../plane/agent/meter.ts'
import { LinkError, type ShopLink } from '../../plane/agent/shop-link.ts'
import { growingPause, realTiming } from '../../plane/agent/surroundings.ts'
import { createSync } from '../../plane/agent/sync.ts'
import { clearRemains, describeChange, readChanges } from '../../plane/wireguard/changes.ts'
import { openWireguardNode, type WireguardNode } from '../../plane/wireguard/node.ts'
import { findMissing, lookAtMachine, refuseMissing } from '../../plane/wireguard/requirements.ts'
import { findProgram, runProgram } from '../../plane/wireguard/run.ts'
import type { VpnSetup } from '../../wire/node/join.ts'
import type { NodePeer, StatePage } from '../../wire/node/state.ts'
import { configOf, logOf, untilStopped } from '../roles.ts'
import { BadSetting, type Config } from '../settings/config.ts'
import { joinShop, linkTo, randomBytes } from './agent.ts'

const firstPauseMs = 250
const mostPauseMs = 5_000

type VpnNode = {
  /** Settles should the node be unable to go on. */
  readonly failed: Promise<void>
  stop(): Promise<void>
}

const folderOf = (config: Config): string => join(config.folder, 'vpn-node')

/**
 * Runs a VPN node: joins the shop, becomes what the shop wants, carries, and tells what it has carried. Undefined when told to stop before that. What
 * a run that was killed left on the machine is cleared up first of all: nobody looks after it.
 */
async function openVpnNode(config: Config, log: Log, end: AbortSignal): Promise<VpnNode | undefined> {
  const folder = folderOf(config)
  await orBadSetting(async () => {
    refuseMissing(findMissing(lookAtMachine(findProgram)))
    await clearRemains(folder, runProgram, log)
  })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const identity = await joinShop(config, 'vpn', folder, log, end)
  if (!identity) return undefined
  const hearing = createHearing()
  const link = linkTo(config, identity.secret, () => {
    log.error('revoked', { explanation: 'the shop does not know this node any more; nothing is carried' })
    void hearing.node?.hold(true)
  })
  const setup = await loadSetup(link, log, end)
  if (!setup) return undefined
  const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
  const counted = { note: () => undefined as void }
  const node = await orBadSetting(() =>
    openWireguardNode({
      deviceName: config.vpnDevice,
      folder,
      setup,
      run: runProgram,
      clock: hearing.clock,
      log,
      onCounted: () => counted.note(),
      onFault: () => fail(),
    }),
  )
  hearing.node = node
  const { meter, sync } = assemble(folder, identity, link, node, hearing, log)
  counted.note = () => meter.noteNow()
  meter.start()
  const running = sync.run(end)
  return {
    failed,
    async stop() {
      await node.close()
      await meter.stop()
      await running
    },
  }
}

/** Nothing of this is mended by starting again: the operator has to do something. */
async function orBadSetting<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof Refusal ? new BadSetting(error.message) : error
  }
}

/** The keys and addresses of this node are the shop's to give, so it is asked until it answers. */
async function loadSetup(link: ShopLink, log: Log, end: AbortSignal): Promise<VpnSetup | undefined> {
  for (let failures = 1; !end.aborted; failures += 1) {
    try {
      return await link.vpn(end)
    } catch (error) {
      if (!(error instanceof LinkError)) throw error
      if (!end.aborted) log.warn('setup not given yet', { fault: error })
      await realTiming.pause(growingPause(failures, firstPauseMs, mostPauseMs, Math.random), end)
    }
  }
  return undefined
}

/** Passes on to the device what the shop says. A whole read is applied as it comes, and once more when it is whole. */
function createHearing() {
  let skewMs = 0
  let whole: NodePeer[] = []
  return {
    node: undefined as WireguardNode | undefined,
    /** The shop's clock decides what has expired. */
    clock: () => Date.now() + skewMs,
    hear(page: StatePage, place: { isWhole: boolean; isFirst: boolean; isLast: boolean }): void {
      skewMs = page.now - Date.now()
      if (place.isFirst) whole = []
      if (place.isWhole) whole.push(...page.peers)
      const isEnd = place.isWhole && place.isLast
      void this.node?.hold(false)
      if (isEnd) void this.node?.replace(whole)
      else if (page.peers.length > 0) void this.node?.apply(page.peers)
      if (isEnd) whole = []
    },
  }
}

function assemble(
  folder: string,
  identity: Identity,
  link: ShopLink,
  node: WireguardNode,
  hearing: ReturnType<typeof createHearing>,
  log: Log,
) {
  const around = { timing: realTiming, chance: Math.random, log }
  const boot = makeBoot({ folder, clock: Date.now, randomBytes })
  const named = { folder, node: identity.node, boot, version: manifest.version, link }
  const sync = createSync({ ...around, link, onPage: (page, place) => hearing.hear(page, place) })
  const meter: Meter = createMeter({
    ...around,
    ...named,
    carrier: node.carrier,
    journal: openJournal({ ...around, ...named }),
    lagMs: () => sync.lagMs,
    sendEarlier: (end) => sendEarlier({ ...around, ...named, end }),
  })
  return { meter, sync }
}

export const vpnNodeCommands: readonly Command[] = [
  {
    name: 'vpn-node',
    summary: 'Runs a VPN node: WireGuard tunnels, for a shop here or elsewhere. Needs root.',
    takes: [],
    options: [],
    async run(given) {
      const config = configOf(given)
      const stop = new AbortController()
      const stopped = untilStopped().then(() => stop.abort())
      const node = await openVpnNode(config, logOf(config, 'vpn-node'), stop.signal)
      const outcome = await Promise.race([
        stopped.then(() => 0),
        node ? node.failed.then(() => 1) : stopped.then(() => 0),
      ])
      stop.abort()
      await node?.stop()
      return { json: null, lines: [], exit: outcome }
    },
  },
  {
    name: 'vpn-node status',
    summary: 'Lists what a VPN node has changed on this machine, and what this machine lacks to be one.',
    takes: [],
    options: [],
    async run(given) {
      const held = readChanges(folderOf(configOf(given)))
      const changes = (held?.changes ?? []).map(describeChange)
      const missing = findMissing(lookAtMachine(findProgram))
      const state = held === undefined ? 'stopped' : held.runs ? 'running' : 'killed'
      const heading = {
        stopped: 'No VPN node runs here, and none has left anything behind.',
        running: `A VPN node runs as process ${held?.pid}. It has changed:`,
        killed: 'A VPN node was killed here. The next start undoes what it left behind:',
      }[state]
      const lacks = missing.map((each) => `Missing: ${each.what}. ${each.how}`)
      return {
        json: { state, pid: held?.pid ?? null, changes, missing },
        lines: [heading, ...changes.map((each) => `  ${each}`), ...lacks],
      }
    },
  },
]
