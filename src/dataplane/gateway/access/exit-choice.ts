import type { ProxyLogin } from '../../../core/login.ts'
import { fillTemplate, isTemplate, type TemplateValues, takenBy } from '../../../core/login-template.ts'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import type { After } from '../../../core/time.ts'
import type { NodeExit, NodeProxy } from '../../../node-protocol/state.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import { type ByteAllowance, type Subject, waitForBytes } from '../metering/allowance.ts'
import type { RefusalCode } from '../ways-in/refusals.ts'
import { type Access, type Ask, type Moment, type PremiumAccess, poolOf } from './admission.ts'
import type { ExitHealth } from './exit-health.ts'

/** Matching exits that are up, and those of them that belong to this gateway or to none. */
type Fitting = { readonly fit: readonly NodeExit[]; readonly near: readonly NodeExit[] }
/** Cached while the exits and their health are unchanged. */
type FittingNow = Fitting & { readonly all: readonly NodeExit[]; readonly generation: number }
type Session = { readonly exit: string; readonly endsAt: number; readonly turn: number }

/** The exits that sessions keep. */
export type Sessions = {
  find(key: string): Session | undefined
  /** Keeps the session, unless another that has not ended was begun meanwhile. Returns the one that is kept. */
  begin(key: string, session: Session, nowMs: number): Session
  /** Forgets this session; a newer one stays. */
  forget(key: string, session: Session): void
}

/** `session` names a session and its turn, equal on every gateway. */
type Choice = { readonly exit: NodeExit; readonly session?: string } | { readonly refusal: ChoiceRefusal }

type ChoiceRefusal = 'no_exit' | 'unknown_pool' | 'session_lost' | 'udp_unsupported'

const maxSessions = 100_000
const maxFilters = 1000
const usualMinutes = 10

/**
 * Chooses the exit of a premium tunnel by the login's place. A session keeps its exit; its first exit is chosen by
 * rendezvous hashing, so every gateway chooses the same one, also after a restart.
 */
export class ExitChooser {
  private readonly fitting = new Map<string, FittingNow>()
  /** By login object: the reader caches logins, so equal logins are the same object. */
  private readonly fittingLogin = new WeakMap<ProxyLogin, FittingNow>()

  constructor(
    private readonly deps: {
      snapshot: Snapshot
      random: () => number
      health: Pick<ExitHealth, 'isUp' | 'generation'>
      sessions: Sessions
      /** This gateway's id. Exits of other gateways are a fallback. */
      self?: string
    },
  ) {}

  /** `failed`: exits that failed for this tunnel. `hasUdp`: set if the exit must relay UDP. */
  choose(
    owner: string,
    pool: string,
    login: ProxyLogin,
    nowMs: number,
    failed: readonly NodeExit[] = [],
    hasUdp?: (exit: NodeExit) => boolean,
  ): Choice {
    const { fit: exits, near } = this.findFitting(pool, login)
    if (!login.session) {
      const usable = (all: readonly NodeExit[]) => (hasUdp ? all.filter(hasUdp) : all)
      const exit = this.drawAnother(usable(near), failed) ?? this.drawAnother(usable(exits), failed)
      if (exit) return { exit }
      return { refusal: hasUdp && exits.length > 0 && failed.length === 0 ? 'udp_unsupported' : 'no_exit' }
    }
    const choice = this.chooseOfSession(owner, pool, login, exits, nowMs)
    return hasUdp && 'exit' in choice && !hasUdp(choice.exit) ? { refusal: 'udp_unsupported' } : choice
  }

  /** Whether the pool has an exit, working or not, or the sub-user had traffic in it. */
  knows(pool: string, { subuser: { pools } }: PremiumAccess): boolean {
    return this.deps.snapshot.exitsOf(pool).length > 0 || pools.some((each) => each.pool === pool)
  }

  private chooseOfSession(
    owner: string,
    pool: string,
    login: ProxyLogin,
    exits: readonly NodeExit[],
    nowMs: number,
  ): Choice {
    const key = `${owner} ${login.session?.name} ${locationKey(pool, login)}`
    const { sessions } = this.deps
    const known = sessions.find(key)
    if (!known) return this.begin(key, exits, login, 0, nowMs)
    if (nowMs >= known.endsAt) return this.begin(key, exits, login, known.turn + 1, nowMs)
    const exit = this.deps.snapshot.exits.get(known.exit)
    if (exit && this.deps.health.isUp(exit.id)) return { exit, session: `${key} ${known.turn}` }
    // Refused once, so that the client learns that its address changes.
    sessions.forget(key, known)
    return { refusal: 'session_lost' }
  }

