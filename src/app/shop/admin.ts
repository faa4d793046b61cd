import { probeProxy } from '../../adapters/proxy-probe.ts'
import { adminActivityOperations, type Following } from '../../api/admin/activity/routes.ts'
import { adminAlertOperations } from '../../api/admin/alerts/routes.ts'
import { type AdminCaller, adminApi, createBindAdmin } from '../../api/admin/bind.ts'
import { adminBrandOperations } from '../../api/admin/brand/routes.ts'
import { adminCatalogueOperations } from '../../api/admin/catalogue/routes.ts'
import { adminCustomerOperations } from '../../api/admin/customers/routes.ts'
import { adminMailingOperations } from '../../api/admin/mailings/routes.ts'
import { adminNodeOperations } from '../../api/admin/nodes/routes.ts'
import { adminNoticeOperations } from '../../api/admin/notices/routes.ts'
import { adminOperatorOperations } from '../../api/admin/operators/routes.ts'
import { adminOrderOperations } from '../../api/admin/orders/routes.ts'
import { adminOverviewOperations } from '../../api/admin/overview/routes.ts'
import { adminCodeOperations, adminPaymentOperations } from '../../api/admin/payments/routes.ts'
import { adminPremiumOperations } from '../../api/admin/premium/routes.ts'
import { adminThingOperations } from '../../api/admin/proxies/routes.ts'
import { adminReportOperations } from '../../api/admin/reports/routes.ts'
import { adminSearchOperations } from '../../api/admin/search/routes.ts'
import { adminStockOperations } from '../../api/admin/stock/routes.ts'
import type { Api } from '../../api/api.ts'
import { createProxyCheck } from '../../api/customer/dedicated/routes.ts'
import { formatAddress, readPrefix } from '../../core/address.ts'
import type { OperatorTokenId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Tx } from '../../db/transaction.ts'
import type { NewNode } from '../../domains/fleet/index.ts'
import type { Action, Operator, Role } from '../../domains/operators/rules.ts'
import type { AddressQuestion, Holders } from '../../domains/privacy/index.ts'
import type { Runtime, Services } from './services.ts'
import { createVerifyProgress } from './verify-progress.ts'

export const proxyCheckOf = ({ dedicated, config: { gateway } }: Services) =>
  createProxyCheck({ dedicated, gateway, probe: probeProxy })

/** What only a shop that serves has: a command has neither requests that wait nor a certificate. */
type ServingShop = {
  readonly following?: Following
  readonly certificateEndsAt?: () => number | undefined
}

export function createAdmin(
  services: Services,
  runtime: Runtime & { readonly stalls: Stalls },
  publicUrl: () => string,
  log: Log,
  { following, certificateEndsAt }: ServingShop = {},
): Api<AdminCaller> {
  const { act, actWhole, dryRun, mustNote } = services.acting
  const bind = createBindAdmin(act, (creation, make) => actWhole((tx) => services.creations(tx, creation, make)))
  const deps = {
    ...createActions(services),
    ...runtime,
    act,
    dryRunIf: <Result>(isDryRun: boolean, work: () => Promise<Result>) => (isDryRun ? dryRun(work) : work()),
    mustNote,
    checkProxy: proxyCheckOf(services),
    publicUrl,
    certificateEndsAt: certificateEndsAt ?? (() => undefined),
    onFault: (fault: unknown) => log.error('verify failed', { fault }),
    isBlockedByVerify: services.db.engine === 'sqlite',
    verifyProgress: createVerifyProgress(services.config.verifyFile),
    onReconcileFault: (fault: unknown) => log.error('reconcile failed', { fault }),
  }
  return adminApi({
    ...services,
    publicUrl,
    bound: [
      ...adminOverviewOperations(bind, deps),
      ...adminActivityOperations(bind, deps, following),
      ...adminSearchOperations(bind, deps),
      ...adminCustomerOperations(bind, deps),
      ...adminOrderOperations(bind, deps),
      ...adminPaymentOperations(bind, deps),
      ...adminCodeOperations(bind, deps),
      ...adminReportOperations(bind, deps),
      ...adminThingOperations(bind, deps),
      ...adminCatalogueOperations(bind, deps),
      ...adminStockOperations(bind, deps),
      ...adminNodeOperations(bind, deps),
      ...adminPremiumOperations(bind, deps),
      ...adminOperatorOperations(bind, deps),
      ...adminAlertOperations(bind, deps),
      ...adminMailingOperations(bind, deps),
      ...adminNoticeOperations(bind, deps),
      ...adminBrandOperations(bind, deps),
    ],
  })
}

