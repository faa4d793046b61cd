import type { Database, Reader } from '../../db/transaction.ts'
import { type Address, formatAddress, formatPrefix, type Prefix } from '../../kernel/address.ts'
import type { Finding } from '../../kernel/finding.ts'
import type { Clock } from '../../kernel/time.ts'
import { noSuchAddress } from './errors.ts'
import * as store from './store-operator.ts'

const mostShown = 100

export type StockDesk = ReturnType<typeof createStockDesk>

/** What an operator does with stock: look, count, take out, put back. */
export function createStockDesk(deps: { db: Database; clock: Clock }) {
  const { db, clock } = deps

  async function change(address: Address, work: (text: string) => Promise<number>): Promise<number> {
    const count = await work(formatAddress(address))
    if (count === 0) throw noSuchAddress()
    return count
  }

  return {
    list: (filter: Parameters<typeof store.listPlaces>[1]) => store.listPlaces(db, filter),
    counts: () => store.countByState(db),
    retire: (address: Address) => change(address, (text) => db.transact((tx) => store.retire(tx, text))),
    restore: (address: Address) => change(address, (text) => db.transact((tx) => store.restore(tx, text))),
    quarantine: (address: Address, days: number) =>
      change(address, (text) => db.transact((tx) => store.quarantine(tx, text, clock() + days * 86_400_000))),

    async retirePrefix(prefix: Prefix): Promise<void> {
      if (!(await db.transact((tx) => store.retirePrefix(tx, formatPrefix(prefix), clock())))) throw noSuchAddress()
    },

    async restorePrefix(prefix: Prefix): Promise<void> {
      if (!(await db.transact((tx) => store.restorePrefix(tx, formatPrefix(prefix))))) throw noSuchAddress()
    },

    /** Every promise about places and leases, and each open lease, for whoever knows the proxies. */
    async verify(
      reader: Reader,
      onLease: (lease: Awaited<ReturnType<typeof store.openLeasesAfter>>[number]) => Finding | undefined,
    ): Promise<{ findings: Finding[]; places: number; leases: number }> {
      const findings: Finding[] = []
      for (const each of await store.disagreements(reader, mostShown)) {
        findings.push({
          promise: 'lease',
          where: `place ${each.place}`,
          problem: each.state === 'leased' ? 'it is leased to nobody' : `it is ${each.state} and has an open lease`,
        })
      }
      for (const place of await store.overlaps(reader, mostShown)) {
        findings.push({
          promise: 'lease',
          where: `place ${place}`,
          problem: 'it was leased to two at once, or is no place',
        })
      }
      for (const address of await store.mixedAddresses(reader, mostShown)) {
        findings.push({ promise: 'stock', where: `address ${address}`, problem: 'it is in stock as two kinds' })
      }
      let leases = 0
      for (let after = -1; ; ) {
        const page = await store.openLeasesAfter(reader, after, 500)
        for (const lease of page) {
          leases += 1
          const finding = onLease(lease)
          if (finding) findings.push(finding)
        }
        const last = page.at(-1)
        if (!last || page.length < 500) break
        after = last.place
      }
      const places = (await store.countByState(reader)).reduce((sum, each) => sum + each.count, 0)
      return { findings, places, leases }
    },
  }
}
