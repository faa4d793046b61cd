import type { Bytes } from '../../core/bytes.ts'
import type { OrderId, RandomBytes, SubuserId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { kopecks } from '../../core/money.ts'
import { type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Vault } from '../../core/vault.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Ports } from '../fleet/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Answer, Orders, PurchaseRequest } from '../orders/index.ts'
import type { Pricing } from '../pricing/index.ts'
import type { Stock } from '../stock/index.ts'
import type { Traffic } from '../traffic/index.ts'
import { createWhitelist } from './access/service.ts'
import { defaultStays, noSuchSubuser, sameSubuser } from './errors.ts'
import { createExits } from './exits/service.ts'
import { createGenerator, type Gateway } from './generate/service.ts'
import { createPremiumNodes } from './nodes.ts'
import type { PremiumTerms } from './rules.ts'
import type { Subuser } from './subusers/rules.ts'
import { createSubusers } from './subusers/service.ts'
import * as store from './subusers/store.ts'
import { createTrafficSales, product } from './traffic/service.ts'
import { hourOf } from './usage/rules.ts'
import { createUsageReport } from './usage/service.ts'
import { createIntake } from './usage/service-intake.ts'
import { carriersThrough } from './usage/store.ts'

export type Deleted = {
  readonly order: OrderId
  readonly subuser: Subuser
  readonly heir: Subuser
  readonly returned: readonly { readonly pool: string; readonly moved: Bytes }[]
}

const deletedAtOnce = 500
const mostCandidates = 1000

export type Premium = ReturnType<typeof createPremium>

/** Premium proxies, the shop's side of them. */
export function createPremium(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Vault
  gateway: Gateway
  terms: PremiumTerms
  ports: Ports
  ledger: Ledger
  customers: Customers
  orders: Orders
  pricing: Pricing
  traffic: Traffic
  stock: Pick<Stock, 'blockAround'>
}) {
  const { db } = deps
  const subusers = createSubusers(deps)
  const exits = createExits(deps)
  const intake = createIntake(deps)
  const traffic = createTrafficSales({ ...deps, subusers, exits })

  /** A sub-user that inherits must itself be there to use it; otherwise the customer's default one does. */
  async function findHeir(id: SubuserId, customer: Subuser['customer']): Promise<SubuserId> {
    const heir = await store.findSubuser(db, customer, id)
    return heir?.id ?? (await subusers.load(customer, undefined)).id
  }

  return {
    subusers,
    exits,
    traffic,
    whitelist: createWhitelist({ ...deps, subusers }),
    generate: createGenerator({ ...deps, subusers, exits }),
    usage: createUsageReport({ ...deps, subusers }),
    intake,
    nodes: createPremiumNodes({ ...deps, exits, intake }),

    /** Who may have left through an exit between two moments: whoever carried something in its pool in those hours. */
    mayHaveLeft: (of: { readonly exit: string; readonly from: number; readonly to: number; readonly host: string }) =>
      db.snapshot((reader) =>
        carriersThrough(reader, { ...of, from: hourOf(of.from), to: hourOf(of.to), most: mostCandidates }),
      ),

    /**
     * Deletes a sub-user and hands its traffic to another, the default one unless said. What a node holds at that
     * moment follows when the node gives it back. The login is not given out again.
     */
    remove: (
      request: PurchaseRequest<Deleted>,
      wish: { subuser: SubuserId; to: SubuserId | undefined },
    ): Promise<Answer> => {
      const asked = { subuser_id: wish.subuser, to_subuser_id: wish.to ?? null }
      return deps.orders.sell(request, { product, action: 'delete', wish: asked }, async (sale) => {
        const { tx, order } = sale
        const { customer } = request.by
        const heir = await subusers.resolve(tx, customer, wish.to)
        const { id } = await subusers.resolve(tx, customer, wish.subuser)
        if (id === heir.id) throw wish.to === undefined ? defaultStays() : sameSubuser()
        const subuser = await store.lockSubuser(tx, id)
        if (!subuser || subuser.deletedAt !== null) throw noSuchSubuser()
        if (subuser.isDefault) throw defaultStays()
        const returned = await traffic.inherit(tx, subuser.id, heir.id, order)
        await sale.charge({
          price: kopecks(0n),
          calculation: { bytes: Number(returned.reduce((sum, each) => sum + each.moved, 0n)) },
          note: `deleted sub-user ${subuser.login}`,
        })
        store.closeSubuser(tx, subuser.id, heir.id, order, sale.nowMs)
        return { order, subuser, heir, returned }
      })
    },

    /**
     * Hands on what nodes gave back to sub-users that were deleted meanwhile, and tells for how many there was
     * something.
     */
    async passOn(): Promise<number> {
      let passed = 0
      const all = keysetPages((after: string, limit) => store.listDeleted(db, after, limit), {
        start: '',
        size: deletedAtOnce,
        keyOf: (each) => each.id,
      })
      for await (const deleted of all) {
        const ids = deleted.map((each) => each.id)
        const free = (await deps.traffic.accounts.list(db, ids)).filter((account) => account.balance > 0n)
        const holding = new Set(free.map((account) => account.subuser))
        for (const { id, customer, heir, order } of deleted.filter((each) => holding.has(each.id))) {
          const to = await findHeir(heir, customer)
          await db.transact((tx) => traffic.inherit(tx, id, to, order))
        }
        passed += holding.size
      }
      return passed
    },
  }
}
