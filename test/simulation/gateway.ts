import { createLog } from '../../src/adapters/log.ts'
import { openAgent } from '../../src/app/node/agent.ts'
import { type Config, readConfig } from '../../src/app/settings/config.ts'
import type { After } from '../../src/core/time.ts'
import { askShop, CredentialLookup } from '../../src/dataplane/agent/ask.ts'
import { realTiming } from '../../src/dataplane/agent/runtime.ts'
import { Snapshot } from '../../src/dataplane/agent/snapshot.ts'
import { waitForBytes } from '../../src/dataplane/gateway/metering/allowance.ts'
import { Metering } from '../../src/dataplane/gateway/metering/metering.ts'
import type { CustomerEnd } from '../../src/dataplane/gateway/metering/tunnel-meter.ts'
import type { Process } from './process.ts'
import { shopUrl } from './shop.ts'
import type { World } from './world.ts'

/** What a customer's machine has moved through gateways, by the shop's name of the byte account: over all gateways. */
export class Carried {
  private readonly bytes = new Map<string, number>()
  /** The most that kills of gateways may have lost. */
  private readonly lost = new Map<string, number>()

  add(key: string, bytes: number): void {
    this.bytes.set(key, this.of(key) + bytes)
  }

  noteLost(key: string, bytes: number): void {
    this.lost.set(key, this.lostOf(key) + bytes)
  }

  readonly of = (key: string): number => this.bytes.get(key) ?? 0
  readonly lostOf = (key: string): number => this.lost.get(key) ?? 0
  readonly keys = (): Iterable<string> => this.bytes.keys()
}

/** A tunnel of a simulated gateway. */
type Tunnel = { readonly key: string; readonly moved: { readonly atMs: number; readonly bytes: number }[] }

const pieceBytes = 500_000
const pieceMs = 40
/** A count is in the journal after this long, or after so many bytes. */
const journaledMs = 1_000
const journaledBytes = 1024 * 1024
/** In place of the machine's own figures. */
const figures: object = { interface_mbit: 10_000, cpu_ms: 0 }

const configOf = (folder: string, key: string): Config =>
  readConfig({
    TURNPIKE_DATA: folder,
    TURNPIKE_SHOP_URL: shopUrl,
    TURNPIKE_NODE_KEY: key,
    TURNPIKE_METRICS_LISTEN: '',
  })

const after: After = (ms, act) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/**
 * A gateway without sockets: the product's agent (identity, state, lookups, journal, reports) and its metering, with
 * tunnels that move bytes as the simulation says.
 */
export class Gateway {
  private process: Process | undefined
  private isOpen = false
  hasJoined = false
  private metering: Metering<CustomerEnd> | undefined
  private readonly snapshot = { current: new Snapshot() }
  private ask: ReturnType<typeof askShop> | undefined
  private readonly tunnels = new Set<Tunnel>()
  private readonly ended: { readonly tunnel: Tunnel; readonly atMs: number }[] = []
  private aheadMs = 0
  private readonly log: string[] = []

  constructor(
    private readonly world: World,
    readonly name: string,
    private readonly folder: string,
    private readonly key: string,
    private readonly carried: Carried,
  ) {}

  setClock(aheadMs: number): void {
    this.aheadMs = aheadMs
    if (this.process) this.process.clockAheadMs = aheadMs
  }

  get isRunning(): boolean {
    return this.process?.isAlive === true
  }

  start(): void {
    const process = this.world.start(this.name)
    process.clockAheadMs = this.aheadMs
    this.process = process
    this.isOpen = false
    process.onCrash(() => this.noteLosses())
    process
      .run(() => this.open(process))
      .catch((error: unknown) => {
        if (process.isAlive) this.world.fail(error)
      })
  }

  /** Tunnels are open. */
  get isBusy(): boolean {
    return this.tunnels.size > 0
  }

  kill(why: string): void {
    this.process?.crash(why)
  }

