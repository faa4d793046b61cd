import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { createAsk } from '../plane/agent/ask.ts'
import { makeBoot } from '../plane/agent/boot-id.ts'
import { sendEarlier } from '../plane/agent/earlier.ts'
import { IdentityError, takeIdentity } from '../plane/agent/identity.ts'
import { openJournal } from '../plane/agent/journal.ts'
import { createMeter, type Meter } from '../plane/agent/meter.ts'
import { createShopLink, LinkSettingError } from '../plane/agent/shop-link.ts'
import { type Changed, createSnapshot } from '../plane/agent/snapshot.ts'
import { realTiming } from '../plane/agent/surroundings.ts'
import { createSync, type PagePlace } from '../plane/agent/sync.ts'
import { createEngine, type Engine } from '../plane/gateway/engine/engine.ts'
import { createWatchSocket } from '../plane/gateway/engine/unsent.ts'
import type { Policy } from '../plane/gateway/policy.ts'
import type { StatePage } from '../wire/node/state.ts'
import { BadSetting, type Config } from './config.ts'
import { engineLimitsOf, policyOf } from './gateway-settings.ts'
import type { Log } from './log.ts'

/** What tunnels may take to end by themselves once the gateway is told to stop; the supervisor waits ten seconds. */
const drainMs = 4000
/** A machine's own addresses may change while it runs. */
const lookAroundMs = 60_000

export type Gateway = { readonly port: number; stop(): Promise<void> }

/** Runs a gateway: joins the shop, learns what is to be carried, carries it, and tells what it has carried. */
export async function openGateway(config: Config, log: Log, end: AbortSignal): Promise<Gateway | undefined> {
  const folder = join(config.folder, 'gateway')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const url = config.shopUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`
  const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))
  const around = { timing: realTiming, chance: Math.random, log }
  const identity = await takeIdentity({
    ...around,
    folder,
    version: manifest.version,
    randomBytes,
    key: config.nodeKey,
    keyFile: join(config.folder, 'join', 'gateway.key'),
    linkWith: (secret) => linkTo(url, secret),
    end,
  }).catch((error: unknown) => {
    if (error instanceof IdentityError && !end.aborted) throw new BadSetting(error.message)
    if (end.aborted) return undefined
    throw error
  })
  if (!identity) return undefined
  const boot = makeBoot({ folder, clock: Date.now, randomBytes })
  const snapshot = createSnapshot()
  let engine: Engine | undefined
  const link = linkTo(url, identity.secret, () => {
    log.error('revoked', { explanation: 'the shop does not know this node any more; nothing is carried' })
    engine?.cutAll()
  })

  let policy: Policy = policyOf(config, 'production')
  let mode: StatePage['mode'] = 'production'
  let skewMs = 0
  const asking = createAsk({ link, now: realTiming.now, log })

  function change(changed: Changed): void {
    engine?.changed(changed, (port, fault) => log.error('port not opened', { port, fault }))
  }
  function take(page: StatePage, place: PagePlace): void {
    skewMs = page.now - Date.now()
    if (page.mode !== mode) {
      mode = page.mode
      policy = policyOf(config, mode)
    }
    if (place.isFirst) snapshot.beginWhole()
    change(snapshot.apply(page))
    if (place.isWhole && place.isLast) change(snapshot.endWhole())
  }
  const sync = createSync({ ...around, link, onPage: take })
  const running = sync.run(end)
  let meter: Meter | undefined
  const contactMs = () => {
    const last = Math.max(sync.lastContactMs ?? 0, meter?.lastContactMs ?? 0)
    return Date.now() + skewMs - (realTiming.now() - last)
  }
  const journal = openJournal({ ...around, folder, node: identity.node, boot })
  engine = createEngine({
    snapshot,
    agent: {
      wantLease: (id, pool) => meter?.wantLease(id, pool),
      giveBack: (id, pool) => meter?.giveBack(id, pool),
      noteNow: () => meter?.noteNow(),
    },
    ask: async (question, source) => {
      const answer = await asking.find(question, source)
      if (answer.outcome === 'unasked') return 'unasked'
      return { found: answer.outcome === 'found' ? answer.found : { proxy: null, subuser: null } }
    },
    policy: () => policy,
    limits: engineLimitsOf(config),
    clock: () => Date.now() + skewMs,
    contactMs,
    sha256: (text) => Bun.SHA256.hash(text) as Uint8Array,
    random: Math.random,
    watchSocket: createWatchSocket(process.platform),
  })
  meter = createMeter({
    ...around,
    carrier: engine.carrier,
    link,
    journal,
    boot,
    version: manifest.version,
    lagMs: () => sync.lagMs,
    sendEarlier: (signal) =>
      sendEarlier({ ...around, folder, node: identity.node, boot, version: manifest.version, link, end: signal }),
  })
  meter.start()
  // What is not known is not served: until the shop was heard once, nobody is let in to be told no.
  await Promise.race([sync.ready, running])
  if (end.aborted) {
    await meter.stop()
    return undefined
  }
  const port = listen(engine, config)
  change({ proxies: [], subusers: [], exits: false, ports: true })
  const looking = setInterval(() => {
    policy = policyOf(config, mode)
  }, lookAroundMs)
  log.info('gateway open', { port, node: identity.node, mode, version: manifest.version })
  const carrying = engine
  const counting = meter
  return {
    port,
    async stop() {
      clearInterval(looking)
      await carrying.stop(drainMs)
      await counting.stop()
      await running
      log.info('gateway closed')
    },
  }
}

function linkTo(url: string, secret: string, onRefused?: () => void) {
  try {
    return createShopLink({ url, secret, ...(onRefused && { onRefused }) })
  } catch (error) {
    if (error instanceof LinkSettingError) throw new BadSetting(`TURNPIKE_SHOP_URL (--shop-url): ${error.message}.`)
    throw error
  }
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
