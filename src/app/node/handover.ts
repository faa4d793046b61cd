import manifest from '../../../package.json' with { type: 'json' }
import type { Log } from '../../core/log.ts'
import { refuseHere } from '../../core/refusal.ts'
import { listRunning } from '../../dataplane/agent/boots.ts'
import type { Meter } from '../../dataplane/agent/meter.ts'
import { realTiming, type Timing } from '../../dataplane/agent/runtime.ts'
import type { Engine } from '../../dataplane/gateway/engines/shared/engine.ts'
import { findPredecessor, type Predecessor } from '../../dataplane/gateway/handover/handover.ts'
import { maxBeside } from '../../node-protocol/report.ts'
import { tellSystemd } from '../process.ts'
import { type Config, nodeFolder } from '../settings/config.ts'
import { BadSetting } from '../settings/reading.ts'
import type { Agent } from './agent.ts'
import type { GatewayRules } from './rules.ts'

/** How long tunnels may take to end once the gateway is stopped; the supervisor waits ten seconds. */
export const drainMs = 4000

const lookEveryMs = 250
/** How long the shop may take for its first page, and for all of them. */
const answerWithinMs = 5000
const wholeWithinMs = 40_000

/** Describes this gateway to a successor, and why it cannot be taken over from. */
export function describeGateway(config: Config, countTunnels: () => number) {
  let isDraining = false
  return {
    who: () => ({
      pid: process.pid,
      version: manifest.version,
      hostname: config.gatewayListen,
      port: config.gatewayPort,
      draining: isDraining,
      tunnels: countTunnels(),
    }),
    findObstacle: (): string | undefined => {
      // The supervising `up` would restart the old process.
      if (process.env['TURNPIKE_SUPERVISED'] === '1') {
        return '"turnpike up" supervises this gateway. Only one that "turnpike gateway" has started can be replaced.'
      }
      return isDraining ? 'Another process has taken over already.' : undefined
    },
    noteDraining: (): void => void (isDraining = true),
  }
}

/** The gateway that runs on this data folder; undefined if none does. */
export async function meetPredecessor(config: Config, log: Log): Promise<Predecessor | undefined> {
  if (process.platform !== 'linux')
    throw new BadSetting('A gateway can take over from another on Linux only. Restart it instead.')
  const before = await findPredecessor(nodeFolder(config, 'gateway'), realTiming)
  if (!before) {
    log.info('no gateway to take over from')
    return undefined
  }
  const { hostname, port, pid, version } = before.who
  log.info('taking over', { from_pid: pid, from_version: version })
  if (hostname === config.gatewayListen && port === config.gatewayPort) return before
  before.close()
  throw refuseHere(
    `The running gateway listens on ${hostname} port ${port}, and the settings name another address. It needs a ` +
      'restart: "systemctl restart turnpike-gateway".',
  )
}

/** Whether the successor has the shop's whole state; one that cannot reach the shop would serve old state. */
export async function hasWholeState(
  sync: { readonly ready: Promise<void>; readonly lastContactAt: number | undefined },
  end: AbortSignal,
  timing: Pick<Timing, 'pause'> = realTiming,
): Promise<boolean> {
  const ready = sync.ready.then(() => true)
  const within = (ms: number) => Promise.race([ready, timing.pause(ms, end).then(() => false)])
  return (await within(answerWithinMs)) || (sync.lastContactAt !== undefined && (await within(wholeWithinMs)))
}

/** The part of each speed limit that a replaced process has until it ends; at most `maxBeside` run beside another. */
const drainingShare = 1 / (maxBeside + 1)
const shareEveryMs = 1000

/**
 * Divides the speed limits among the processes of a gateway: each replaced one has its share, the serving one the rest,
 * so that a customer with tunnels in all of them gets no more than the limit. Only a serving process looks for others.
 */
export async function shareSpeeds(
  { folder, boot }: Pick<Agent, 'folder' | 'boot'>,
  rules: Pick<GatewayRules, 'setSpeedShare'>,
  end: AbortSignal,
  timing: Pick<Timing, 'pause'> = realTiming,
) {
  const drained = new AbortController()
  const over = AbortSignal.any([end, drained.signal])
  const look = async (): Promise<number> => {
    const others = (await listRunning(folder)).filter((each) => each !== boot).length
    if (!over.aborted) rules.setSpeedShare(1 - Math.min(others, maxBeside) * drainingShare)
    return others
  }
  const watch = async (): Promise<void> => {
    // No process is replaced while this one serves, so the last one's end is the end of the watch.
    do await timing.pause(shareEveryMs, over)
    while (!over.aborted && (await look()) > 0)
  }
  return {
    watching: (await look()) > 0 ? watch() : Promise.resolve(),
    drain: (): void => {
      drained.abort()
      rules.setSpeedShare(drainingShare)
    },
  }
}

/** Takes the previous process's listeners. If it refuses, connections accepted here meanwhile are closed in order. */
export async function takeOver(before: Predecessor, engine: Engine, meter: Meter): Promise<void> {
  try {
    await before.leave()
  } catch (error) {
    await engine.stop(drainMs)
    await meter.stop()
    throw error
  }
  tellSystemd(`MAINPID=${process.pid}`)
}

/** Settles when the last connection has ended, or when the time limit is over. */
export async function untilEmpty(engine: Engine, config: Config, end: AbortSignal, log: Log): Promise<void> {
  const giveUpAt = realTiming.now() + config.gatewayDrainSeconds * 1000
  while (engine.status.open > 0 && realTiming.now() < giveUpAt && !end.aborted) {
    await realTiming.pause(lookEveryMs, end)
  }
  log.info('drained', { cut_off: engine.status.open })
}
