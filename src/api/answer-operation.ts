import { Refusal, refuseField } from '../core/refusal.ts'
import { ScopeMissing } from '../domains/customers/index.ts'
import { isIdempotencyKey } from '../domains/orders/rules.ts'
import { assertConnected, assertNotPipelined, chargedBy, rateLimited } from './answers.ts'
import type { Admitted, Api, Params } from './api.ts'
import type { Answered, Bound, Call } from './bind.ts'
import { readBody } from './body.ts'
import { maxOrdinaryRows } from './bulk-turns.ts'
import { type ChangeBudget, rowsChangedBy } from './change-budget.ts'
import { languageOf } from './language.ts'
import type { Limits } from './limits.ts'
import { type Operation, readsManyRows, takesKey } from './operation.ts'
import { toResponse } from './respond.ts'
import { secretIn } from './session.ts'
import { readFields, readQuery } from './validate.ts'
import { type ApiVersions, type RequestVersion, versionHeader } from './versions.ts'
import type { Visit } from './visit.ts'
import { findWarnings } from './warnings.ts'

/** Notes the version of a request; that of an unknown one is refused in the form of the latest. */
function setVersion(
  versions: ApiVersions | undefined,
  { id: operation }: Operation,
  request: Request,
  ofToken: string | undefined,
  visit: Visit,
): void {
  if (!versions) return
  visit.version = { versions, operation, version: versions.latest }
  visit.version.version = versions.choose(request.headers.get(versionHeader), ofToken)
}

/** The fields of a body or a query as the latest version has them. */
const upgraded = <Sent extends Readonly<Record<string, unknown>>>(of: RequestVersion | undefined, sent: Sent): Sent =>
  of ? of.versions.upgrade(of.operation, of.version, sent) : sent

/** An answer in the version of its request. A replay of an older answer names the version that it has. */
function inVersion(of: RequestVersion | undefined, called: Answered): Answered {
  if (!of || called.mediaType !== undefined) return called
  const version = called.replayed ? (called.version ?? of.versions.latest) : of.versions.latest
  const written = of.versions.toVersion(of.operation, { body: called.body, version }, of.version)
  of.version = written.version
  return { ...called, body: written.body }
}

export const refusalVersion = (of: RequestVersion | undefined) =>
  of && of.version !== of.versions.latest
    ? (error: object) => of.versions.refusalTo(of.operation, { ...error }, of.version)
    : undefined

/** Answers a request to an operation: authentication, limits, its turn, and the operation itself. */
export async function answer<By>(
  api: Pick<Api<By>, 'letIn' | 'findShown' | 'versions'>,
  limits: Limits,
  bound: Bound<By>,
  request: Request,
  params: Params,
  visit: Visit,
): Promise<Response> {
  const { operation } = bound
  const purpose = operation.charges === true ? 'sale' : undefined
  const check = () => api.letIn(request, visit.from, operation, purpose)
  const shown = api.findShown(request, operation)
  const letIn = () =>
    operation.access === 'public'
      ? check()
      : limits.authThrottle.letIn(shown, visit, check, ({ name, customer }) => customer ?? name)
  const admitted = await letIn().catch((error: unknown) => countLacking(limits, operation, visit, error))
  const { customer, token } = admitted
  visit.customer = customer
  if (token !== undefined) visit.logged = { operation: operation.id, token }
  setVersion(api.versions, operation, request, admitted.version, visit)
  visit.isAdmitted = operation.access !== 'public'
  visit.isPurchase = purpose === 'sale'
  let leave = visit.isAdmitted ? limits.bulk.enter() : () => {}
  let turn: Turn = { end: leave }
  let giveBack: Awaited<ReturnType<ChangeBudget>> | undefined
  try {
    visit.rateLimit = await (operation.charges ? limits.charges : limits.reads)(admitted.name, customer)
    if (visit.rateLimit?.retryAfterSeconds) throw rateLimited(visit.rateLimit)
    const hasWaited = bound.waitFirst !== undefined && request.url.includes('wait=')
    if (hasWaited) {
      leave()
      const query = readQuery(new URL(request.url).searchParams)
      const signal = request.signal
      await bound.waitFirst?.({ caller: admitted.by, query: readFields(operation.query, query, 'query'), signal })
      leave = limits.bulk.enter()
      turn = { end: leave }
    }
    visit.key = takesKey(operation) ? readKey(request.headers.get('idempotency-key') ?? undefined) : undefined
    const sent = upgraded(visit.version, operation.method === 'POST' ? await readBody(request) : {})
    if (customer !== undefined) giveBack = await limits.changes(customer, rowsChangedBy(operation, sent))
    const queue = customer ?? (operation.access === 'public' ? undefined : admitted.name)
    if (queue !== undefined) turn = await takeTurn(limits, queue, rowsOf(operation, request, sent), leave)
    const { key, id: requestId, version } = visit
    const call = { request, params, sent, key, requestId, version, nextSlice: turn.nextSlice }
    // Checked again, because the token may be revoked while the body arrives or the request waits. The second check of
    // a token's sale is in its transaction.
    const isLate = operation.method === 'POST' || turn.hasWaited || hasWaited
    const letInAgain = isLate && !admitted.isCheckedBySale ? letIn : async () => admitted
    const answered = await answerInTurn(api, limits, bound, call, visit, letInAgain)
    if (visit.isReplay) await giveBack?.().catch(() => {})
    return answered
  } catch (error) {
    // A refusal has rolled its change back. What a fault or a database that does not answer left is not known.
    if (error instanceof Refusal && chargedBy(error) === false) await giveBack?.().catch(() => {})
    throw error
  } finally {
    turn.end()
  }
}

