import { type AdminCaller, adminApi, createBindAdmin } from '../../api/admin/bind.ts'
import { adminCatalogueOperations } from '../../api/admin/catalogue/routes.ts'
import { adminCustomerOperations } from '../../api/admin/customers/routes.ts'
import { adminNodeOperations } from '../../api/admin/nodes/routes.ts'
import { adminOperatorOperations } from '../../api/admin/operators/routes.ts'
import { adminOverviewOperations } from '../../api/admin/overview/routes.ts'
import { adminCodeOperations, adminPaymentOperations } from '../../api/admin/payments/routes.ts'
import { adminPremiumOperations } from '../../api/admin/premium/routes.ts'
import { adminThingOperations } from '../../api/admin/proxies/routes.ts'
import { adminReportOperations } from '../../api/admin/reports/routes.ts'
import { adminStockOperations } from '../../api/admin/stock/routes.ts'
import type { Api } from '../../api/http.ts'
import type { Log } from '../../core/log.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import { createActions } from './actions.ts'
import type { Runtime, Services } from './services.ts'

/** The operators' API, on the same use cases as the operator's tool. */
export function createAdmin(
  services: Services,
  runtime: Runtime & { readonly stalls: Stalls },
  publicUrl: () => string,
  log: Log,
): Api<AdminCaller> {
  const { act, mustNote } = services.acting
  const bind = createBindAdmin(act)
  const deps = {
    ...createActions(services),
    ...runtime,
    act,
    mustNote,
    publicUrl,
    shopUrl: publicUrl,
    onFault: (fault: unknown) => log.error('verify failed', { fault }),
    onReconcileFault: (fault: unknown) => log.error('reconcile failed', { fault }),
  }
  return adminApi({
    ...services,
    publicUrl,
    bound: [
      ...adminOverviewOperations(bind, deps),
      ...adminCustomerOperations(bind, deps),
      ...adminPaymentOperations(bind, deps),
      ...adminCodeOperations(bind, deps),
      ...adminReportOperations(bind, deps),
      ...adminThingOperations(bind, deps),
      ...adminCatalogueOperations(bind, deps),
      ...adminStockOperations(bind, deps),
      ...adminNodeOperations(bind, deps),
      ...adminPremiumOperations(bind, deps),
      ...adminOperatorOperations(bind, deps),
    ],
  })
}
