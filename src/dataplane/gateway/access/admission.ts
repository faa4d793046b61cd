import { contains, readAddress, readPrefix } from '../../../core/address.ts'
import type { Sha256 } from '../../../core/chain.ts'
import { type ProxyLogin, parseProxyLogin, readProxyLogin } from '../../../core/login.ts'
import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import { toLookupName } from '../../../core/password-mac.ts'
import type { After, Clock } from '../../../core/time.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { FindBody, NodeDevice, NodeGateway, NodeProxy, NodeSubuser } from '../../../node-protocol/state.ts'
import type { FoundDevice, KeyProtocol, Snapshot } from '../../agent/snapshot.ts'
import type { Credentials } from '../ways-in/http1/basic-auth.ts'
import type { RefusalCode } from '../ways-in/refusals.ts'
import { type Asker, deviceProtocolsOf, type Protocol, protocolOf } from '../ways-in/request.ts'

/** An admitted client and the grounds of admission, which are rechecked while its tunnel is open. */
export type Access = {
  readonly key: string
  /** An opaque id of the customer. */
  readonly owner: string
  /** The client address, if address and port admitted the client instead of a password. */
  readonly source: string | undefined
} & (
  | { readonly kind: 'dedicated'; readonly proxy: NodeProxy; readonly protocol: Protocol }
  | { readonly kind: 'premium'; readonly subuser: NodeSubuser; readonly login: ProxyLogin }
  /** A device of a VPN subscription, by a key or by its login. */
  | {
      readonly kind: 'device'
      readonly device: NodeDevice
      readonly isInGrace: boolean
      readonly protocol: GatewayProtocol
      /** The gateway from which it leaves, if that is another one: its key names it. */
      readonly exit?: string | undefined
      /** The machine that uses it (`machines.ts`). */
      readonly machine?: string
    }
  /** Another gateway that serves its own customer through one of this gateway's exits. */
  | { readonly kind: 'hop'; readonly gateway: NodeGateway; readonly exit: string }
)

export type PremiumAccess = Extract<Access, { kind: 'premium' }>

export type AdmissionVerdict = { readonly access: Access } | { readonly refusal: RefusalCode }

export type Moment = { readonly nowMs: number; readonly lastContactAt: number }

/** After contact within this time, the node would know of a change. */
const inContactMs = 10_000
/** Without contact, expired credentials are served for this long, because they may have been prolonged. */
const doubtMs = 5 * 60_000

const toOwner = ({ owner }: NodeProxy | NodeSubuser | NodeDevice): string => `owner ${owner}`

export const proxyKey = (username: string): string => `proxy ${username}`
export const deviceKey = (id: string): string => `device ${id}`
export const subuserKey = (id: string): string => `subuser ${id}`

/** Verified credentials and what they opened. */
export type Proven = WeakMap<Credentials, Access>

/** Admits by name and password. A verified pair is not hashed again while its object is unchanged. */
export function admitByPassword(
  snapshot: Snapshot,
  credentials: Credentials,
  protocol: Protocol,
  at: Moment,
  sha256: Sha256,
  proven: Proven,
  ofDevice = deviceProtocolsOf({}),
): AdmissionVerdict {
  const known = proven.get(credentials)
  const forDevice = ofDevice.find((each) => snapshot.isOn(each))
  if (known && isSame(known, snapshot, credentials.username, protocol, at, forDevice)) return judge(known, snapshot, at)
  const verdict = prove(snapshot, credentials, protocol, sha256, at, forDevice)
  if ('refusal' in verdict) return verdict
  proven.set(credentials, verdict.access)
  return judge(verdict.access, snapshot, at)
}

/** Any change at the shop replaces the object. */
function isSame(
  access: Access,
  snapshot: Snapshot,
  username: string,
  protocol: Protocol,
  at: Moment,
  forDevice: GatewayProtocol | undefined,
): boolean {
  if (access.kind === 'hop') return false
  if (access.kind === 'device') {
    const now = snapshot.findDeviceOfLogin(username)
    return (
      now?.device === access.device &&
      now.exit === access.exit &&
      access.protocol === forDevice &&
      access.isInGrace === (stateOf(access.device, at) === 'grace')
    )
  }
  if (access.kind === 'premium') return snapshot.findLogin(access.login.login) === access.subuser
  return snapshot.proxies.get(username) === access.proxy && access.protocol === protocol
}