/** Counts a request without the scope as a read, and logs it: the owner sees what a token tries, also a stolen one. */
async function countLacking(limits: Limits, { id }: Operation, visit: Visit, error: unknown): Promise<never> {
  if (!(error instanceof ScopeMissing)) throw error
  const { customer, token } = error.by
  visit.customer = customer
  visit.logged = { operation: id, token }
  visit.rateLimit = await limits.reads(token, customer)
  throw visit.rateLimit?.retryAfterSeconds ? rateLimited(visit.rateLimit) : error
}

async function answerInTurn<By>(
  api: Pick<Api<By>, 'letIn'>,
  limits: Limits,
  bound: Bound<By>,
  call: Omit<OperationCall<By>, 'caller'>,
  visit: Visit,
  letInAgain: () => Promise<Admitted<By>>,
): Promise<Response> {
  const { operation } = bound
  const { request } = call
  try {
    const { by: caller, name, customer } = await letInAgain()
    if (operation.method === 'POST') await assertNotPipelined(request, visit.hold)
    const run = () => runOperation(bound, { ...call, caller })
    const called = inVersion(visit.version, await (readsManyRows(operation) ? limits.onStandby(run) : run()))
    visit.isReplay = called.replayed
    visit.isSale = visit.isPurchase && !called.replayed
    visit.order = called.order ?? undefined
    const issued = called.issued ?? secretIn(called.cookie ?? '')
    if (issued !== undefined) limits.authThrottle.expect(issued, called.owner ?? customer ?? name)
    return await toResponse(request, operation, called)
  } catch (error) {
    // A sale can be refused before its transaction: a revoked caller gets that refusal and no other, unless the
    // database does not answer.
    const isAnswer = error instanceof Refusal && error.kind !== 'unavailable'
    if (visit.isPurchase && isAnswer) await api.letIn(request, visit.from, operation)
    throw error
  }
}

type Turn = { readonly end: () => void; readonly hasWaited?: boolean; readonly nextSlice?: () => Promise<void> }

/** A permit for an ordinary request, or a bulk request's turn. `leave` ends its count as an ordinary request. */
async function takeTurn(limits: Limits, queue: string, rows: number, leave: () => void): Promise<Turn> {
  if (rows > maxOrdinaryRows) {
    leave()
    const { next, end } = await limits.bulk.start(queue)
    return { hasWaited: true, nextSlice: next, end: () => void end() }
  }
  const waits = limits.semaphore.acquire(queue)
  if (waits) await waits
  const end = () => {
    limits.semaphore.release(queue)
    leave()
  }
  return { hasWaited: waits !== undefined, end }
}

/** How many rows a request asks for. */
function rowsOf(operation: Operation, request: Request, sent: Readonly<Record<string, unknown>>): number {
  const query = request.url.includes('?') ? readQuery(new URL(request.url).searchParams) : {}
  const { ids, count, quantity, limit } = { ...query, ...sent }
  return Math.max(countIds(ids), ...[count, quantity, limit].map(toSize)) || operation.maxRows
}

const toSize = (sent: unknown): number => (typeof sent === 'number' || typeof sent === 'string' ? Number(sent) || 0 : 0)

/** `[1, 2]`, `1,2` or several such texts. */
const countIds = (ids: unknown): number =>
  Array.isArray(ids)
    ? ids.reduce<number>((sum, each) => sum + (typeof each === 'string' ? countIds(each) : 1), 0)
    : typeof ids === 'string'
      ? ids.split(',').length
      : 0

type OperationCall<By> = {
  readonly caller: By
  readonly key: string | undefined
  readonly requestId?: string
  readonly request: Request
  readonly params: Params
  readonly sent: Parameters<typeof findWarnings>[2]
  readonly nextSlice?: Call<Operation>['nextSlice'] | undefined
  /** `sent` is in the latest version already. */
  readonly version?: RequestVersion | undefined
}

/** Parses a request by its operation's schemas and runs the operation for an authenticated caller. */
export function runOperation<By>({ operation, run }: Bound<By>, of: OperationCall<By>): Promise<Answered> {
  const { request, params, sent } = of
  const query = request.url.includes('?') ? upgraded(of.version, readQuery(new URL(request.url).searchParams)) : {}
  const { fields, warnings } = findWarnings(operation, query, sent, request.headers)
  return run({
    caller: of.caller,
    key: of.key,
    requestId: of.requestId,
    params: readFields(operation.params, params),
    query: readFields(operation.query, query, 'query'),
    body: readFields(operation.body, fields),
    warnings,
    language: languageOf(request.headers),
    assertConnected: () => assertConnected(request),
    nextSlice: of.nextSlice ?? (async () => {}),
  })
}

export function readKey(key: string | undefined): string | undefined {
  if (key === undefined || isIdempotencyKey(key)) return key
  throw refuseField('Idempotency-Key', 'visible', { from: 1, to: 255 })
}