  private findFitting(pool: string, login: ProxyLogin): Fitting {
    const all = this.deps.snapshot.exitsOf(pool)
    const last = this.fittingLogin.get(login)
    if (last?.all === all && last.generation === this.deps.health.generation) return last
    const found = this.fitAfresh(all, pool, login)
    this.fittingLogin.set(login, found)
    return found
  }

  private fitAfresh(all: readonly NodeExit[], pool: string, login: ProxyLogin): FittingNow {
    const { generation } = this.deps.health
    const key = locationKey(pool, login)
    const known = this.fitting.get(key)
    // The array is replaced whenever an exit changes.
    if (known?.all === all && known.generation === generation) return known
    const fit = all.filter((exit) => this.deps.health.isUp(exit.id) && fits(exit, login))
    const near = fit.filter((exit) => exit.node === null || exit.node === this.deps.self)
    if (this.fitting.size >= maxFilters) this.fitting.clear()
    const found = { all, generation, fit, near: near.length > 0 ? near : fit }
    this.fitting.set(key, found)
    return found
  }

  private drawAnother(exits: readonly NodeExit[], failed: readonly NodeExit[]): NodeExit | undefined {
    const among = failed.length === 0 ? exits : exits.filter((exit) => !failed.some((each) => each.id === exit.id))
    return among[Math.floor(this.deps.random() * among.length)]
  }

  private begin(key: string, exits: readonly NodeExit[], login: ProxyLogin, turn: number, nowMs: number): Choice {
    const drawn = draw(exits, `${key} ${turn}`)
    if (!drawn) return { refusal: 'no_exit' }
    const minutes = login.session?.ttlMinutes ?? usualMinutes
    const fresh = { exit: drawn.id, endsAt: nowMs + minutes * 60_000, turn }
    const kept = this.deps.sessions.begin(key, fresh, nowMs)
    const exit = kept === fresh ? drawn : this.deps.snapshot.exits.get(kept.exit)
    return exit ? { exit, session: `${key} ${kept.turn}` } : { refusal: 'session_lost' }
  }
}

function fits(exit: NodeExit, login: ProxyLogin): boolean {
  if (exit.offers !== null) return offersLocation(exit, login)
  const has = (list: readonly string[], value: string): boolean => list.length === 0 || list.includes(value)
  return (
    has(login.countries, exit.country) &&
    has(login.states, exit.state) &&
    has(login.cities, exit.city) &&
    has(login.zips, exit.zip) &&
    (login.asns.length === 0 || (exit.asn !== null && login.asns.includes(exit.asn)))
  )
}

const locationKey = (pool: string, { countries, states, cities, zips, asns }: ProxyLogin): string =>
  [pool, ...[countries, states, cities, zips, asns].map((list) => list.join('.'))].join('|')

/** Rendezvous hashing: when an exit goes, only its own sessions move. */
function draw(exits: readonly NodeExit[], subject: string): NodeExit | undefined {
  let best: NodeExit | undefined
  let max = -1
  for (const exit of exits) {
    const drawn = Bun.hash.xxHash32(`${subject} ${exit.id}`)
    if (drawn > max) [best, max] = [exit, drawn]
  }
  return best
}

/** Sessions in this thread's memory. */
export class OwnSessions implements Sessions {
  private readonly sessions = new Map<string, Session>()

  find(key: string): Session | undefined {
    return this.sessions.get(key)
  }

  begin(key: string, session: Session, nowMs: number): Session {
    if (this.sessions.size >= maxSessions) forgetSome(this.sessions, nowMs)
    this.sessions.set(key, session)
    return session
  }

  forget(key: string): void {
    this.sessions.delete(key)
  }

  get size(): number {
    return this.sessions.size
  }
}

/** Drops expired sessions, else the oldest tenth. */
function forgetSome(sessions: Map<string, Session>, nowMs: number): void {
  for (const [key, session] of sessions) if (nowMs >= session.endsAt) sessions.delete(key)
  let left = sessions.size - Math.floor(maxSessions * 0.9)
  for (const key of sessions.keys()) {
    if (left <= 0) return
    sessions.delete(key)
    left -= 1
  }
}

const anyCountry = 'any'
const sessionLength = 20

