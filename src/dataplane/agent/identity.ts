import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Joined, joinedSchema, joinKeyPattern, nodeSecretPattern } from '../../node-protocol/join.ts'
import { findFile, writeOwnFile } from './own-file.ts'
import { type Chance, createLimitedLog, growingPause, type NodeLog, parseJson, type Timing } from './runtime.ts'
import { LinkError, type ShopLink } from './shop-link.ts'

export type NodeIdentity = Joined & { readonly secret: string }

/** The node could not join; the message tells the operator what to do. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError'
}

const savedSchema = joinedSchema.extend({ secret: z.string().regex(nodeSecretPattern) })

const identityName = 'node.json'
/** A generated secret that may or may not have reached the shop yet. */
const draftName = 'joining-secret'

const getKey = 'On the shop run "turnpike node key NAME" and put the key that it prints into TURNPIKE_NODE_KEY here.'
const noKey = `No join key. ${getKey}`
const notKey = `TURNPIKE_NODE_KEY is not a join key: a join key begins with tpj_. ${getKey}`

const keyPollMs = 200
const shippedWaitMs = 600_000
/** No warnings about a missing key or shop before this: a new shop first creates its tables. */
const keySoonMs = 20_000

export type IdentityDeps = {
  readonly folder: string
  readonly version: string
  readonly linkWith: (secret: string) => Pick<ShopLink, 'join' | 'state'>
  /** From the settings, or from a file that may appear later. */
  readonly key?: string | undefined
  readonly keyFile?: string | undefined
  readonly randomBytes: (count: number) => Uint8Array
  readonly timing: Timing
  readonly chance: Chance
  readonly log: NodeLog
  readonly end?: AbortSignal
  readonly waitMs?: number
}

/**
 * Loads the saved identity or joins the shop. A saved identity that the shop refuses is replaced if there is a key. The
 * secret is on disk before it is sent, so a lost answer is repaired by joining again with the same secret.
 */
export async function takeIdentity(deps: IdentityDeps): Promise<NodeIdentity> {
  const saved = findSaved(deps)
  if (!saved) return joinShop(deps)
  if (findKey(deps) === undefined || !(await isRefused(deps, saved))) return saved
  const explanation = 'The shop no longer knows this node. It joins again with the join key that it has.'
  deps.log.warn('joining again', { node: saved.node, explanation })
  return joinShop(deps)
}

/** The identity that a node of this folder has saved; `damaged` if its file cannot be read. */
export function findIdentity(folder: string): NodeIdentity | 'damaged' | undefined {
  const text = findFile(join(folder, identityName))
  if (text === undefined) return undefined
  const read = savedSchema.safeParse(parseJson(text))
  return read.success ? read.data : 'damaged'
}

function findSaved(deps: IdentityDeps): NodeIdentity | undefined {
  const saved = findIdentity(deps.folder)
  if (saved !== 'damaged') return saved
  const explanation = `This file cannot be read, so the node must join again. ${getKey}`
  deps.log.error('identity damaged', { file: join(deps.folder, identityName), explanation })
  return undefined
}

/** An unreachable shop has not refused the node. */
async function isRefused(deps: IdentityDeps, saved: NodeIdentity): Promise<boolean> {
  const outcome = await deps.linkWith(saved.secret).state(undefined, 0, deps.end).catch(orLinkError)
  return outcome instanceof LinkError && outcome.trouble === 'refused'
}

function orLinkError(error: unknown): LinkError {
  if (error instanceof LinkError) return error
  throw error
}

/** Whether the key file is newer than the identity: this machine's shop was replaced or reset. */
export function hasNewerKey(folder: string, keyFile: string | undefined): boolean {
  const [key, identity] = [keyFile, join(folder, identityName)].map((path) =>
    path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })?.mtimeMs,
  )
  return key !== undefined && identity !== undefined && key > identity
}

/** The file wins: it can be replaced while the process runs. */
function findKey(deps: IdentityDeps): string | undefined {
  const inFile = deps.keyFile === undefined ? undefined : findFile(deps.keyFile)?.trim()
  return [inFile, deps.key?.trim()].find((each) => each !== undefined && joinKeyPattern.test(each))
}

async function joinShop(deps: IdentityDeps): Promise<NodeIdentity> {
  const { timing } = deps
  const beganAt = timing.now()
  const giveUpAt = beganAt + (deps.waitMs ?? shippedWaitMs)
  const limitedLog = createLimitedLog(deps.log, timing.now)
  const secret = takeDraft(deps)
  const spent = new Set<string>()
  let failures = 0
  let lastTrouble = (deps.key?.trim() ?? '') === '' ? noKey : notKey
  while (timing.now() < giveUpAt && deps.end?.aborted !== true) {
    const key = findKey(deps)
    if (key === undefined || spent.has(key)) {
      if (deps.keyFile === undefined) break
      if (timing.now() - beganAt >= keySoonMs)
        limitedLog('warn', 'no join key', { explanation: lastTrouble, looked_in: deps.keyFile })
      await timing.pause(keyPollMs, deps.end)
      continue
    }
    const body = { key, secret, version: deps.version }
    const outcome = await deps.linkWith(secret).join(body, deps.end).catch(orLinkError)
    if (!(outcome instanceof LinkError)) return save(deps, { ...outcome, secret })
    lastTrouble = `The node has not joined the shop: ${outcome.message}.`
    // The shop rejected this key; other errors are retried.
    if (outcome.trouble === 'refused' || (outcome.blamesRequest && outcome.status !== 500)) {
      spent.add(key)
      lastTrouble = `The shop refused the join key (${outcome.message}): it is unknown, expired or used. ${getKey}`
      deps.log.warn('join key refused', { explanation: lastTrouble })
    } else {
      failures += 1
      // A shop that starts at the same time writes the key before it listens.
      const isSoon = deps.keyFile !== undefined && timing.now() - beganAt < keySoonMs
      if (!isSoon || outcome.trouble !== 'unreachable') {
        limitedLog('warn', 'not joined yet', { explanation: `${outcome.message}. The node tries again.` })
      }
      await timing.pause(growingPause(failures, 250, 5_000, deps.chance), deps.end)
    }
  }
  throw new IdentityError(lastTrouble)
}

/** The secret of an interrupted join, or a new one that is saved first. */
function takeDraft(deps: IdentityDeps): string {
  const path = join(deps.folder, draftName)
  const draft = findFile(path)?.trim() ?? ''
  if (nodeSecretPattern.test(draft)) return draft
  const secret = `tpn_${Buffer.from(deps.randomBytes(32)).toString('hex')}`
  writeOwnFile(path, `${secret}\n`)
  return secret
}

function save(deps: IdentityDeps, identity: NodeIdentity): NodeIdentity {
  writeOwnFile(join(deps.folder, identityName), `${JSON.stringify(identity)}\n`)
  rmSync(join(deps.folder, draftName), { force: true })
  deps.log.info('joined', { node: identity.node, name: identity.name, kind: identity.kind })
  return identity
}
