import { bind } from '../../core/bind.ts'
import { salesByDay, sumBetween, sumDays } from './days.ts'
import {
  chargedSince,
  findByKey,
  findByRequest,
  findOwned,
  list,
  listAll,
  listNamed,
  listWithMetadata,
  load,
  loadAny,
  pageAfter,
  walk,
} from './list.ts'
import { giveBackUnused, quoteUnused, refund } from './refund.ts'
import type { OrderInput } from './rules.ts'
import { forgetAnswers, type OrdersDeps, type PurchaseRequest, type Sale, sell } from './sell.ts'
import { countOf, findAnyOrder, findAudited, findByPrefix, findMany, newest } from './store.ts'

export { createMoneyVerifier } from './audit.ts'
export { type Creation, createCreations } from './creations.ts'
export { createDaysVerifier } from './days.ts'
export { createDeliveries, createStories, type Delivered, type Deliveries, type Stories } from './list.ts'
export {
  type ActionAnswer,
  createOnce,
  createRefunds,
  type Ending,
  type Once,
  type RefundPart,
  type Refunds,
  type Replayed,
} from './refund.ts'
export type { PurchaseAnswer, PurchaseRequest, Receipt, Sale } from './sell.ts'

export type Orders = ReturnType<typeof createOrders>

export function createOrders(given: Omit<OrdersDeps, 'running'>) {
  const deps: OrdersDeps = { ...given, running: new Set() }
  return {
    ...bind(deps, {
      forgetAnswers,
      list,
      listAll,
      listNamed,
      listWithMetadata,
      load,
      loadAny,
      findByKey,
      findByRequest,
      findOwned,
      salesByDay,
      sumBetween,
      sumDays,
      chargedSince,
      giveBackUnused,
      quoteUnused,
      refund,
    }),
    ...bind(given.db, { findByPrefix, newest }),
    sell: <Bought>(request: PurchaseRequest<Bought>, what: OrderInput, make: (sale: Sale) => Promise<Bought>) =>
      sell(deps, request, what, make),
    /** Any customer's orders, in the caller's transaction; an unknown id is left out. */
    find: findAnyOrder,
    findMany,
    /** For `verify`: an order whose JSON is damaged is returned too, with null in its place. */
    findAudited,
    pageAfter,
    walk,
    countOf,
  }
}
