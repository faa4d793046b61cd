import { existsSync, mkdirSync } from 'node:fs'
import manifest from '../../../package.json' with { type: 'json' }
import { randomBytes } from '../../adapters/crypto.ts'
import type { Log } from '../../core/log.ts'
import { refuseHere } from '../../core/refusal.ts'
import { isRunning, listRunning, makeBoot } from '../../dataplane/agent/boots.ts'
import type { DataPath } from '../../dataplane/agent/data-path.ts'
import { sendEarlier } from '../../dataplane/agent/earlier.ts'
import { hasNewerKey, IdentityError, type NodeIdentity, takeIdentity } from '../../dataplane/agent/identity.ts'
import { createInterfaceSpeed } from '../../dataplane/agent/interface-speed.ts'
import { Journal } from '../../dataplane/agent/journal.ts'
import { Meter, type MeterDeps } from '../../dataplane/agent/meter.ts'
import { realTiming } from '../../dataplane/agent/runtime.ts'
import { createShopLink, LinkSettingError, type ShopLink } from '../../dataplane/agent/shop-link.ts'
import { type PagePosition, StateSync } from '../../dataplane/agent/sync.ts'
import { VanishedItems } from '../../dataplane/agent/vanished.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { maxBeside } from '../../node-protocol/report.ts'
import type { StatePage } from '../../node-protocol/state.ts'
import { type Config, joinFolder, joinKeyFile, listenUrl, localShopUrl, nodeFolder } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'

export const nodeRuntimeOf = (log: Log) => ({ timing: realTiming, chance: Math.random, log })

const joinAgain =
  'The shop does not know this node any more, so it serves no traffic. On the shop run "turnpike node key NAME", ' +
  'put the key that it prints into TURNPIKE_NODE_KEY here, and restart the node.'

export type Agent = NonNullable<Awaited<ReturnType<typeof openAgent>>>

/** Opens the node's side of the protocol and joins the shop if needed. Undefined when stopped before it has joined. */
export async function openAgent(config: Config, kind: NodeKind, log: Log, end: AbortSignal, onRevoked: () => void) {
  // Throws on a bad shop URL before the node waits for its join key.
  linkTo(config, '')
  const folder = nodeFolder(config, kind)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const identity = await joinShop(config, kind, folder, log, end)
  if (!identity) return undefined
  const [runtime, vanished, beside] = [nodeRuntimeOf(log), new VanishedItems(), await besideUs(folder)]
  const boot = makeBoot({ folder, clock: Date.now, randomBytes })
  const onRefused = (): void => {
    log.error('revoked', { explanation: joinAgain })
    onRevoked()
  }
  const link = linkTo(config, identity.secret, onRefused, kind === 'gateway' && config.gatewayVpn)
  let skewMs = 0
  const [noteSkew, interfaceSpeed] = [createSkewLog(log), createInterfaceSpeed(realTiming.now)]
  return {
    node: identity.node,
    folder,
    boot,
    link,
    vanished,
    /** An address, or unix: and the path of a socket. */
    shopUrl: shopUrlOf(config),
    /** Whether there is a key to join again with. */
    hasNewerKey: () => hasNewerKey(folder, findKeyFile(config, kind)),
    /** The shop's clock, which decides expiry; known once the first page was received. */
    clock: () => Date.now() + skewMs,
    /** Makes `sync`, which receives the desired state, and `meter`, which reports usage. Neither starts by itself. */
    attach(
      dataPath: DataPath,
      onPage: (page: StatePage, position: PagePosition) => void,
      extraFields?: MeterDeps['extraFields'],
    ) {
      const named = { folder, node: identity.node, boot, version: manifest.version, link }
      const sync = new StateSync({
        ...runtime,
        link,
        onPage(page, position) {
          skewMs = page.now - Date.now()
          noteSkew(skewMs)
          onPage(page, position)
        },
      })
      const meter = new Meter({
        ...runtime,
        ...named,
        link: { ...link, report: reportingMark(link, () => sync.mark, vanished) },
        dataPath,
        beside,
        journal: new Journal({ ...runtime, ...named }),
        lagMs: () => sync.lagMs,
        extraFields: () => ({ cpu_ms: cpuMs(), interface_mbit: interfaceSpeed(), ...extraFields?.() }),
        sendEarlier: (stop) =>
          sendEarlier({ ...runtime, ...named, end: stop, isAlive: (each) => isRunning(folder, each) }),
      })
      return { sync, meter, contact: contactOf(sync, meter, () => skewMs) }
    },
  }
}

