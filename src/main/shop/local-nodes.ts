import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import type { Chore } from '../../jobs/chores.ts'
import type { Services, Surroundings } from './services.ts'

/** A node that was not heard of for this long may have lost its secret, and finds a new key when it comes back. */
const silentMs = 60_000
/** A key that lies about is replaced well before it expires. */
const renewKeyMs = 12 * 3_600_000
const lookEveryMs = 20_000

const nameOf: Readonly<Record<NodeKind, string>> = { gateway: 'local-gateway', vpn: 'local' }

/** Where a node on this machine finds the key that it may join with. */
export const keyFile = (folder: string, kind: NodeKind): string => join(folder, 'join', `${kind}.key`)

/**
 * Lets nodes on this machine join by themselves: whoever may read the data folder finds a key there. A node that was heard of lately has joined
 * and needs none. An old secret stays good until a join with the new key replaces it.
 */
export async function admitLocalNodes(
  services: Pick<Services, 'db' | 'fleet'>,
  around: Pick<Surroundings, 'clock'>,
  folder: string,
  kinds: readonly NodeKind[],
): Promise<readonly Chore[]> {
  const { db, fleet } = services

  async function admit(kind: NodeKind, isStart: boolean): Promise<void> {
    const name = nameOf[kind]
    const node =
      (await fleet.findByName(name)) ?? (await db.transact((tx) => fleet.add(tx, { kind, name, location: 'local' })))
    // An operator has shut it out; it is not for this process to let it in again.
    if (node.state === 'closed') return
    const nowMs = around.clock()
    const isHeard = node.joinedAt !== null && node.lastSeenAt !== null && nowMs - node.lastSeenAt < silentMs
    if (isHeard) return
    const path = keyFile(folder, kind)
    const isGood = node.key !== null && node.key.usedAt === null && node.key.expiresAt - nowMs > renewKeyMs
    if (!isStart && isGood && existsSync(path)) return
    writeAlone(path, `${(await fleet.issueKey(name)).text}\n`)
  }

  for (const kind of kinds) await admit(kind, true)
  return kinds.map((kind) => ({
    name: `let the ${kind} of this machine join`,
    everyMs: lookEveryMs,
    work: () => admit(kind, false),
  }))
}

/** A reader finds the whole text or the one before, and nobody but the owner finds either. */
function writeAlone(path: string, text: string): void {
  const folder = join(path, '..')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}
