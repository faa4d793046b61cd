import * as activity from './admin/activity/shapes.ts'
import * as alerts from './admin/alerts/shapes.ts'
import * as brand from './admin/brand/shapes.ts'
import * as catalogue from './admin/catalogue/shapes.ts'
import * as customers from './admin/customers/shapes.ts'
import * as mailings from './admin/mailings/shapes.ts'
import * as nodes from './admin/nodes/shapes.ts'
import * as noticeTemplates from './admin/notices/shapes.ts'
import * as operators from './admin/operators/shapes.ts'
import * as anyOrders from './admin/orders/shapes.ts'
import * as overview from './admin/overview/shapes.ts'
import * as anyPayments from './admin/payments/shapes.ts'
import * as anyPremium from './admin/premium/shapes.ts'
import * as anyProxies from './admin/proxies/shapes.ts'
import * as reports from './admin/reports/shapes.ts'
import * as search from './admin/search/shapes.ts'
import * as stock from './admin/stock/shapes.ts'
import * as signIn from './auth/shapes.ts'
import * as account from './customer/account/shapes.ts'
import * as catalogueForAll from './customer/catalogue/shapes.ts'
import * as changelog from './customer/changelog/shapes.ts'
import * as dedicated from './customer/dedicated/shapes.ts'
import * as events from './customer/events/shapes.ts'
import * as metadata from './customer/metadata/shapes.ts'
import * as notices from './customer/notices/shapes.ts'
import * as payments from './customer/payments/shapes.ts'
import * as premium from './customer/premium/shapes.ts'
import * as premiumAccess from './customer/premium/shapes-access.ts'
import * as referral from './customer/referral.ts'
import * as tokens from './customer/tokens/shapes.ts'
import * as vpn from './customer/vpn/shapes.ts'
import * as webhooks from './customer/webhooks/shapes.ts'
import { type Operation, takesKey, type z } from './operation.ts'

/**
 * The operations of each API as the console calls them. The console's build runs these functions (as macros of Bun) and
 * keeps their results: no schema reaches a browser. The types come from the same modules.
 */

const customerShapes = {
  catalogueForAll,
  changelog,
  account,
  dedicated,
  events,
  metadata,
  notices,
  payments,
  premium,
  premiumAccess,
  referral,
  tokens,
  vpn,
  webhooks,
}
const operatorShapes = {
  activity,
  alerts,
  brand,
  catalogue,
  customers,
  mailings,
  nodes,
  noticeTemplates,
  operators,
  overview,
  anyOrders,
  anyPayments,
  anyPremium,
  anyProxies,
  reports,
  search,
  stock,
}

type SignInShapes = typeof signIn & ReturnType<typeof signIn.createSignInShapes>

/**
 * Fields as a program sends them: as the schema reads them, or as it makes them. Numbers are read as text, and amounts
 * become kopecks.
 */
type Sent<Input, Output> = {
  [Name in keyof Input]: Input[Name] | (Name extends keyof Output ? Sendable<Output[Name]> : never)
}
type Sendable<Made> = Made extends bigint ? number : Made extends `${infer Digits extends number}` ? Digits : Made

/** The operations among the values of a module, by id. */
type InModule<Module> = {
  [Name in keyof Module as Module[Name] extends { readonly id: infer Id extends string; readonly answer: z.ZodType }
    ? Id
    : never]: Module[Name] extends Operation<infer Params, infer Query, infer Body, infer Answer>
    ? {
        params: z.input<Params>
        query: Sent<z.input<Query>, z.output<Query>>
        body: Sent<z.input<Body>, z.output<Body>>
        answer: z.output<Answer>
      }
    : never
}

type Merged<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never
type InModules<Modules> = Merged<{ [Name in keyof Modules]: InModule<Modules[Name]> }[keyof Modules]>

export type CustomerOperations = InModules<typeof customerShapes>
export type OperatorOperations = InModules<typeof operatorShapes>
export type SignInOperations = InModule<SignInShapes>

/** Method, path, `keyed` if it takes an idempotency key, and in the admin API the lowest role that may call it. */
export type OperationRow = readonly [method: string, path: string, ...rest: readonly string[]]

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'id' in value && 'path' in value && 'method' in value

const operationsIn = (modules: readonly object[]): Operation[] =>
  modules.flatMap((module) => Object.values(module).filter(isOperation))

/** The operations of the customer API, for the generator of its clients. */
export const customerOperations = (): Operation[] => operationsIn(Object.values(customerShapes))

function toTable(modules: readonly object[], hasRoles: boolean): Record<string, OperationRow> {
  return Object.fromEntries(
    operationsIn(modules).map((each): [string, OperationRow] => [
      each.id,
      [each.method, each.path, ...(takesKey(each) ? ['keyed'] : []), ...(hasRoles ? [each.role] : [])],
    ]),
  )
}

export const customerTable = () => toTable(Object.values(customerShapes), false)
export const operatorTable = () => toTable(Object.values(operatorShapes), true)
export const signInTable = () =>
  toTable([signIn, signIn.createSignInShapes('customer'), signIn.createSignInShapes('operator')], false)
