import type { Log } from '../../core/log.ts'
import { findLack, LinuxEngine } from '../../dataplane/gateway/engines/linux/engine.ts'
import { PortableEngine } from '../../dataplane/gateway/engines/portable/engine.ts'
import type { Engine, EngineDeps, Pressure } from '../../dataplane/gateway/engines/shared/engine.ts'
import { createSockets } from '../../dataplane/gateway/system/sockets.ts'
import { findOpenSslLack } from '../../dataplane/tls/openssl/library.ts'
import type { GatewayConfig } from '../settings/gateway.ts'
import { BadSetting } from '../settings/reading.ts'

type Machine = {
  readonly platform: string
  readonly processor: string
  /** Why the fast engine cannot do TLS, or undefined. */
  readonly findTlsLack: () => string | undefined
}

const here: Machine = { platform: process.platform, processor: process.arch, findTlsLack: findOpenSslLack }

/** The engine of the setting; `auto` takes the fast one where the system allows it, and logs why where it does not. */
export function chooseEngine(
  config: GatewayConfig,
  log: Log,
  deps: EngineDeps,
  servesTls: boolean,
  machine: Machine = here,
): Engine {
  const choice = config.gatewayEngine
  const portable = (): Engine => new PortableEngine({ ...deps, sockets: createSockets(process.platform) })
  if (choice === 'portable') return portable()
  const lack = findLack(machine.platform, machine.processor) ?? (servesTls ? machine.findTlsLack() : undefined)
  if (lack === undefined) {
    const onRestart = (fault: unknown) => log.error('reactor started again', { fault })
    return new LinuxEngine({ ...deps, reactors: config.gatewayReactors, onRestart })
  }
  if (choice === 'linux') throw new BadSetting(`The linux engine cannot run here: ${lack}.`)
  const explanation = `the linux engine cannot run here: ${lack}. The portable engine runs, which relays more slowly.`
  log.warn('portable engine', { explanation })
  return portable()
}

/** On each call, logs which resources were exhausted since the last call, if any. */
export function createPressureLog(log: Pick<Log, 'warn'>, read: () => Pressure): () => void {
  let last: Pressure = { spared: 0, turnedAway: 0, starved: 0 }
  return () => {
    const { spared, turnedAway, starved } = read()
    // An engine that was started again counts from the beginning.
    const since = (now: number, before: number): number => (now < before ? now : now - before)
    const fields = {
      closed_to_make_room: since(spared, last.spared),
      turned_away: since(turnedAway, last.turnedAway),
      without_descriptor: since(starved, last.starved),
    }
    last = { spared, turnedAway, starved }
    if (Object.values(fields).some((count) => count > 0)) log.warn('gateway full', fields)
  }
}