/** The services, and operator actions that are a transaction over several domains. */
export function createActions(services: Services) {
  const { db, fleet, pricing, operators, signIn, identities, acting, proxyOperator, premium, vpn } = services
  const linkFor = (operator: Operator) => ({ kind: 'operator', owner: operator.id, purpose: 'enter' }) as const
  /** Changes an operator's access, then drops the cached operators and sessions. */
  async function changeAccess<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const result = await db.transact(work)
    operators.forget()
    signIn.forget()
    return result
  }
  return {
    ...services,
    stock: stockWithin(services),
    adjust: services.paymentOperator.adjust,
    addNode: (input: NewNode) => db.transact((tx) => fleet.add(tx, input)),
    applyCatalogue: (value: unknown) => db.transact((tx) => pricing.applyShown(tx, value)),

    /** Customers who had an address between two instants. The audit log gets the question before it is answered. */
    async findHolders(action: Action, query: AddressQuestion): Promise<Holders> {
      await acting.mustNote(action)
      const { address, from, to } = query
      const exit = formatAddress(address)
      const [proxies, devices, isExit] = await Promise.all([
        proxyOperator.holdersOf(address, from, to),
        vpn.holdersOf(address, from, to),
        premium.exits.isLocal(exit),
      ])
      const candidates = isExit ? await premium.mayHaveLeft({ exit, from, to, host: query.host }) : []
      return { proxies, devices, isExit, candidates }
    },

    /** What a price list would change for current holders of every product. */
    async effectsOf(value: unknown) {
      const held = await Promise.all([proxyOperator.held(), premium.traffic.held(), vpn.held()])
      return pricing.effectsOf(value, held.flat())
    },

    addOperator: (name: string, role: Role) =>
      db.transact(async (tx) => {
        const operator = await operators.add(tx, name, role)
        return { operator, ...signIn.issueLink(tx, linkFor(operator)) }
      }),

    inviteOperator: async (name: string) => {
      const operator = await operators.load(name)
      return db.transact(async (tx) => ({ operator, ...signIn.issueLink(tx, linkFor(operator)) }))
    },

    /** Changes an operator's role. Ends views of customers' pages: they were opened with the former role. */
    setOperatorRole: (name: string, role: Role) =>
      changeAccess(async (tx) => {
        const operator = await operators.setRole(tx, name, role)
        await signIn.endViews(tx, operator.id)
        return operator
      }),

    /** Revokes an operator's token. Ends views of customers' pages: they may have been opened with it. */
    revokeOperatorToken: (id: OperatorTokenId): Promise<void> =>
      changeAccess(async (tx) => signIn.endViews(tx, await operators.revokeToken(tx, id))),

    removeOperator: (name: string) =>
      changeAccess(async (tx) => {
        const operator = await operators.remove(tx, name)
        await identities.remove(tx, { kind: 'operator', id: operator.id })
        return operator
      }),
  }
}

/** The stock, restricted to addresses that customers could use. */
const stockWithin = ({ stock, reach }: Services): Services['stock'] => ({
  ...stock,
  async add(prefix, ...rest) {
    await reach.assertSellable(prefix)
    return stock.add(prefix, ...rest)
  },
  async addAddresses(addresses, ...rest) {
    const all = [...addresses]
    for (const text of all) {
      const prefix = readPrefix(text)
      if (prefix) await reach.assertSellable(prefix)
    }
    return stock.addAddresses(all, ...rest)
  },
})