  private async open(process: Process): Promise<void> {
    const log = createLog('warn', this.name, (line) => this.log.push(line))
    const end = new AbortController()
    const agent = await openAgent(configOf(this.folder, this.key), 'gateway', log, end.signal, () => {})
    if (!agent) return
    const snapshot = new Snapshot()
    const meter: { current?: ReturnType<typeof agent.attach>['meter'] } = {}
    const metering = new Metering<CustomerEnd>({
      agent: {
        wantLease: (id, pool) => meter.current?.wantLease(id, pool),
        giveBack: (id, pool) => meter.current?.giveBack(id, pool),
        noteNow: () => meter.current?.noteNow(),
      },
      watch: () => undefined,
      countTunnels: () => this.tunnels.size,
      clock: realTiming.now,
      after,
    })
    const attached = agent.attach(
      metering,
      (page, position) => {
        if (position.isFirst) snapshot.beginWhole()
        snapshot.apply(page)
        if (!position.isWhole || !position.isLast) return
        agent.vanished.add(snapshot.listUnnamed())
        snapshot.endWhole()
      },
      () => figures,
    )
    meter.current = attached.meter
    this.metering = metering
    this.snapshot.current = snapshot
    this.ask = askShop(snapshot, new CredentialLookup({ link: agent.link, now: realTiming.now, log }))
    void attached.sync.run(end.signal)
    await attached.sync.ready
    attached.meter.start()
    setInterval(() => metering.sweep(), journaledMs)
    if (process !== this.process) return
    this.isOpen = true
    this.hasJoined = true
    this.world.note(`${this.name} is open`)
  }

  /** Moves so many bytes of a sub-user's traffic, as far as the shop allows. Ends early if the gateway is killed. */
  carry(login: string, pool: string, bytes: number): void {
    const { process } = this
    if (!process?.isAlive || !this.isOpen) return
    process
      .run(() => this.relay(login, pool, bytes))
      .catch((error: unknown) => {
        if (process.isAlive) this.world.fail(error)
      })
  }

  private async relay(login: string, pool: string, bytes: number): Promise<void> {
    const { metering, ask } = this
    const snapshot = this.snapshot.current
    if (!metering || !ask) return
    if (!snapshot.findLogin(login)) await ask({ username: login }, '192.0.2.9')
    const subuser = snapshot.findLogin(login)
    if (subuser?.state !== 'active') return
    const { id, owner } = subuser
    const end: { written: number; heldBytes: number; delivery: CustomerEnd['delivery'] } = {
      written: 0,
      heldBytes: 0,
      delivery: undefined,
    }
    const allowance = metering.allowanceOf({ kind: 'subuser', id, pool })
    const tunnel: Tunnel = { key: `premium:${id}:${pool}`, moved: [] }
    this.tunnels.add(tunnel)
    const meter = metering.begin(allowance, end, owner, undefined)
    for (let left = bytes; left > 0 && snapshot.findLogin(login)?.state === 'active'; ) {
      const isShort = !allowance.hasSome
      if (isShort) allowance.askForMore()
      const problem = isShort ? await waitForBytes(allowance, after) : undefined
      if (problem) break
      const half = Math.ceil(Math.min(left, pieceBytes) / 2)
      const sent = meter.takeSent(half)
      const received = meter.takeReceived(half)
      end.written += received
      left -= sent + received
      this.carried.add(tunnel.key, sent + received)
      tunnel.moved.push({ atMs: this.world.nowMs, bytes: sent + received })
      await new Promise<void>((resolve) => void setTimeout(resolve, pieceMs))
    }
    metering.finish(meter)
    this.tunnels.delete(tunnel)
    // Its last bytes are journaled within a second, as those of an open tunnel.
    this.ended.push({ tunnel, atMs: this.world.nowMs })
  }

  /** `kill -9` loses at most the last second or 1 MiB of each tunnel. */
  private noteLosses(): void {
    const justEnded = this.ended.filter(({ atMs }) => atMs > this.world.nowMs - journaledMs)
    for (const { key, moved } of [...this.tunnels, ...justEnded.map(({ tunnel }) => tunnel)]) {
      const recent = moved.filter(({ atMs }) => atMs > this.world.nowMs - journaledMs)
      this.carried.noteLost(
        key,
        Math.max(
          journaledBytes,
          recent.reduce((sum, { bytes }) => sum + bytes, 0),
        ),
      )
    }
    this.tunnels.clear()
    this.ended.length = 0
  }
}
