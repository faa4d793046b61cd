import { customerTable } from '../../api/operation-tables.ts' with { type: 'macro' }
import type { CustomerOperations } from '../../api/operation-tables.ts'

export type Operations = CustomerOperations

/** Written into the program by the build. */
export const operations = customerTable()

type Answer<Name extends keyof Operations> = Operations[Name]['answer']
export type Transaction = Answer<'listTransactions'>['transactions'][number]
export type PaymentMethod = Answer<'listPaymentMethods'>['items'][number]
export type Payment = Answer<'getPayment'>
export type Proxy = Answer<'listDedicated'>['proxies'][number]
export type Subuser = Answer<'listSubusers'>['subusers'][number]
export type VpnDevice = Answer<'getVpn'>['devices'][number]
export type VpnSubscription = Answer<'getVpn'>['items'][number]
export type Order = Answer<'listOrders'>['orders'][number]
export type OrderDetails = Answer<'getOrder'>
export type Event = Answer<'listEvents'>['events'][number]
export type Webhook = Answer<'listWebhooks'>['webhooks'][number]
export type WebhookDelivery = Answer<'listDeliveries'>['deliveries'][number]
export type Token = Answer<'listTokens'>['tokens'][number]
