import { existsSync, readFileSync } from 'node:fs'
import { redact } from '../adapters/log.ts'
import type { AdminCaller } from '../api/admin/bind.ts'
import { readKey, runOperation } from '../api/answer-operation.ts'
import type { Bound } from '../api/bind.ts'
import { readBody } from '../api/body.ts'
import { type Operation, z } from '../api/operation.ts'
import type { Given } from '../cli/command.ts'
import type { CallOperation, Connect, Fields } from '../cli/operation-command.ts'
import { Refusal, refuseHere } from '../core/refusal.ts'
import { noStalls } from '../core/stall-monitor.ts'
import { findClosed } from '../db/closed.ts'
import { pending } from '../db/migrate.ts'
import type { Database } from '../db/transaction.ts'
import { toolActor } from '../domains/operators/rules.ts'
import { findUserName, isDenied } from './backup/readable.ts'
import { findMachineUser } from './machine-user.ts'
import { configOf, logOf } from './process.ts'
import { type Config, databaseAddress, databaseName, shopUrl } from './settings/config.ts'
import { BadSetting } from './settings/reading.ts'
import { createAdmin } from './shop/admin.ts'
import { assertOpen, openConfigured, openVault, readMigrations } from './shop/database.ts'
import { followCommand } from './shop/history.ts'
import { createServices, realRuntime, shopConfigOf } from './shop/services.ts'
import { readShopOrigin } from './shop-url.ts'

/** Commands that also run on a shop that was moved elsewhere, because they only read. */
const readsClosedShop = new Set(['verify'])
const answerMs = 60_000

/** Sends a command's operations to the shop that `--shop` names, or runs them on the database of the settings. */
export const connect: Connect = (given, work) => {
  const { shop } = given.flags
  return shop === undefined ? runLocally(given, work) : work(createRemoteCall(shop, readToken(given)), shop)
}

function toRequest(origin: string, operation: Operation, fields: Fields, headers: Record<string, string>): Request {
  const named = (schema: Operation['body']) =>
    Object.entries(fields).filter(([name, value]) => name in schema.shape && value !== undefined)
  const params = Object.fromEntries(named(operation.params))
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const url = new URL(`${origin}/admin/v1${path}`)
  for (const [name, value] of named(operation.query)) url.searchParams.set(name, String(value))
  if (operation.method === 'GET') return new Request(url.href, { headers })
  const body = JSON.stringify(Object.fromEntries(named(operation.body)))
  return new Request(url.href, { method: 'POST', body, headers: { ...headers, 'Content-Type': 'application/json' } })
}

/** The database is opened by the first call: a command that makes none needs no shop. */
const runLocally: Connect = async (given, work) => {
  const config = configOf(given)
  let opened: Database | undefined
  const open = async (): Promise<CallOperation> => {
    opened = await openForCommand(config, readsClosedShop.has(given.command.name))
    const { vault } = await openVault(config, opened)
    const joining = { isOpen: false, mail: undefined, siteUrl: () => shopUrl(config) }
    const services = createServices(opened, realRuntime, { ...shopConfigOf(config, vault), joining })
    const runtime = { ...realRuntime, stalls: noStalls }
    const log = logOf(config, 'tool')
    const { bound } = createAdmin(services, runtime, () => shopUrl(config), log)
    const call = createLocalCall(bound)
    return readsClosedShop.has(given.command.name) ? call : marking(call, () => followCommand(config, services, log))
  }
  let calling: Promise<CallOperation> | undefined
  try {
    return await work(async (...args) => (await (calling ??= open()))(...args), databaseName(config))
  } finally {
    await opened?.close()
  }
}

/** Marks the history of the database after each operation that may change it. */
function marking(call: CallOperation, follow: () => Promise<() => Promise<void>>): CallOperation {
  let following: Promise<() => Promise<void>> | undefined
  return async (operation, fields, key) => {
    if (operation.method === 'GET') return call(operation, fields, key)
    const mark = await (following ??= follow())
    try {
      return await call(operation, fields, key)
    } finally {
      await mark()
    }
  }
}

/** The data folder is named relative to the working directory unless the setting is absolute. */
export const noShopIn = ({ folder }: Pick<Config, 'folder'>): Refusal =>
  refuseHere(
    `There is no shop in ${folder}. Run the command in the folder that the shop was started in, or name the data ` +
      'folder with --data (TURNPIKE_DATA), or a shop on another machine with --shop URL. "turnpike up" or "turnpike ' +
      'migrate" makes a new one.',
  )

