import type { CustomerId, RandomBytes } from '../../core/ids.ts'
import { malformed } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { PortRoom, Ports } from '../fleet/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { tooManySources } from './errors.ts'
import {
  makePassword,
  mostSources,
  newPasswordBytes,
  type Proxy,
  readSource,
  vaultContext,
  withSource,
} from './rules.ts'
import * as store from './store.ts'

/** Who may use a proxy: who knows its password, and who comes from where its customer said. */
export function createProxyAccess(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  ledger: Pick<Ledger, 'lock'>
  customers: Pick<Customers, 'mode'>
  ports: Ports
  vault: Vault
  sha256: (text: string) => Uint8Array
  /** The customer's proxies with these numbers, locked, or a refusal. */
  lockAll: (tx: Tx, customer: CustomerId, ids: readonly number[]) => Promise<readonly Proxy[]>
}) {
  const { db, clock, ports } = deps

  async function read(text: string): Promise<string> {
    const entry = readSource(text, (await deps.customers.mode()) === 'sandbox')
    if ('problem' in entry) throw malformed([entry.problem])
    return entry.source
  }

  /** A port for each proxy that has none. The limit is the customer's, so it is in the customer's turn. */
  async function takePorts(tx: Tx, customer: CustomerId, count: number, room: PortRoom): Promise<number[]> {
    if (count === 0) return []
    return ports.take(tx, count, await store.countEntryPorts(tx, customer), room)
  }

  return {
    /** Lets an address enter these proxies without a password. Adding what is there already changes nothing. */
    async allow(customer: CustomerId, ids: readonly number[], text: string): Promise<readonly Proxy[]> {
      const [source, room] = await Promise.all([read(text), ports.room()])
      return db.transact(async (tx) => {
        await deps.ledger.lock(tx, customer)
        const proxies = await deps.lockAll(tx, customer, ids)
        const full = proxies.filter((proxy) => withSource(proxy.sources, source) === 'too many')
        if (full.length > 0)
          throw tooManySources(
            mostSources,
            full.map((proxy) => proxy.id),
          )
        const fresh = await takePorts(tx, customer, proxies.filter((proxy) => proxy.entryPort === null).length, room)
        return proxies.map((proxy) => {
          const sources = withSource(proxy.sources, source)
          if (sources === proxy.sources || sources === 'too many') return proxy
          const open = { ...proxy, sources, entryPort: proxy.entryPort ?? fresh.pop() ?? null }
          store.setEntrance(tx, open, clock())
          return open
        })
      })
    },

    /**
     * It needs the password again. The port stays the proxy's for as long as there is the proxy: given back and taken
     * again, ports would soon all be at rest.
     */
    async disallow(customer: CustomerId, ids: readonly number[], text: string): Promise<readonly Proxy[]> {
      const source = await read(text)
      return db.transact(async (tx) => {
        const proxies = await deps.lockAll(tx, customer, ids)
        return proxies.map((proxy) => {
          if (!proxy.sources.includes(source)) return proxy
          const left = { ...proxy, sources: proxy.sources.filter((each) => each !== source) }
          store.setEntrance(tx, left, clock())
          return left
        })
      })
    },

    /** A new password for each. Whoever is in by the old one is cut off; whoever came by address stays. */
    resetPasswords: (customer: CustomerId, ids: readonly number[]): Promise<readonly Proxy[]> =>
      db.transact(async (tx) => {
        const proxies = await deps.lockAll(tx, customer, ids)
        return proxies.map((proxy) => {
          const password = makePassword(deps.random(newPasswordBytes))
          const renewed = {
            ...proxy,
            sealedPassword: deps.vault.seal(password, vaultContext(proxy.id)),
            passwordDigest: deps.sha256(password),
          }
          store.setPassword(tx, renewed, clock())
          return renewed
        })
      }),
  }
}

/** What is gone lets nobody in, and its port rests. */
export function closeEntrances(tx: Tx, ports: Ports, proxies: readonly Proxy[], nowMs: number): void {
  const entered = proxies.filter((proxy) => proxy.entryPort !== null)
  ports.free(
    tx,
    entered.flatMap((proxy) => proxy.entryPort ?? []),
  )
  for (const { id } of entered) store.setEntrance(tx, { id, sources: [], entryPort: null }, nowMs)
}