/** Template values that a login asks of a supplier's exit; undefined if the exit does not offer them. */
function readRequested(exit: NodeExit, login: ProxyLogin): TemplateValues | undefined {
  const offers = exit.offers ?? []
  const taken = takenBy(exit.credentials?.username ?? '')
  const country = offers.includes(anyCountry)
    ? login.countries[0]
    : login.countries.find((each) => offers.includes(each))
  const filters = {
    country: { requested: login.countries, value: country },
    state: { requested: login.states, value: login.states[0] },
    city: { requested: login.cities, value: login.cities[0] },
    zip: { requested: login.zips, value: login.zips[0] },
    asn: { requested: login.asns, value: login.asns[0]?.toString() },
  }
  const values: Record<string, string> = {}
  for (const [name, { requested, value }] of Object.entries(filters)) {
    if (requested.length === 0) continue
    if (value === undefined || !taken.has(name)) return undefined
    values[name] = value
  }
  return { ...values, ...(country !== undefined && { COUNTRY: country.toUpperCase() }) }
}

/** Defaults for values that the customer left open. */
function otherwiseFor(exit: NodeExit): TemplateValues {
  const [first] = exit.offers ?? []
  const minutes = String(usualMinutes)
  if (first === undefined || first === anyCountry) return { minutes }
  return { minutes, country: first, COUNTRY: first.toUpperCase() }
}

function offersLocation(exit: NodeExit, login: ProxyLogin): boolean {
  const requested = readRequested(exit, login)
  const otherwise = { ...otherwiseFor(exit), session: 'x' }
  return requested !== undefined && fillTemplate(exit.credentials?.username ?? '', requested, otherwise) !== undefined
}

type FillDeps = { readonly sha256: (text: string) => Uint8Array; readonly random: () => number }

/**
 * The exit with its supplier's login for this customer. The supplier's session id is derived with a secret, so
 * customers cannot name each other's sessions.
 */
function fillLogin(exit: NodeExit, login: ProxyLogin, session: string | undefined, deps: FillDeps): NodeExit {
  const { credentials } = exit
  if (exit.offers === null || !credentials || !isTemplate(credentials.username)) return exit
  const nameOf = (text: string): string =>
    Buffer.from(deps.sha256(`${credentials.password}\0${text}`))
      .toString('hex')
      .slice(0, sessionLength)
  const requested: TemplateValues = {
    ...readRequested(exit, login),
    ...(session !== undefined && {
      session: nameOf(session),
      minutes: String(login.session?.ttlMinutes ?? usualMinutes),
    }),
  }
  const otherwise = { ...otherwiseFor(exit), session: nameOf(`${deps.random()} ${deps.random()}`) }
  const username = fillTemplate(credentials.username, requested, otherwise)
  return username === undefined ? exit : { ...exit, credentials: { ...credentials, username } }
}

export function triedLogin(exit: NodeExit): NodeExit {
  const { credentials } = exit
  if (exit.offers === null || !credentials || !isTemplate(credentials.username)) return exit
  const any = { country: 'us', COUNTRY: 'US', state: '', city: '', zip: '', asn: '', session: 'turnpike' }
  const username = fillTemplate(credentials.username, {}, { ...any, ...otherwiseFor(exit) }) ?? credentials.username
  return { ...exit, credentials: { ...credentials, username } }
}

/** Where a tunnel leaves: an address of this machine, or an exit. */
export type EgressPath =
  /** `isInGrace`: it leads to the hosts of `Policy.grace` only. */
  | { readonly kind: 'address'; readonly address: string; readonly isInGrace?: boolean }
  | { readonly kind: 'exit'; readonly exit: NodeExit }

type Refused = { readonly refusal: RefusalCode }
export type ChosenWay = { readonly way: EgressPath; readonly allowance: ByteAllowance }

/** A ticket names an exit by its id, a dedicated proxy by its user name, or for VPN devices the gateway itself. */
const isProxyName = (name: string): boolean => !name.startsWith('ext_')

const noExit: Omit<NodeExit, 'id' | 'host' | 'node'> = {
  pool: '',
  kind: 'local',
  port: null,
  credentials: null,
  country: '',
  state: '',
  city: '',
  zip: '',
  asn: null,
  offers: null,
  drained: false,
}

/** A dedicated proxy's address at another gateway, as an exit of that gateway. */
const toExit = (proxy: NodeProxy): NodeExit => ({
  ...noExit,
  id: proxy.username,
  host: proxy.leave_from,
  node: proxy.node ?? null,
})

/** VPN devices leave from the IPv4 address that the kernel's routes choose. */
const anyIpv4 = '0.0.0.0'

/** Another gateway from which VPN devices leave: its tickets name the gateway itself. */
const toDeviceExit = (gateway: string): NodeExit => ({ ...noExit, id: gateway, host: anyIpv4, node: gateway })