/** A wrong part of a login is named only with the right password: otherwise it would show that the login exists. */
function prove(
  snapshot: Snapshot,
  pair: Credentials,
  protocol: Protocol,
  sha256: Sha256,
  at: Moment,
  forDevice: GatewayProtocol | undefined,
): AdmissionVerdict {
  const { username, password } = pair
  const proxy = snapshot.proxies.get(username)
  const device = snapshot.findDeviceOfLogin(username)
  const subuser = proxy || device ? undefined : snapshot.findLogin(toLookupName(username))
  // Constant work: unknown names are hashed and compared too.
  const isRight = matches(sha256(password), (proxy ?? subuser)?.digest ?? device?.password ?? noDigest)
  if (isRight && proxy) return { access: toDedicated(proxy, protocol, undefined) }
  if (isRight && device && forDevice) return { access: toDevice(device, at, forDevice) }
  if (!isRight || !subuser) return { refusal: 'bad_credentials' }
  const login = parseProxyLogin(username)
  if (typeof login === 'string') return { refusal: `login_${login}` }
  return { access: toPremium(subuser, login, undefined) }
}

const toDedicated = (proxy: NodeProxy, protocol: Protocol, source: string | undefined): Access => ({
  kind: 'dedicated',
  key: proxyKey(proxy.username),
  owner: toOwner(proxy),
  proxy,
  protocol,
  source,
})

const toPremium = (subuser: NodeSubuser, login: ProxyLogin, source: string | undefined): Access => ({
  kind: 'premium',
  key: subuserKey(subuser.id),
  owner: toOwner(subuser),
  subuser,
  login,
  source,
})

const toDevice = ({ device, exit }: FoundDevice, at: Moment, protocol: GatewayProtocol): Access => ({
  kind: 'device',
  key: deviceKey(device.id),
  owner: toOwner(device),
  device,
  protocol,
  exit,
  isInGrace: stateOf(device, at) === 'grace',
  source: undefined,
})

/** The digest by which the snapshot finds the key that a client of a protocol presents. */
export const digestOfKey = (sha256: Sha256, key: string): string => Buffer.from(sha256(key)).toString('hex')

/** Admits a VPN device by its key. The shop is never asked: gateways have every device in their state. */
function admitByKey(
  snapshot: Snapshot,
  { protocol, key }: { readonly protocol: KeyProtocol; readonly key: string },
  [by = protocol]: readonly GatewayProtocol[],
  at: Moment,
  sha256: Sha256,
): AdmissionVerdict {
  const device = snapshot.findDevice(protocol, digestOfKey(sha256, key))
  return device ? judge(toDevice(device, at, by), snapshot, at) : { refusal: 'bad_credentials' }
}

/** Admits by client address and port; the port selects a proxy or a whole login. */
export function admitBySource(
  snapshot: Snapshot,
  source: string,
  port: number,
  protocol: Protocol,
  at: Moment,
): AdmissionVerdict {
  const meaning = snapshot.ports.get(port)
  if (meaning && 'username' in meaning) {
    const proxy = snapshot.proxies.get(meaning.username)
    if (!proxy || !isAmong(proxy.sources, source)) return { refusal: 'credentials_required' }
    return judge(toDedicated(proxy, protocol, source), snapshot, at)
  }
  const subuser = meaning && snapshot.subusers.get(meaning.subuser)
  const login = meaning && readProxyLogin(meaning.login)
  if (!subuser || !login || !isAmong(subuser.whitelist, source)) return { refusal: 'credentials_required' }
  return judge(toPremium(subuser, login, source), snapshot, at)
}

function judge(access: Access, snapshot: Snapshot, at: Moment): AdmissionVerdict {
  const refusal = accessRefusal(access, snapshot, at)
  return refusal ? { refusal } : { access }
}

/** Why an admitted client may no longer pass; undefined if it may. */
export function accessRefusal(access: Access, snapshot: Snapshot, at: Moment): RefusalCode | undefined {
  if (access.kind === 'dedicated') return proxyRefusal(access, snapshot, at)
  if (access.kind === 'premium') return subuserRefusal(access, snapshot)
  if (access.kind === 'device') return deviceRefusal(access, snapshot, at)
  return snapshot.gateways.get(access.gateway.id)?.key === access.gateway.key ? undefined : 'hop_refused'
}

