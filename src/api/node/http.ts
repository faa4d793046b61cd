import { type Address, clientPrefixOf, formatAddress, readAddress } from '../../core/address.ts'
import { maxInterfaceMegabits } from '../../core/bytes.ts'
import { KeyedSemaphore } from '../../core/keyed-semaphore.ts'
import type { Log } from '../../core/log.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { createTokenBuckets, secondsUntil } from '../../core/token-buckets.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Fleet, NodeSide } from '../../domains/fleet/index.ts'
import { type HealthReport, isAtOrBelow, type Node, type NodeKind } from '../../domains/fleet/rules.ts'
import { joinBodySchema, joinedSchema, vpnSetupSchema } from '../../node-protocol/join.ts'
import { placesAnswerSchema, placesBodySchema } from '../../node-protocol/places.ts'
import {
  maxBeside,
  maxBootAheadMs,
  maxVanished,
  type ReportAnswer,
  type ReportBody,
  reportAnswerSchema,
  reportBodySchema,
  reportParts,
  toBootTime,
  type VanishedItem,
} from '../../node-protocol/report.ts'
import { findBodySchema, foundSchema, stateQuerySchema } from '../../node-protocol/state.ts'
import { seenSchema, triedAnswerSchema, triedBodySchema } from '../../node-protocol/tried.ts'
import {
  apiHeaders,
  bearerOf,
  findToken,
  internalError,
  type RequestNote,
  rateLimited,
  setRateLimit,
  stopping,
  toRefusal,
} from '../answers.ts'
import { createAuthThrottle } from '../auth-throttle.ts'
import { readBody } from '../body.ts'
import { createRateLimit, type RateLimit, type RateLimitState } from '../rate.ts'
import { readFields, readQuery } from '../validate.ts'
import type { DatabaseHistory, NodeState } from './state.ts'

const wrongKind = (kind: NodeKind): Refusal => new Refusal('node_kind_wrong', { kind })