/** Refuses a database whose schema is behind. */
async function openForCommand(config: Config, mayBeClosed: boolean): Promise<Database> {
  if (config.databaseUrl === undefined && !existsSync(databaseAddress(config))) {
    throw noShopIn(config)
  }
  const db = openConfigured(config)
  try {
    if ((await pending(db, readMigrations())).length > 0) {
      throw refuseHere('The database has the schema of an earlier version. Run "turnpike migrate", or start the shop.')
    }
    const closed = mayBeClosed ? await findClosed(db) : undefined
    if (closed) process.stderr.write(`turnpike: This shop is closed; you are reading old data. ${closed.because}\n`)
    if (!mayBeClosed) await assertOpen(db)
    return db
  } catch (error) {
    await db.close()
    throw isRefused(error, config) ? namingDatabase(error) : error
  }
}

/** The server refused the connection itself, for example for its certificate: such errors do not name the database. */
const isRefused = (error: unknown, { databaseUrl }: Config): error is Error =>
  databaseUrl !== undefined && error instanceof Error && !(error instanceof Refusal)

const namingDatabase = ({ message }: Error): BadSetting =>
  new BadSetting(redact(`The database of TURNPIKE_DATABASE_URL cannot be used: ${message}`))

/** Runs operations in this process, as an owner: a user who can read the data folder could do anything with it. */
export function createLocalCall(bound: readonly Bound<AdminCaller>[]): CallOperation {
  const visitor = { source: null, clientPrefix: '', agent: null, shown: [] }
  const actor = { ...toolActor, source: `user ${findMachineUser()}`.slice(0, 100) }
  const caller = { actor, visitor, credential: { expiresAt: null, assertStill: async () => {} } }
  return async (operation, fields, key) => {
    const found = bound.find((each) => each.operation === operation)
    if (!found) throw new Error(`no code is bound to ${operation.id}`)
    const request = toRequest('http://localhost', operation, fields, {})
    const params = Object.fromEntries(Object.keys(operation.params.shape).map((name) => [name, String(fields[name])]))
    const sent = operation.method === 'GET' ? {} : await readBody(request)
    const { body } = await runOperation(found, { caller, key: readKey(key), request, params, sent })
    return readData(operation, JSON.parse(body))
  }
}

function createRemoteCall(shop: string, token: string): CallOperation {
  const origin = readShopOrigin(shop, '--shop')
  return async (operation, fields, key) => {
    const headers = { Authorization: `Bearer ${token}`, ...(key !== undefined && { 'Idempotency-Key': key }) }
    const request = toRequest(origin, operation, fields, headers)
    const response = await fetch(request, { redirect: 'error', signal: AbortSignal.timeout(answerMs) }).catch(
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        throw refuseHere(`The shop at ${origin} (--shop) does not answer: ${reason}`, 'unavailable')
      },
    )
    return readData(operation, await response.json().catch(() => undefined))
  }
}

/** The `data` of a successful answer; a refusal is thrown as the shop worded it. */
function readData<Op extends Operation>(operation: Op, answer: unknown): z.output<Op['answer']> {
  if (typeof answer === 'object' && answer !== null) {
    if ('data' in answer) return z.parse<Op['answer']>(operation.answer, answer.data)
    if ('error' in answer) {
      const { code, message, details } = answer.error as Pick<Refusal, 'code' | 'message' | 'details'>
      throw refuseHere(message, code, details)
    }
  }
  throw refuseHere('The server at --shop is not a Turnpike shop, or has another version.', 'unavailable')
}

/** An operator's token, from the environment or from a file: an argument would be visible to other users. */
function readToken(given: Given): string {
  const path = given.flags['token-file'] ?? process.env['TURNPIKE_OPERATOR_TOKEN_FILE']
  if (path !== undefined && isDenied(path)) {
    const advice = `Copy the file where the user ${findUserName()} can read it.`
    throw refuseHere(`Permission denied reading ${path} (--token-file). ${advice}`, 'usage')
  }
  if (path !== undefined && !existsSync(path)) throw refuseHere(`There is no file ${path} (--token-file).`, 'usage')
  const text = path === undefined ? process.env['TURNPIKE_OPERATOR_TOKEN'] : readFileSync(path, 'utf8').trim()
  if (text) return text
  const advice = 'Set TURNPIKE_OPERATOR_TOKEN, or name a file with --token-file. "operator token NAME" makes a token.'
  throw refuseHere(`--shop needs an operator's token. ${advice}`, 'usage')
}
