import type { Customer } from './customer.ts'
import type { Carried } from './gateway.ts'
import { readCounted } from './invariants.ts'
import type { Store } from './store.ts'
import { BrokenPromise, type World } from './world.ts'

/** A change that is this old has a mark of the history after it, if its shop runs: marks are a second apart. */
const markedMs = 1_800

/**
 * A database that goes back to an earlier copy of itself: a restored file, or a failover to a server that lags. It
 * loses answered changes. `docs/operate/incidents.md` says what holds then.
 */
export class Rewinds {
  private hasCopy = false
  private hasGoneBack = false
  private readonly lostProxies = new Set<number>()
  private mustBeNoted = false

  constructor(
    private readonly world: World,
    private readonly store: Store,
    private readonly customers: readonly Customer[],
    private readonly carried: Carried,
    /** Nothing else keeps shops from writing marks. */
    private readonly isCalm: boolean,
  ) {}

  async copy(): Promise<void> {
    if (this.hasCopy) return
    this.hasCopy = true
    await this.store.copy()
    this.world.note('the database is copied')
  }

  /** Returns false without a copy. */
  async goBack(): Promise<boolean> {
    if (!this.hasCopy) return false
    this.hasCopy = false
    this.hasGoneBack = true
    const before = await readCounted(this.store.reader)
    await this.store.goBack()
    this.world.note('the database goes back to its copy')
    const after = await readCounted(this.store.reader)
    for (const [key, bytes] of before) this.carried.noteLost(key, bytes - (after.get(key) ?? 0))
    for (const customer of this.customers) await this.forget(customer)
    return true
  }

  /** Programs do not insist on what was lost. The answer to a request that is on its way may be of the lost time. */
  private async forget(customer: Customer): Promise<void> {
    const { reader } = this.store
    const keys = await reader.all<{ key: string }>('SELECT key FROM answers WHERE customer_id = $1', [customer.id])
    for (const purchase of customer.purchases.values()) {
      if (keys.some(({ key }) => key === purchase.key)) continue
      if (purchase.answer === undefined && purchase.waiting === 0) continue
      const { answeredAtMs = this.world.nowMs, path } = purchase
      const isMarked = this.world.nowMs - answeredAtMs > markedMs
      // A purchase that charges is in the state of nodes or in the books; marks follow both.
      if (this.isCalm && isMarked && path !== '/payments') this.mustBeNoted = true
      purchase.isLost = true
      customer.purchases.delete(purchase.key)
    }
    const orders = await reader.all<{ id: string }>('SELECT id FROM orders WHERE customer_id = $1', [customer.id])
    const known = new Set(orders.map(({ id }) => id))
    customer.orders.splice(0, customer.orders.length, ...customer.orders.filter((id) => known.has(id)))
    const proxies = await reader.all<{ id: bigint }>('SELECT id FROM proxies WHERE customer_id = $1', [customer.id])
    const held = new Set(proxies.map(({ id }) => Number(id)))
    for (const id of customer.proxies) if (!held.has(id)) this.lostProxies.add(id)
  }

  /** No mark shows the lost changes, because they are younger than a second. */
  async isUnnoted(): Promise<boolean> {
    return this.hasGoneBack && (await this.store.reader.first('SELECT life FROM rewinds LIMIT 1')) === undefined
  }

  /** At the end. */
  async check(): Promise<void> {
    const isUnnoted = await this.isUnnoted()
    if (this.hasGoneBack) this.world.note(`a shop has ${isUnnoted ? 'not ' : ''}noticed that the database went back`)
    if (this.mustBeNoted && isUnnoted)
      throw new BrokenPromise('a database that goes back behind a marked purchase is noticed: not so')
    const { reader } = this.store
    for (const { id } of await reader.all<{ id: bigint }>('SELECT id FROM proxies')) {
      if (this.lostProxies.has(Number(id)))
        throw new BrokenPromise(`no id of a lost proxy is given out again: not so for ${id}`)
    }
  }
}
