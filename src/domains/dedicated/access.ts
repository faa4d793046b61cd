import type { CustomerId } from '../../core/ids.ts'
import { malformed } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import { tooManySources } from './errors.ts'
import { type DedicatedDeps, lockAll, openAll } from './proxies.ts'
import {
  makePassword,
  maxSources,
  newPasswordBytes,
  type Proxy,
  readSource,
  vaultContext,
  withSource,
} from './rules.ts'
import * as store from './store.ts'

async function loadSource(deps: DedicatedDeps, text: string): Promise<string> {
  const entry = readSource(text, (await deps.customers.mode()) === 'sandbox')
  if ('problem' in entry) throw malformed([entry.problem])
  return entry.source
}

/** Lets a source address use these proxies without a password. Adding a known address changes nothing. */
export async function allowSource(deps: DedicatedDeps, customer: CustomerId, ids: readonly number[], text: string) {
  const [source, room] = await Promise.all([loadSource(deps, text), deps.ports.room()])
  const allowed = await deps.db.transact(async (tx) => {
    // The limit on ports is per customer, so the account is locked.
    await deps.ledger.lock(tx, customer)
    const proxies = await lockAll(deps, tx, customer, ids)
    const full = proxies.filter((proxy) => withSource(proxy.sources, source) === 'too many').map((proxy) => proxy.id)
    if (full.length > 0) throw tooManySources(maxSources, full)
    const missing = proxies.filter((proxy) => proxy.entryPort === null).length
    const taken = missing === 0 ? 0 : await store.countEntryPorts(tx, customer)
    const fresh = missing === 0 ? [] : await deps.ports.take(tx, missing, taken, room)
    return proxies.map((proxy) => {
      const sources = withSource(proxy.sources, source)
      if (sources === proxy.sources || sources === 'too many') return proxy
      const open = { ...proxy, sources, entryPort: proxy.entryPort ?? fresh.pop() ?? null }
      store.setEntrance(tx, open, deps.clock())
      return open
    })
  })
  return openAll(deps, allowed)
}

/** Removes a source address. The proxy keeps its port until it is gone, because a freed port rests before reuse. */
export async function disallowSource(deps: DedicatedDeps, customer: CustomerId, ids: readonly number[], text: string) {
  const source = await loadSource(deps, text)
  const left = await deps.db.transact(async (tx) =>
    (await lockAll(deps, tx, customer, ids)).map((proxy) => {
      if (!proxy.sources.includes(source)) return proxy
      const closed = { ...proxy, sources: proxy.sources.filter((each) => each !== source) }
      store.setEntrance(tx, closed, deps.clock())
      return closed
    }),
  )
  return openAll(deps, left)
}

function makeSealed({ random, vault, sha256 }: DedicatedDeps, id: number) {
  const password = makePassword(random(newPasswordBytes))
  return { sealedPassword: vault.seal(password, vaultContext(id)), passwordDigest: sha256(password) }
}

/** Sets a new password for each proxy. Gateways close tunnels opened with the old one; sources are not affected. */
export async function resetPasswords(deps: DedicatedDeps, customer: CustomerId, ids: readonly number[]) {
  // Before the transaction: sealing a thousand passwords would hold SQLite's writer for twice as long.
  const fresh = new Map(ids.map((id) => [id, makeSealed(deps, id)]))
  const renewed = await deps.db.transact(async (tx) =>
    (await lockAll(deps, tx, customer, ids)).map((proxy) => {
      const changed = { ...proxy, ...fresh.get(proxy.id) }
      store.setPassword(tx, changed, deps.clock())
      return changed
    }),
  )
  return openAll(deps, renewed)
}

/** Clears the sources of ended proxies and frees their ports, which rest. */
export function closeEntrances({ ports }: DedicatedDeps, tx: Tx, proxies: readonly Proxy[], nowMs: number): void {
  const entered = proxies.filter((proxy) => proxy.entryPort !== null)
  ports.free(
    tx,
    entered.flatMap((proxy) => proxy.entryPort ?? []),
  )
  for (const { id } of entered) store.setEntrance(tx, { id, sources: [], entryPort: null }, nowMs)
}