function proxyRefusal(
  { proxy, protocol, source }: Extract<Access, { kind: 'dedicated' }>,
  snapshot: Snapshot,
  at: Moment,
): RefusalCode | undefined {
  const now = snapshot.proxies.get(proxy.username)
  // The client was admitted a moment ago: its proxy has ended since.
  if (!now) return 'expired'
  if (source === undefined ? now.digest !== proxy.digest : !isAmong(now.sources, source)) return 'bad_credentials'
  if (now.state === 'gone') return 'expired'
  if (now.state === 'blocked') return now.withdrawn ? 'withdrawn' : 'blocked'
  if (hasExpired(now.expires_at, at)) return 'expired'
  if (now.port_type !== 'both' && now.port_type !== protocol) return 'wrong_protocol'
  // The old address may be leased to another customer next.
  return now.leave_from === proxy.leave_from ? undefined : 'address_unavailable'
}

function subuserRefusal({ subuser, source }: PremiumAccess, snapshot: Snapshot): RefusalCode | undefined {
  const now = snapshot.subusers.get(subuser.id)
  if (!now) return 'bad_credentials'
  if (source === undefined ? now.digest !== subuser.digest : !isAmong(now.whitelist, source)) return 'bad_credentials'
  return now.state === 'blocked' ? 'blocked' : undefined
}

/** A device that has ended reaches the shop for a time; then nothing. */
function stateOf(device: NodeDevice, at: Moment): 'up' | 'grace' | 'ended' {
  if (device.state === 'up' && !hasExpired(device.expires_at, at)) return 'up'
  return device.state !== 'gone' && at.nowMs < (device.grace_until ?? 0) ? 'grace' : 'ended'
}

/**
 * New keys of a device cut its tunnels, and so does turning its protocol off or ending the path to its exit. So does
 * its renewal: the next tunnel reaches everything.
 */
function deviceRefusal(
  { device, isInGrace, protocol, exit }: Extract<Access, { kind: 'device' }>,
  snapshot: Snapshot,
  at: Moment,
): RefusalCode | undefined {
  const now = snapshot.devices.get(device.id)
  if (now?.password !== device.password || now.vless !== device.vless) return 'bad_credentials'
  if (!snapshot.isOn(protocol)) return 'bad_credentials'
  if (exit !== undefined && !snapshot.isExitBehind(exit)) return 'bad_credentials'
  return stateOf(now, at) === (isInGrace ? 'grace' : 'up') ? undefined : 'vpn_ended'
}

/** Exact while in contact with the shop; otherwise lenient for up to five minutes (promise 5). */
export function hasExpired(expiresAt: number, { nowMs, lastContactAt }: Moment): boolean {
  if (nowMs < expiresAt) return false
  const silentMs = nowMs - lastContactAt
  return silentMs <= inContactMs || silentMs >= doubtMs
}

type NamedPool = { readonly pool: string } | { readonly refusal: 'pool_required' | 'traffic_exhausted' }

/** The pool named in the login, or the only one with traffic. `left` is a hint: a single pool is never refused. */
export function poolOf({ login, subuser: { pools } }: PremiumAccess): NamedPool {
  if (login.pool !== null) return { pool: login.pool }
  const filled = pools.filter((each) => each.left > 0)
  const [only, another] = filled.length > 0 ? filled : pools
  if (only && !another) return { pool: only.pool }
  return { refusal: filled.length > 1 ? 'pool_required' : 'traffic_exhausted' }
}

function isAmong(listed: readonly string[], source: string): boolean {
  const address = readAddress(source)
  if (!address) return false
  return listed.some((text) => {
    const prefix = readPrefix(text)
    return prefix !== undefined && contains(prefix, address)
  })
}

/** Of no password. */
export const noDigest = '0'.repeat(64)

/** Constant-time comparison. */
export function matches(digest: Uint8Array, expected: string): boolean {
  const given = Buffer.from(digest).toString('hex')
  let difference = given.length ^ expected.length
  for (let index = 0; index < expected.length; index += 1) {
    difference |= given.charCodeAt(index) ^ expected.charCodeAt(index)
  }
  return difference === 0
}

/** Looks a client up at the shop. The result is in the snapshot afterwards, which may be newer than the answer. */
export type Ask = (question: FindBody, source: string) => Promise<'answered' | 'unanswered'>

/** Every refusal of credentials takes a multiple of this, so that lookup times do not reveal which names exist. */
export const refusalDelayMs = 250
const wrongTtlMs = 2000
const maxWrong = 10_000
const unknownClientRefusals: readonly RefusalCode[] = ['bad_credentials', 'credentials_required']
const delayedRefusals: readonly RefusalCode[] = ['bad_credentials', 'shop_unreachable']

/** When wrong credentials were last found to be wrong, by digest. */
export type WrongLogins = {
  findAt(key: string): number | undefined
  note(key: string, nowMs: number): void
}

/** Wrong credentials in this thread's memory. */
export class OwnWrongLogins implements WrongLogins {
  private readonly wrongAt = new Map<string, number>()