type WayDeps = FillDeps & {
  ask: Ask
  moment: () => Moment
  chooser: ExitChooser
  /** An exit of this gateway that is up: hops are not chained. */
  findOwnExit: (id: string) => NodeExit | undefined
  snapshot: Pick<Snapshot, 'proxies' | 'gateways'>
  /** This gateway's id. */
  self: string
  /** It serves VPN devices. */
  isForVpn: boolean
  allowanceOf: (subject: Subject) => ByteAllowance
  after: After
}

/** The address of a dedicated proxy, here or at a gateway whose customers enter here. */
function wayOf(proxy: NodeProxy, { self, snapshot }: WayDeps): EgressPath {
  const { node } = proxy
  const isElsewhere = node && node !== self && snapshot.gateways.get(node)?.entry === self
  return isElsewhere ? { kind: 'exit', exit: toExit(proxy) } : { kind: 'address', address: proxy.leave_from }
}

/**
 * The entry's customer leaves from the address of a dedicated proxy, which may have been bought a moment ago, or as a
 * VPN device from this machine.
 */
async function chooseForEntry(
  { exit: name, gateway, owner }: Extract<Access, { kind: 'hop' }>,
  { self, snapshot, ask, allowanceOf, isForVpn }: WayDeps,
): Promise<ChosenWay | Refused> {
  const isEntry = snapshot.gateways.get(self)?.entry === gateway.id
  if (!isEntry || !isProxyName(name)) return { refusal: 'no_exit' }
  if (name === self)
    return isForVpn
      ? { way: { kind: 'address', address: anyIpv4 }, allowance: allowanceOf({ kind: 'hop', id: gateway.id }) }
      : { refusal: 'no_exit' }
  if (!snapshot.proxies.has(name)) await ask({ username: name }, owner)
  const proxy = snapshot.proxies.get(name)
  if (proxy?.state !== 'active' || proxy.node !== self) return { refusal: 'no_exit' }
  const allowance = allowanceOf({ kind: 'hop', id: gateway.id })
  return { way: { kind: 'address', address: proxy.leave_from }, allowance }
}

/** Chooses a tunnel's exit and allowance, and waits until the allowance has bytes. */
export function createWayChooser(deps: WayDeps) {
  /** Asks the shop again before it refuses: the customer may have bought traffic since the last answer. */
  async function waitForSome(allowance: ByteAllowance, { subuser, owner }: PremiumAccess) {
    const refusal = await waitForBytes(allowance, deps.after)
    if (refusal !== 'traffic_exhausted') return refusal
    await deps.ask({ username: subuser.login }, owner)
    return waitForBytes(allowance, deps.after)
  }

  return (
    access: Access,
    failed: readonly NodeExit[] = [],
    hasUdp?: (exit: NodeExit) => boolean,
  ): MaybePromise<ChosenWay | Refused> => {
    if (access.kind === 'dedicated') {
      const allowance = deps.allowanceOf({ kind: 'proxy', id: access.proxy.id })
      const way = wayOf(access.proxy, deps)
      return hasUdp && way.kind === 'exit' ? { refusal: 'udp_unsupported' } : { way, allowance }
    }
    if (access.kind === 'device') {
      const { isInGrace, protocol, device, exit } = access
      const allowance = deps.allowanceOf(
        isInGrace ? { kind: 'grace', id: device.id } : { kind: 'device', id: device.id, protocol },
      )
      // After its end it reaches the shop, from here.
      if (exit !== undefined && !isInGrace) return { way: { kind: 'exit', exit: toDeviceExit(exit) }, allowance }
      return { way: { kind: 'address', address: anyIpv4, isInGrace }, allowance }
    }
    if (access.kind === 'hop') {
      const exit = deps.findOwnExit(access.exit)
      if (!exit) return chooseForEntry(access, deps)
      const allowance = deps.allowanceOf({ kind: 'hop', id: access.gateway.id })
      return { way: { kind: 'exit', exit }, allowance }
    }
    const named = poolOf(access)
    if ('refusal' in named) return named
    const { pool } = named
    const choice = deps.chooser.choose(access.subuser.id, pool, access.login, deps.moment().nowMs, failed, hasUdp)
    if ('refusal' in choice) {
      const isUnknown = choice.refusal === 'no_exit' && !deps.chooser.knows(pool, access)
      return isUnknown ? { refusal: 'unknown_pool' } : choice
    }
    const allowance = deps.allowanceOf({ kind: 'subuser', id: access.subuser.id, pool })
    const exit = fillLogin(choice.exit, access.login, choice.session, deps)
    const chosen: ChosenWay = { way: { kind: 'exit', exit }, allowance }
    if (allowance.hasSome) return chosen
    return waitForSome(allowance, access).then((refusal) => (refusal ? { refusal } : chosen))
  }
}
