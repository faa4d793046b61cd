import { operatorTable } from '../../api/operation-tables.ts' with { type: 'macro' }
import type { OperatorOperations } from '../../api/operation-tables.ts'

export type Operations = OperatorOperations

/** Written into the program by the build. */
export const operations = operatorTable()

type Answer<Name extends keyof Operations> = Operations[Name]['answer']
export type Customer = Answer<'getCustomer'>
export type Movement = Answer<'listMovements'>['items'][number]
export type Activity = Answer<'listActivity'>['items'][number]
export type AnyOrder = Answer<'listCustomerOrders'>['items'][number]
export type ListedOrder = Answer<'listAllOrders'>['items'][number]
export type AnyEvent = Answer<'listCustomerEvents'>['items'][number]
export type AnyPayment = Answer<'listAllPayments'>['items'][number]
export type PaymentNotice = Answer<'listUnmatched'>['items'][number]
export type Reconciliation = Answer<'getReconcile'>
export type PaymentProvider = Answer<'listProviders'>['items'][number]
export type Code = Answer<'listCodes'>['items'][number]
export type Subscription = Answer<'showVpn'>
export type Node = Answer<'listNodes'>['items'][number]
export type Exit = Answer<'listExits'>['items'][number]
export type Operator = Answer<'listOperators'>['items'][number]
export type AlertEndpoint = Answer<'listAlertEndpoints'>['webhooks'][number]
export type AlertDelivery = Answer<'listAlertDeliveries'>['deliveries'][number]
export type Mailing = Answer<'listMailings'>['items'][number]
export type NoticeTemplate = Answer<'listNoticeTemplates'>['items'][number]
export type AuditEntry = Answer<'listAuditLog'>['items'][number]
export type Verification = Answer<'getVerify'>