/** Every report has the mark of the last state page, and what vanished with a whole state until the shop took it. */
const reportingMark =
  (link: ShopLink, mark: () => string | undefined, vanished: VanishedItems): ShopLink['report'] =>
  async (body, end) => {
    const gone = vanished.batch()
    const answer = await link.report({ ...body, mark: mark(), ...(gone.length > 0 && { vanished: [...gone] }) }, end)
    vanished.settle(gone)
    return answer
  }

/** Processor time of all threads of this process since it started. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1000)
}

/** The node's connection to its shop. `awayMs` is the time since the shop's last answer; undefined before the first. */
function contactOf(sync: StateSync, meter: Meter, skewMs: () => number) {
  const awayMs = (): number | undefined => {
    const lastAt = Math.max(sync.lastContactAt ?? 0, meter.lastContactAt ?? 0)
    return lastAt === 0 ? undefined : realTiming.now() - lastAt
  }
  return { awayMs, lagMs: () => sync.lagMs, skewMs }
}

/** Other running processes of this node. They keep their leases. */
async function besideUs(folder: string): Promise<string[]> {
  const running = await listRunning(folder)
  if (running.length <= maxBeside) return running
  throw refuseHere(
    `${running.length} processes of this node still serve connections of earlier takeovers. Wait until one has ` +
      'ended, or stop one.',
  )
}

/** A larger clock difference is logged, and again when it grows by as much. */
const maxSkewMs = 5_000

/** Expiry follows the shop's clock; certificates and logs follow the machine's. */
function createSkewLog(log: Log): (skewMs: number) => void {
  let reportedMs = 0
  return (skewMs) => {
    if (Math.abs(skewMs - reportedMs) <= maxSkewMs) return
    reportedMs = skewMs
    const explanation =
      Math.abs(skewMs) <= maxSkewMs
        ? 'It agrees with the clock of the shop again.'
        : 'Run an NTP client (chrony, systemd-timesyncd) on this machine and on the machine of the shop.'
    log.warn('clock differs from the shop', { ahead_ms: -skewMs, explanation })
  }
}

async function joinShop(
  config: Config,
  kind: NodeKind,
  folder: string,
  log: Log,
  end: AbortSignal,
): Promise<NodeIdentity | undefined> {
  try {
    return await takeIdentity({
      ...nodeRuntimeOf(log),
      folder,
      version: manifest.version,
      randomBytes,
      key: config.nodeKey,
      keyFile: findKeyFile(config, kind),
      linkWith: (secret) => linkTo(config, secret),
      end,
    })
  } catch (error) {
    if (end.aborted) return undefined
    throw error instanceof IdentityError ? new BadSetting(error.message) : error
  }
}

/** Only a shop on this machine writes keys into this folder, so a node of a remote shop does not wait for one. */
function findKeyFile(config: Config, kind: NodeKind): string | undefined {
  const path = joinKeyFile(config.folder, kind)
  const isOwn = config.shopUrl === undefined || config.shopUrl.startsWith('unix:')
  return isOwn || existsSync(path) ? path : undefined
}

/** The socket of a shop that shares this data folder, or the address that these settings give the shop. */
export const shopUrlOf = (config: Config): string =>
  config.shopUrl ?? (existsSync(joinFolder(config.folder)) ? localShopUrl(config) : listenUrl(config))

function linkTo(config: Config, secret: string, onRefused?: () => void, isForVpn = false): ShopLink {
  try {
    const { publicUrl } = config
    return createShopLink({ url: shopUrlOf(config), publicUrl, secret, isForVpn, ...(onRefused && { onRefused }) })
  } catch (error) {
    if (error instanceof LinkSettingError) throw new BadSetting(`TURNPIKE_SHOP_URL (--shop-url): ${error.message}.`)
    throw error
  }
}