  findAt(key: string): number | undefined {
    return this.wrongAt.get(key)
  }

  note(key: string, nowMs: number): void {
    if (this.wrongAt.size >= maxWrong) this.wrongAt.clear()
    this.wrongAt.set(key, nowMs)
  }
}

/** Authenticates clients against the snapshot. Asks the shop before it refuses one. */
export class Admission {
  private readonly proven: Proven = new WeakMap()
  constructor(
    private readonly deps: {
      snapshot: Snapshot
      ask: Ask
      moment: () => Moment
      sha256: (text: string) => Uint8Array
      noteSource: (subuser: string, address: string) => void
      after: After
      /** Monotonic. */
      now: Clock
      refusalDelayMs: number
      wrongLogins: WrongLogins
    },
  ) {}

  /** Synchronous for known clients. */
  admit(asker: Asker): MaybePromise<AdmissionVerdict> {
    const first = this.judgeAsker(asker)
    const question = 'access' in first ? undefined : toQuestion(asker)
    const verdict = question ? this.askAndJudge(asker, question) : first
    if (asker.claim.kind === 'password') return verdict
    return whenReady(verdict, (known) => {
      const isPremium = 'access' in known && known.access.kind === 'premium'
      if (isPremium) this.deps.noteSource(known.access.subuser.id, asker.source)
      return known
    })
  }

  private judgeAsker(asker: Asker): AdmissionVerdict {
    const { claim, wayIn, source } = asker
    const { snapshot, sha256 } = this.deps
    const at = this.deps.moment()
    const protocol = protocolOf(wayIn)
    if (claim.kind === 'password')
      return withPool(
        admitByPassword(snapshot, claim.credentials, protocol, at, sha256, this.proven, deviceProtocolsOf(asker)),
      )
    if (claim.kind === 'key') return admitByKey(snapshot, claim, asker.ofDevice ?? [], at, sha256)
    if (claim.kind === 'port') return withPool(admitBySource(snapshot, source, claim.port, protocol, at))
    return { refusal: 'credentials_required' }
  }

  /** Asks the shop, so that a purchase made a moment ago works. All names take the same path. */
  private async askShop(asker: Asker, question: FindBody): Promise<AdmissionVerdict> {
    const { claim, source } = asker
    const credentials = claim.kind === 'password' ? claim.credentials : undefined
    const key = credentials && this.wrongKeyOf(credentials)
    const wrongAt = key === undefined ? undefined : this.deps.wrongLogins.findAt(key)
    const isWrong = wrongAt !== undefined && Math.abs(this.deps.moment().nowMs - wrongAt) < wrongTtlMs
    if (isWrong) return { refusal: 'bad_credentials' }
    const outcome = await this.deps.ask(question, source)
    const verdict = this.judgeAsker(asker)
    // A node without contact cannot call credentials wrong.
    const isUnauthenticated = 'refusal' in verdict && unknownClientRefusals.includes(verdict.refusal)
    if (outcome === 'unanswered' && isUnauthenticated) return { refusal: 'shop_unreachable' }
    if (key !== undefined && isUnauthenticated) {
      this.deps.wrongLogins.note(key, this.deps.moment().nowMs)
    }
    return verdict
  }

  private wrongKeyOf({ username, password }: Credentials): string {
    return Buffer.from(this.deps.sha256(`${username}\0${password}`)).toString('latin1')
  }

  private async askAndJudge(asker: Asker, question: FindBody): Promise<AdmissionVerdict> {
    const startedAt = this.deps.now()
    const verdict = await this.askShop(asker, question)
    if ('refusal' in verdict && delayedRefusals.includes(verdict.refusal)) {
      const leftMs = this.deps.refusalDelayMs - ((this.deps.now() - startedAt) % this.deps.refusalDelayMs)
      await new Promise<void>((resolve) => this.deps.after(leftMs, resolve))
    }
    return verdict
  }
}

/** Undefined for a claim that the shop knows nothing about. */
function toQuestion({ claim, source }: Asker): FindBody | undefined {
  if (claim.kind === 'password') return { username: toLookupName(claim.credentials.username) }
  return claim.kind === 'port' ? { source, port: claim.port } : undefined
}

/** Traffic may have changed too, so the pool is checked before the shop is asked. */
function withPool(verdict: AdmissionVerdict): AdmissionVerdict {
  if (!('access' in verdict) || verdict.access.kind !== 'premium') return verdict
  const named = poolOf(verdict.access)
  return 'refusal' in named ? named : verdict
}