export type NodeHttpDeps = {
  readonly fleet: Pick<
    Fleet,
    | 'join'
    | 'authenticate'
    | 'nodes'
    | 'seen'
    | 'noteDraining'
    | 'privateKey'
    | 'awaitState'
    | 'mayListLost'
    | 'noteLost'
  >
  readonly timeline: DatabaseHistory & { readonly life: () => number }
  readonly customers: Pick<Customers, 'findOwners'>
  readonly nodeSides: readonly NodeSide[]
  /** The hosts of the operator's settings: a gateway may report a TLS host at or below them. */
  readonly ownHosts: readonly string[]
  readonly log: Pick<Log, 'warn'>
  readonly clock: Clock
  readonly state: Pick<NodeState, 'read'>
  readonly requestId: () => string
  readonly isStopping: () => boolean
  /** A request from this address was authenticated. */
  readonly onAdmitted?: (from: Address) => void
  readonly note: (note: RequestNote) => void
  /** Runs work whose transactions wait for the database ahead of all others. */
  readonly urgently: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/** Every path of the nodes begins with this. */
export const nodeBase = '/node/v1/'

/** Each process of a node sends one report after the other. */
const maxReportsAtOnce = 1 + maxBeside
const maxReportBytes = 1024 * 1024
const maxPlacesWaiting = 100
const placeRate = { perSecond: 2000, burst: 20_000 }
/** Known boots per node; a known boot does not count against the limit of new boots. */
const maxKnownBoots = 64
/** Interval at which a long poll marks a VPN node as seen. A gateway is marked by its reports. */
const noteSeenMs = 20_000

type Visit = {
  readonly request: Request
  readonly url: URL
  readonly from: Address | undefined
  /** Over the shop's Unix socket. An undefined `from` does not imply it: a proxy may send an invalid address. */
  readonly isLocal: boolean
  node?: Node
  rateLimit?: RateLimitState | undefined
}
type Route = { readonly method: 'GET' | 'POST'; readonly answer: (deps: NodeServer, visit: Visit) => Promise<unknown> }

type ReportedTls = HealthReport['tls']

type NodeServer = NodeHttpDeps & ReturnType<typeof openLimits>

/** Each shop's own limits, per minute: they keep one node from taking up a whole process. */
const openLimits = ({ clock, requestId }: NodeHttpDeps) => ({
  authThrottle: createAuthThrottle(clock, requestId()),
  joins: createRateLimit(10, clock),
  trials: createRateLimit(600, clock),
  /** An honest node proves some fifty addresses in a second. */
  proofs: createRateLimit(6000, clock),
  /** An honest node reports about once a second, and at once for a lease; a rate-limited one merges its reports. */
  reports: createRateLimit(1200, clock),
  reporting: new Map<string, number>(),
  /** A hundred new machines of VPN devices in a second. */
  places: createRateLimit(6000, clock),
  /** One request of a node at a time. A gateway without a place here gets 503, and admits its machine. */
  placing: new KeyedSemaphore(1, maxPlacesWaiting),
  /** Machines in these requests. A gateway reports active ones every 8 s. */
  placed: createTokenBuckets(placeRate, clock),
  boots: createRateLimit(10, clock),
  bootsOf: new Map<string, Set<string>>(),
  hopKeys: createRateLimit(10, clock),
  hopKeyOf: new Map<string, string>(),
  warnings: createRateLimit(1, clock),
})

const sidesOf = ({ nodeSides }: NodeHttpDeps, { kind }: Node): NodeSide[] =>
  nodeSides.filter((side) => side.kind === kind)

/** The shop's half of the node protocol, as one function from request to answer. */
export function createNodeHttp(given: NodeHttpDeps) {
  const deps: NodeServer = { ...given, ...openLimits(given) }
  return async (request: Request, url: URL, from: Address | undefined, isLocal = false): Promise<Response> => {
    const startedAt = performance.now()
    const visit: Visit = { request, url, from, isLocal }
    // A node names its requests itself, so that its log and the shop's have the same id.
    const id = /^[0-9a-f]{24}$/.exec(request.headers.get('x-request-id') ?? '')?.[0] ?? deps.requestId()
    let fault: unknown
    let code: string | undefined
    const response = await answer(deps, visit).catch((error: unknown) => {
      fault = error instanceof Refusal ? error.cause : error
      const refusal = error instanceof Refusal ? error : internalError()
      code = refusal.code
      return toRefusal(refusal, request.headers)
    })
    response.headers.set('X-Request-Id', id)
    if (visit.rateLimit) setRateLimit(response.headers, visit.rateLimit)
    deps.note({
      id,
      method: request.method,
      path: url.pathname,
      status: response.status,
      code,
      tookMs: performance.now() - startedAt,
      customer: undefined,
      node: visit.node?.id,
      isSale: false,
      fault,
    })
    return response
  }
}

async function authenticate(deps: NodeServer, visit: Visit): Promise<Node> {
  const check = () => knownOrLater(deps, () => deps.fleet.authenticate(bearerOf(visit.request)))
  visit.node = await deps.authThrottle.letIn(findToken(visit.request), visit, check, (node) => node.id)
  if (visit.from) deps.onAdmitted?.(visit.from)
  return visit.node
}

/** A node may be unknown because a restore is under way, and takes a 401 for its end: then it is answered with 503. */
async function knownOrLater<Found>(deps: NodeServer, findNode: () => Promise<Found>): Promise<Found> {
  try {
    return await findNode()
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== 'unauthenticated') throw error
    await deps.timeline.look()
    return findNode()
  }
}

