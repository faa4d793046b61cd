import type { Verifier } from '../../core/finding.ts'
import type { CustomerId, OperatorTokenId } from '../../core/ids.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Customers } from '../../domains/customers/index.ts'
import type { Outages, ProxyOperator, RangeOperator } from '../../domains/dedicated/index.ts'
import type { Events } from '../../domains/events/index.ts'
import type { createForgetting, Fleet, NewNode } from '../../domains/fleet/index.ts'
import type { Node } from '../../domains/fleet/rules.ts'
import type { Adjustment, Ledger, LedgerAudit, LedgerReports } from '../../domains/ledger/index.ts'
import type { Posting } from '../../domains/ledger/rules.ts'
import type { Acting, Operators } from '../../domains/operators/index.ts'
import type { Operator, Role } from '../../domains/operators/rules.ts'
import type { Orders, Refunds, Stories } from '../../domains/orders/index.ts'
import type * as payments from '../../domains/payments/index.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { PriceEffect, Pricing } from '../../domains/pricing/index.ts'
import type { AddressQuestion, Erasing, Exporting, Holders } from '../../domains/privacy/index.ts'
import type { Identities, Registration, SignIn } from '../../domains/signin/index.ts'
import type { Stock, StockOperator } from '../../domains/stock/index.ts'
import type { Traffic } from '../../domains/traffic/index.ts'
import type { Vpn } from '../../domains/vpn/index.ts'
import type { Act } from './bind.ts'

/** An operator, and the link that signs the operator in once. */
export type Invited = { readonly operator: Operator; readonly text: string; readonly expiresAt: number }

/** The domains and actions that the operators' operations use. */
export type AdminDeps = {
  readonly customers: Customers
  readonly identities: Identities
  readonly signIn: SignIn
  readonly registration: Pick<Registration, 'invite'>
  readonly operators: Operators
  readonly ledger: Ledger
  readonly ledgerAudit: LedgerAudit
  readonly ledgerReports: LedgerReports
  readonly orders: Orders
  readonly refunds: Refunds
  readonly storyOf: Stories
  readonly events: Events
  readonly pricing: Pricing
  readonly payments: payments.Payments
  readonly paymentOperator: payments.PaymentOperator
  readonly paymentReports: payments.PaymentReports
  readonly providers: payments.Providers
  readonly codes: payments.PromoCodes
  readonly referrals: payments.Referrals
  readonly proxyOperator: ProxyOperator
  readonly rangeOperator: RangeOperator
  readonly outages: Outages
  readonly premium: Premium
  readonly vpn: Vpn
  readonly stock: Stock
  readonly stockOperator: StockOperator
  readonly fleet: Fleet
  readonly traffic: Traffic
  readonly exporting: Exporting
  readonly erasing: Erasing
  readonly verifiers: readonly Verifier[]
  readonly setBlocked: (id: CustomerId, blocked: boolean) => Promise<void>
  readonly adjust: (id: CustomerId, input: Adjustment) => Promise<{ posting: Posting; isRepeat: boolean }>
  readonly applyCatalogue: (value: unknown) => Promise<number>
  readonly effectsOf: (value: unknown) => Promise<PriceEffect[]>
  readonly addNode: (input: NewNode) => Promise<Node>
  readonly forgetUsage: ReturnType<typeof createForgetting>
  readonly findHolders: (action: Acting['action'], question: AddressQuestion) => Promise<Holders>
  readonly addOperator: (name: string, role: Role) => Promise<Invited>
  readonly inviteOperator: (name: string) => Promise<Invited>
  readonly setOperatorRole: (name: string, role: Role) => Promise<Operator>
  readonly revokeOperatorToken: (id: OperatorTokenId) => Promise<void>
  readonly removeOperator: (name: string) => Promise<Operator>
  readonly keepCheckpoint: (checkpoint: { number: number; hash: string; madeAt: string }) => Promise<void>
  readonly act: Act
  /** Writes an entry of the audit log for a read. */
  readonly mustNote: (action: Acting['action']) => Promise<void>
  readonly onFault: (fault: unknown) => void
  readonly onReconcileFault: (fault: unknown) => void
  readonly publicUrl: () => string
  readonly shopUrl: () => string
  readonly clock: Clock
  readonly stalls: Stalls
}
