import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import type { Log } from '../../adapters/log.ts'
import type { Command } from '../../cli/command.ts'
import { createAsk } from '../../plane/agent/ask.ts'
import { makeBoot } from '../../plane/agent/boot-id.ts'
import { sendEarlier } from '../../plane/agent/earlier.ts'
import type { Identity } from '../../plane/agent/identity.ts'
import { openJournal } from '../../plane/agent/journal.ts'
import { createMeter, type Meter } from '../../plane/agent/meter.ts'
import { openSavedState, readSavedState } from '../../plane/agent/saved-state.ts'
import { createSnapshot } from '../../plane/agent/snapshot.ts'
import { realTiming } from '../../plane/agent/surroundings.ts'
import { createSync } from '../../plane/agent/sync.ts'
import type { Engine } from '../../plane/gateway/carry/engine.ts'
import type { StatePage } from '../../wire/node/state.ts'
import { configOf, logOf, untilStopped } from '../roles.ts'
import { BadSetting, type Config } from '../settings/config.ts'
import { engineLimitsOf, policyOf } from '../settings/gateway.ts'
import { joinShop, linkTo, randomBytes } from './agent.ts'
import { chooseEngine } from './engine.ts'

/** What tunnels may take to end by themselves once the gateway is told to stop; the supervisor waits ten seconds. */
const drainMs = 4000
/** A machine's own addresses may change while it runs. */
const lookAroundMs = 60_000

export type Gateway = { readonly port: number; stop(): Promise<void> }

/** Runs a gateway: joins the shop, learns what is to be carried, carries it, and tells what it has carried. Undefined when told to stop before that. */
export async function openGateway(config: Config, log: Log, end: AbortSignal): Promise<Gateway | undefined> {
  const folder = join(config.folder, 'gateway')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const identity = await joinShop(config, 'gateway', folder, log, end)
  if (!identity) return undefined
  const { engine, meter, sync, rules, saved } = assemble(config, folder, identity, log)
  meter.start()
  const running = sync.run(end)
  // What is not known is not served: until the shop was heard, now or in the run before, nobody is let in to be told no.
  if (!rules.isKnown()) await Promise.race([sync.ready, running])
  if (end.aborted) {
    await meter.stop()
    return undefined
  }
  const port = listen(engine, config)
  engine.changed({ proxies: [], subusers: [], exits: false, ports: true }, notePort(log))
  const looking = setInterval(rules.lookAround, lookAroundMs)
  log.info('gateway open', { port, node: identity.node, mode: rules.mode(), version: manifest.version })
  return {
    port,
    async stop() {
      clearInterval(looking)
      await engine.stop(drainMs)
      await meter.stop()
      await running
      saved.close()
      log.info('gateway closed')
    },
  }
}

const notePort = (log: Log) => (port: number, fault: unknown) => log.error('port not opened', { port, fault })

/** What customers may reach, as the shop's mode and the machine's own addresses have it; and the shop's time. */
function createRules(config: Config) {
  let mode: StatePage['mode'] = 'production'
  let policy = policyOf(config, mode)
  let skewMs = 0
  let heardAt = 0
  return {
    /** Whether anything was ever heard, and when that was by the shop's clock, if it was in an earlier run. */
    isKnown: () => heardAt > 0,
    heardAt: () => heardAt,
    mode: () => mode,
    policy: () => policy,
    /** The shop's clock decides what has expired. */
    clock: () => Date.now() + skewMs,
    lookAround: () => {
      policy = policyOf(config, mode)
    },
    /** A page that was saved tells nothing of the time. */
    hear(page: StatePage, isSaved: boolean): void {
      if (!isSaved) skewMs = page.now - Date.now()
      heardAt = page.now
      if (page.mode === mode) return
      mode = page.mode
      policy = policyOf(config, mode)
    },
  }
}

function assemble(config: Config, folder: string, identity: Identity, log: Log) {
  const around = { timing: realTiming, chance: Math.random, log }
  const rules = createRules(config)
  const snapshot = createSnapshot()
  const saved = openSavedState({ ...around, folder })
  const link = linkTo(config, identity.secret, () => {
    log.error('revoked', { explanation: 'the shop does not know this node any more; nothing is carried' })
    engine.shutOut(true)
  })
  const asking = createAsk({ link, now: realTiming.now, log })
  const boot = makeBoot({ folder, clock: Date.now, randomBytes })
  const named = { folder, node: identity.node, boot, version: manifest.version, link }

  const engine: Engine = chooseEngine(config.gatewayEngine, log, {
    snapshot,
    agent: {
      wantLease: (id, pool) => meter.wantLease(id, pool),
      giveBack: (id, pool) => meter.giveBack(id, pool),
      noteNow: () => meter.noteNow(),
    },
    ask: async (question, source) => {
      const answer = await asking.find(question, source)
      if (answer.outcome === 'unasked') return 'unasked'
      return { found: answer.outcome === 'found' ? answer.found : { proxy: null, subuser: null } }
    },
    policy: rules.policy,
    limits: engineLimitsOf(config),
    clock: rules.clock,
    lastContactAt() {
      const lastMs = Math.max(sync.lastContactAt ?? 0, meter.lastContactAt ?? 0)
      return lastMs === 0 ? rules.heardAt() : rules.clock() - (realTiming.now() - lastMs)
    },
    sha256: (text) => Bun.SHA256.hash(text) as Uint8Array,
    random: Math.random,
    onFault: (fault) => log.error('fault', { fault }),
  })
  const sync = createSync({
    ...around,
    link,
    onPage(page, place) {
      rules.hear(page, false)
      engine.shutOut(false)
      saved.note(page, place)
      if (place.isFirst) snapshot.beginWhole()
      engine.changed(snapshot.apply(page), notePort(log))
      if (place.isWhole && place.isLast) engine.changed(snapshot.endWhole(), notePort(log))
    },
  })
  const meter: Meter = createMeter({
    ...around,
    ...named,
    carrier: engine.carrier,
    journal: openJournal({ ...around, ...named }),
    lagMs: () => sync.lagMs,
    sendEarlier: (end) => sendEarlier({ ...around, ...named, end }),
  })
  for (const page of readSavedState(folder, log)) {
    rules.hear(page, true)
    snapshot.apply(page)
  }
  return { engine, meter, sync, rules, saved }
}

/** On a machine without IPv6 every address is every IPv4 address. */
function listen(engine: Engine, config: Config): number {
  const { gatewayListen: hostname, gatewayPort: port } = config
  try {
    return engine.start({ hostname, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EAFNOSUPPORT' && hostname === '::') return engine.start({ hostname: '0.0.0.0', port })
    if (code === 'EADDRINUSE') throw new BadSetting(`Port ${port} of the gateway is in use by another program.`)
    if (code === 'EACCES') throw new BadSetting(`Port ${port} of the gateway may not be opened by this user.`)
    if (code === 'EADDRNOTAVAIL') throw new BadSetting(`${hostname} is not an address of this machine.`)
    throw error
  }
}

export const gatewayCommand: Command = {
  name: 'gateway',
  summary: 'Runs a gateway: proxies over HTTP and SOCKS5, for a shop here or elsewhere.',
  takes: [],
  options: [],
  async run(given) {
    const config = configOf(given)
    const stop = new AbortController()
    const stopped = untilStopped().then(() => stop.abort())
    const gateway = await openGateway(config, logOf(config, 'gateway'), stop.signal)
    await stopped
    await gateway?.stop()
    return { json: null, lines: [], exit: 0 }
  },
}
