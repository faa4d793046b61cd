import { bracketed } from '../../../core/address.ts'
import { randomBase32 } from '../../../core/base32.ts'
import type { CustomerId, RandomBytes, SubuserId } from '../../../core/ids.ts'
import { compile, identifiesByPort } from '../../../core/line-template.ts'
import { maxLoginLength, type ProxyLogin, writeProxyLogin } from '../../../core/login.ts'
import { refuseField } from '../../../core/refusal.ts'
import type { PremiumDeps } from '../deps.ts'
import { type ExitDeps, fitting } from '../exits/exits.ts'
import type { WantedLocations } from '../exits/rules.ts'
import { load, openPassword } from './manage.ts'
import type { Subuser } from './rules.ts'
import * as store from './store.ts'

type GenerateRequest = {
  readonly subuser: SubuserId | undefined
  readonly pool: string
  readonly locations: WantedLocations
  readonly type: 'sticky' | 'rotating'
  readonly protocol: 'http' | 'socks5' | 'https'
  readonly ttlMinutes: number
  readonly quantity: number
  readonly template: string
}

/** 50 bits: a thousand names do not collide, and none can be guessed. */
const sessionLength = 10

/** Proxy lists, ready to paste. All parameters are in the login, or behind a port of the sub-user's own. */
export async function generate(deps: ExitDeps, customer: CustomerId, request: GenerateRequest) {
  const { db } = deps
  const subuser = await load(deps, customer, request.subuser)
  await fitting(deps, request.pool, request.locations)
  assertFits(subuser, request)
  const at = await placesOf(deps, request)
  const isByPort = identifiesByPort(request.template)
  const lines = isByPort ? await byPort(deps, subuser, request) : byLogin(deps, subuser, request)
  const password = request.template.includes('{password}') ? await openPassword(deps, db, subuser.id) : ''
  const write = compile(request.template)
  const { protocol } = request
  const writeAt = (host: string): string[] =>
    lines.map(({ login, port }) =>
      write({ host: bracketed(host), port: String(at.port ?? port), login, password, protocol }),
    )
  return {
    subuser,
    domain: writeAt(at.host),
    ip: writeAt(at.address),
    browserHost: at.browserHost,
    /** The lines work from whitelisted addresses only, and there is none yet. */
    admitsNone: isByPort && (await store.listEntries(db, subuser.id)).length === 0,
  }
}

/** Where the lines connect to. A certificate has a name, so lines over TLS have no address. */
async function placesOf({ gateway, ports }: ExitDeps, { protocol, template }: GenerateRequest) {
  if (protocol !== 'https') return { host: gateway.host, address: gateway.address, port: undefined, browserHost: null }
  if (identifiesByPort(template)) throw refuseField('protocol', 'https_needs_login')
  const tls = await ports.findTls()
  if (!tls) throw refuseField('protocol', 'https_not_served')
  return { ...tls, address: tls.host }
}

function sessionNames(random: RandomBytes, count: number, taken: Iterable<string> = []): string[] {
  const names = new Set(taken)
  const fresh: string[] = []
  while (fresh.length < count) {
    const name = randomBase32(random(sessionLength))
    if (names.has(name)) continue
    names.add(name)
    fresh.push(name)
  }
  return fresh
}

const baseOf = (subuser: Subuser, request: GenerateRequest): ProxyLogin => ({
  login: subuser.login,
  pool: request.pool,
  ...request.locations,
  session: null,
})

/** Refuses a login that is too long for gateways, before a port is taken for it. */
function assertFits(subuser: Subuser, request: GenerateRequest): void {
  const session = request.type === 'sticky' ? { name: 'x'.repeat(sessionLength), ttlMinutes: request.ttlMinutes } : null
  if (writeProxyLogin({ ...baseOf(subuser, request), session }).length <= maxLoginLength) return
  throw refuseField('countries', 'login_too_long', { max: maxLoginLength })
}

type Endpoint = { readonly login: string; readonly port: number }

/** A login for each line; rotating ones are all the same. */
function byLogin({ random, gateway }: PremiumDeps, subuser: Subuser, request: GenerateRequest): Endpoint[] {
  const base = baseOf(subuser, request)
  const names = request.type === 'sticky' ? sessionNames(random, request.quantity) : []
  return Array.from({ length: request.quantity }, (_, index) => {
    const name = names[index]
    const session = name === undefined ? null : { name, ttlMinutes: request.ttlMinutes }
    return { login: writeProxyLogin({ ...base, session }), port: gateway.port }
  })
}

/**
 * A port for each line. Ports with the same parameters are reused, so a repeated request gets the same list; missing
 * ones are taken from the range. A port keeps its sub-user, so a source address on two whitelists is not ambiguous.
 */
async function byPort(deps: PremiumDeps, subuser: Subuser, request: GenerateRequest): Promise<Endpoint[]> {
  const parameters = writeProxyLogin(baseOf(subuser, request))
  const isSticky = request.type === 'sticky'
  const ttlMinutes = isSticky ? request.ttlMinutes : 0
  const needed = isSticky ? request.quantity : 1
  const room = await deps.ports.room()
  const ports = await deps.db.transact(async (tx) => {
    // The limit of ports is the customer's, so the customer's account is locked.
    await deps.ledger.lock(tx, subuser.customer)
    await store.lockSubuser(tx, subuser.id)
    const shared = { subuser: subuser.id, parameters, ttlMinutes }
    const known = await store.listPorts(tx, shared, needed)
    const missing = needed - known.length
    if (missing === 0) return known
    const held = await store.countPortsOfCustomer(tx, subuser.customer)
    const taken = await deps.ports.take(tx, missing, held, room)
    const knownNames = known.map((each) => each.session)
    const names = isSticky ? sessionNames(deps.random, missing, knownNames) : ['']
    const fresh = names.map((session, index) => ({ port: taken[index] ?? 0, ...shared, session }))
    store.insertPorts(tx, fresh, deps.clock())
    store.touchSubuser(tx, subuser.id, deps.clock())
    return [...known, ...fresh]
  })
  return Array.from({ length: request.quantity }, (_, index) => ({
    login: subuser.login,
    port: ports[isSticky ? index : 0]?.port ?? deps.gateway.port,
  }))
}