async function limit(visit: Visit, rate: RateLimit, name: string): Promise<void> {
  visit.rateLimit = await rate(name)
  if (visit.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
}

/** Logs each event of a node at most once a minute. */
async function warn(deps: NodeServer, node: string, event: string, fields: Record<string, string>): Promise<void> {
  const limited = await deps.warnings(`${node} ${event}`)
  if (limited?.retryAfterSeconds === undefined) deps.log.warn(event, fields)
}

/** Rows are kept for each boot of a node, so a node begins a few a minute at most, and none in the future. */
async function limitBoots(deps: NodeServer, visit: Visit, { id, name }: Node, boot: string): Promise<void> {
  if (boot > toBootTime(deps.clock() + maxBootAheadMs)) {
    const explanation =
      'The clock of the node is or was more than a day ahead. Set it, stop the node, move last-boot and journal-* ' +
      'out of its data folder, and start it.'
    await warn(deps, id, 'boot ahead', { node: name, boot, explanation })
    throw refuseField('boot', 'boot_ahead')
  }
  const known = deps.bootsOf.get(id) ?? new Set()
  if (known.has(boot)) return
  await limit(visit, deps.boots, id)
  known.add(boot)
  for (const oldest of known) if (known.size > maxKnownBoots) known.delete(oldest)
  deps.bootsOf.set(id, known)
}

/** Each change of a hop key is sent to all gateways, so a gateway makes a few a minute at most. */
async function limitHopKeys(deps: NodeServer, visit: Visit, node: string, key: string | undefined): Promise<void> {
  if (key === undefined || deps.hopKeyOf.get(node) === key) return
  await limit(visit, deps.hopKeys, node)
  deps.hopKeyOf.set(node, key)
}

async function join(deps: NodeServer, visit: Visit): Promise<unknown> {
  await limit(visit, deps.joins, visit.from ? clientPrefixOf(visit.from) : '')
  const body = readFields(joinBodySchema, await readBody(visit.request))
  const node = await knownOrLater(deps, () => deps.fleet.join(body.key, body.secret, body.version))
  visit.node = node
  deps.authThrottle.expect(body.secret, node.id)
  return joinedSchema.parse({ node: node.id, name: node.name, kind: node.kind })
}

async function state(deps: NodeServer, visit: Visit): Promise<unknown> {
  const node = await authenticate(deps, visit)
  const { cursor, wait = 0, mark, vpn } = readFields(stateQuerySchema, readQuery(visit.url.searchParams))
  const isOverdue = node.lastSeenAt === null || deps.clock() - node.lastSeenAt > noteSeenMs
  if (node.kind === 'vpn' && isOverdue) await deps.fleet.seen(node.id, { version: node.version ?? '' }, node.joinedAt)
  const request = { cursor, mark, waitMs: wait * 1000, isForVpn: vpn === '1' }
  return deps.state.read(node, request, visit.request.signal, async () => {
    if (deps.isStopping()) throw stopping()
    await authenticate(deps, visit)
  })
}

async function find(deps: NodeServer, visit: Visit): Promise<unknown> {
  await authenticate(deps, visit)
  const body = readFields(findBodySchema, await readBody(visit.request))
  const node = await authenticate(deps, visit)
  const finds = sidesOf(deps, node).flatMap((side) => side.find ?? [])
  if (finds.length === 0) throw wrongKind(node.kind)
  for (const findIn of finds) {
    const found = await findIn(body)
    if (!found) continue
    // The node has it before its next page. The mark shows this shop if the database loses it before then.
    if (found.proxy?.state === 'active' || found.subuser?.state === 'active') await deps.timeline.cover()
    return foundSchema.parse(found)
  }
  return foundSchema.parse({ proxy: null, subuser: null })
}

/** Runs the work unless as many reports of the node as it has processes are being taken in already. */
async function withReportSlot<T>(deps: NodeServer, node: string, work: () => Promise<T>): Promise<T> {
  const taken = deps.reporting.get(node) ?? 0
  if (taken >= maxReportsAtOnce) throw rateLimited({ retryAfterSeconds: 1 })
  deps.reporting.set(node, taken + 1)
  try {
    return await work()
  } finally {
    const left = (deps.reporting.get(node) ?? 1) - 1
    if (left > 0) deps.reporting.set(node, left)
    else deps.reporting.delete(node)
  }
}

async function report(deps: NodeServer, visit: Visit): Promise<unknown> {
  const { id } = await authenticate(deps, visit)
  await limit(visit, deps.reports, id)
  return withReportSlot(deps, id, () => deps.urgently(() => readReport(deps, visit)))
}

async function readReport(deps: NodeServer, visit: Visit): Promise<unknown> {
  const body = readFields(reportBodySchema, await readBody(visit.request, maxReportBytes))
  // Authenticated again: the operator may have closed the node while its report was on its way.
  const node = await authenticate(deps, visit)
  await limitBoots(deps, visit, node, body.boot)
  await limitHopKeys(deps, visit, node.id, body.hop_key)
  const tls = await acceptTls(deps, visit, node, body.tls)
  return reportAnswerSchema.parse(await takeReport(deps, node, body, tls))
}

/** The host names of the other open gateways. An address is no name: gateways on one machine share it. */
async function namesOfOthers({ fleet }: NodeServer, { id }: Node): Promise<ReadonlySet<string | null | undefined>> {
  const others = (await fleet.nodes('gateway')).filter((each) => each.id !== id && each.state === 'open')
  const named = others.flatMap(({ endpoint, health }) => [endpoint?.host, health?.tls?.host, health?.tls?.browserHost])
  return new Set(named.filter((host) => host && readAddress(host) === undefined))
}

/**
 * Where customers reach a gateway over TLS: as reported if the operator's settings have the host or the report comes
 * from this machine, and no other gateway has it; else as before. A thief of the node's secret cannot lead customers to
 * a host elsewhere, or take the name of another gateway.
 */
async function acceptTls(deps: NodeServer, visit: Visit, node: Node, tls: ReportBody['tls']): Promise<ReportedTls> {
  if (!tls) return null
  const hosts = [...deps.ownHosts, ...(node.endpoint ? [node.endpoint.host] : [])]
  const shared = [...deps.ownHosts, node.endpoint?.host]
  const taken = await namesOfOthers(deps, node)
  const isFree = (host: string): boolean => shared.includes(host) || !taken.has(host)
  const isOurs = (host: string): boolean => visit.isLocal || (isAtOrBelow(host, hosts) && isFree(host))
  const { host, port, browser_host: browserHost = null, pin = null } = tls
  if (!isOurs(host)) {
    const explanation = `If the host is right: "turnpike node endpoint ${node.name} --host HOST --port PORT" with it.`
    await warn(deps, node.id, 'tls host refused', { node: node.name, host, explanation })
    return 'unchanged'
  }
  if (browserHost === null || isOurs(browserHost)) return { host, port, browserHost, pin }
  const explanation =
    `Customers do not see the name. Choose a TURNPIKE_GATEWAY_CHALLENGE_HOST that ends with .${host}, or with the ` +
    'endpoint host of this gateway.'
  await warn(deps, node.id, 'browser host refused', { node: node.name, host: browserHost, explanation })
  return { host, port, browserHost: null, pin }
}

async function tried(deps: NodeServer, visit: Visit): Promise<unknown> {
  await limit(visit, deps.trials, (await authenticate(deps, visit)).id)
  const body = readFields(triedBodySchema, await readBody(visit.request, maxReportBytes))
  const node = await authenticate(deps, visit)
  const takes = sidesOf(deps, node).flatMap((side) => side.tried ?? [])
  if (takes.length === 0) throw wrongKind(node.kind)
  for (const take of takes) await take(node.id, body, visit.isLocal)
  return triedAnswerSchema.parse({ now: deps.clock() })
}

/** The device limit of VPN subscriptions holds over all gateways: each asks before a machine's first tunnel. */
async function places(deps: NodeServer, visit: Visit): Promise<unknown> {
  const { id } = await authenticate(deps, visit)
  await limit(visit, deps.places, id)
  await deps.placing.acquire(id)
  try {
    return await readPlaces(deps, visit)
  } finally {
    deps.placing.release(id)
  }
}

/** Not ahead of other work: a stolen gateway must not delay purchases. */
async function readPlaces(deps: NodeServer, visit: Visit): Promise<unknown> {
  const body = readFields(placesBodySchema, await readBody(visit.request, maxReportBytes))
  const node = await authenticate(deps, visit)
  const takes = sidesOf(deps, node).flatMap((side) => side.places ?? [])
  if (takes.length === 0) throw wrongKind(node.kind)
  const count = body.places.length
  if (!deps.placed.take(node.id, 0, count))
    throw rateLimited({ retryAfterSeconds: secondsUntil(placeRate, deps.placed.level(node.id), count) })
  const refused = []
  for (const take of takes) refused.push(...(await take(node.id, body)))
  return placesAnswerSchema.parse({ refused })
}

/** A node that calls from an address proves that it can use it. The answer has the address that the shop saw. */
async function seen(deps: NodeServer, visit: Visit): Promise<unknown> {
  const node = await authenticate(deps, visit)
  await limit(visit, deps.proofs, node.id)
  const { from } = visit
  if (from) for (const take of sidesOf(deps, node).flatMap((side) => side.seen ?? [])) await take(node.id, from)
  return seenSchema.parse({ from: from ? formatAddress(from) : '' })
}

async function setup(deps: NodeServer, visit: Visit): Promise<unknown> {
  const node = await authenticate(deps, visit)
  const [setupOf] = sidesOf(deps, node).flatMap((side) => side.setup ?? [])
  if (!setupOf) throw wrongKind(node.kind)
  const key = await deps.fleet.privateKey(node.id)
  if (key === undefined) throw new Refusal('node_private_key_missing')
  return vpnSetupSchema.parse(setupOf(node, key))
}

const routes = new Map<string, Route>([
  ['join', { method: 'POST', answer: join }],
  ['state', { method: 'GET', answer: state }],
  ['find', { method: 'POST', answer: find }],
  ['report', { method: 'POST', answer: report }],
  ['tried', { method: 'POST', answer: tried }],
  ['places', { method: 'POST', answer: places }],
  ['seen', { method: 'GET', answer: seen }],
  ['vpn', { method: 'GET', answer: setup }],
])

async function answer(deps: NodeServer, visit: Visit): Promise<Response> {
  if (deps.isStopping()) throw stopping()
  const route = routes.get(visit.url.pathname.slice(nodeBase.length))
  if (!route) throw new Refusal('node_path_not_found')
  const { method } = route
  if (visit.request.method !== method)
    throw new Refusal('method_not_allowed', { methods: [method] }, { allow: [method] })
  return new Response(JSON.stringify({ ok: true, data: await route.answer(deps, visit) }), { headers: apiHeaders })
}

/** Each product's part of a report is one idempotent transaction, so the next report repairs a failed one. */
async function takeReport(deps: NodeHttpDeps, node: Node, body: ReportBody, tls: ReportedTls): Promise<ReportAnswer> {
  const sides = sidesOf(deps, node)
  // Parts that do not belong to this kind of node are refused before anything is written.
  const parts = sides.flatMap((side) => side.parts)
  if (reportParts.some((part) => body[part].length > 0 && !parts.includes(part))) throw wrongKind(node.kind)
  const { verdict } = await deps.timeline.look(body.mark)
  if (verdict === 'expired') await deps.fleet.awaitState(node.id)
  const isForVpn = body.tls?.vpn === true && sides.some((side) => side.isForVpn === true)
  const health = body.health && { ...toHealth(body, body.health), tls, ...(isForVpn && { isForVpn }) }
  // Before the parts, whose commits wait for the standbys of the database: a node that calls is there meanwhile too. A
  // draining process accepts no tunnels, so its report alone does not make the node sellable.
  if (body.draining !== true) await deps.fleet.seen(node.id, { version: body.version, health }, node.joinedAt)
  else if (health) await deps.fleet.noteDraining(node.id, health)
  let answered: Omit<ReportAnswer, 'now'> = { replaced: false, allowances: [] }
  for (const side of sides) answered = (await side.report(node.id, body)) ?? answered
  // Only a mark of this life shows that the node has read the state of this life.
  if (body.vanished && verdict === 'known') await noteLost(deps, node, body.vanished)
  return { now: deps.clock(), ...answered }
}

/** More lines for one node and life of the database only say how many. */
const maxLostLines = 20

/** Keeps the things that a node served and no product knows, in any state. The log has no logins and no addresses. */
async function noteLost(deps: NodeHttpDeps, node: Node, vanished: readonly VanishedItem[]): Promise<void> {
  const life = deps.timeline.life()
  if (!(await deps.fleet.mayListLost(node.id, life))) return
  const known = new Set<VanishedItem>()
  for (const side of sidesOf(deps, node)) for (const item of (await side.knownAmong?.(vanished)) ?? []) known.add(item)
  const lost = vanished.filter((item) => !known.has(item))
  const { added, before } = await deps.fleet.noteLost(node.id, life, lost, vanished.length < maxVanished)
  const shown = added.slice(0, Math.max(0, maxLostLines - before))
  const owners = await deps.customers.findOwners(new Set(shown.map(({ owner }) => owner)))
  for (const { kind, id, owner } of shown)
    deps.log.warn('lost', { node: node.name, kind, id, customer: owners.get(owner)?.id, explanation: lostExplanation })
  if (added.length > shown.length)
    deps.log.warn('lost', { node: node.name, more: added.length - shown.length, explanation: lostExplanation })
}

const lostExplanation =
  'The node served it, and the database does not know it: the database went back in time. The node has dropped it. ' +
  '"turnpike doctor" has the login and the address.'

const toHealth = (body: ReportBody, health: NonNullable<ReportBody['health']>): Omit<HealthReport, 'tls'> => ({
  boot: body.boot,
  tunnels: health.tunnels,
  lagMs: health.lag_ms,
  totalBytes: health.total_bytes,
  hopBytes: health.hop_bytes ?? 0,
  isStopping: health.stopping ?? false,
  maxPorts: body.max_ports ?? null,
  interfaceMegabits: body.interface_mbit === undefined ? null : Math.min(body.interface_mbit, maxInterfaceMegabits),
  cpuMs: body.cpu_ms,
  errors: body.errors,
})
