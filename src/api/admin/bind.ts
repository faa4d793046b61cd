import type { Verifier } from '../../core/finding.ts'
import type { CustomerId, OperatorTokenId } from '../../core/ids.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { VerifyProgress } from '../../core/verify-parts.ts'
import type { Alerts } from '../../domains/alerts/index.ts'
import type { Brands } from '../../domains/brand/index.ts'
import type { Customers } from '../../domains/customers/index.ts'
import { type Customer, registeredName } from '../../domains/customers/rules.ts'
import type { Outages, ProxyOperator, RangeOperator } from '../../domains/dedicated/index.ts'
import type { Events } from '../../domains/events/index.ts'
import type {
  createEndpointChange,
  createExitChange,
  createForgetting,
  createRemoval,
  Fleet,
  NewNode,
} from '../../domains/fleet/index.ts'
import type { Node } from '../../domains/fleet/rules.ts'
import type { Ledger, LedgerAudit, LedgerReports } from '../../domains/ledger/index.ts'
import type { Notices } from '../../domains/notices/index.ts'
import type { Acting, Operators } from '../../domains/operators/index.ts'
import { type Actor, type Operator, type Role, toRequestText } from '../../domains/operators/rules.ts'
import type { Creation, Orders, Refunds, Stories } from '../../domains/orders/index.ts'
import { type Plain, readPlain } from '../../domains/orders/rules.ts'
import type * as payments from '../../domains/payments/index.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { PriceEffect, Pricing } from '../../domains/pricing/index.ts'
import type { AddressQuestion, Erasing, Exporting, Holders } from '../../domains/privacy/index.ts'
import type { Credential, Identities, Registration, SignIn, Visitor } from '../../domains/signin/index.ts'
import type { Stock, StockOperator } from '../../domains/stock/index.ts'
import type { Traffic } from '../../domains/traffic/index.ts'
import type { Vpn } from '../../domains/vpn/index.ts'
import type { Webhooks } from '../../domains/webhooks/index.ts'
import { sentTokenOf } from '../answers.ts'
import type { Api } from '../api.ts'
import { type Bound, bindReply, type Call, issuedIn } from '../bind.ts'
import type { ProxyCheck } from '../customer/dedicated/routes.ts'
import type { Operation, z } from '../operation.ts'
import { findShown, readSessionText, visitorOf } from '../session.ts'

/** An authenticated operator, or the command line on the shop's machine. */
export type AdminCaller = Readonly<{ actor: Actor; visitor: Visitor; credential: Credential }>

type Act = <Result>(action: Acting['action'], work: () => Promise<Result>) => Promise<Result>

/** Binds an operator's operation. Everything but a read is written to the audit log, in its own transaction. */
export type BindAdmin = <Op extends Operation>(
  operation: Op,
  run: (call: Call<Op, AdminCaller>) => Promise<z.input<Op['answer']>>,
) => Bound<AdminCaller>

/** The fields of a request, as the audit log keeps them. */
export const requestTextOf = (call: Pick<Call<Operation, AdminCaller>, 'params' | 'query' | 'body'>): string =>
  toRequestText({ ...call.params, ...call.query, ...call.body })

type Names = Pick<AdminDeps, 'customers' | 'identities'>

/** Customers by the names that operators see: the e-mail address of those who signed up by themselves. */
export async function withNames<Of extends Pick<Customer, 'id' | 'name'>>(
  { identities }: Pick<Names, 'identities'>,
  found: readonly Of[],
): Promise<Of[]> {
  const unnamed = found.filter((each) => each.name === registeredName).map((each) => each.id)
  const contacts = unnamed.length === 0 ? new Map<string, string>() : await identities.contactsOf(unnamed)
  return found.map((each) =>
    each.name === registeredName ? { ...each, name: contacts.get(each.id) ?? each.name } : each,
  )
}

/** The name of each of these customers; empty for an unknown one. */
export async function namesOf(deps: Names, ids: readonly string[]): Promise<(id: string) => string> {
  const known = await withNames(deps, [...(await deps.customers.findMany(ids)).values()])
  const names = new Map<string, string>(known.map((each) => [each.id, each.name]))
  return (id) => names.get(id) ?? ''
}

export const nameOf = async (deps: Names, id: CustomerId): Promise<string> => (await namesOf(deps, [id]))(id)

/** Runs a creation once under its key, in one transaction with its entry in the audit log. */
type CreateOnce = (
  creation: Creation,
  make: () => Promise<unknown>,
) => Promise<{ readonly answer: unknown; readonly isReplayed: boolean }>

export const createBindAdmin =
  (act: Act, createOnce: CreateOnce): BindAdmin =>
  <Op extends Operation>(operation: Op, run: (call: Call<Op, AdminCaller>) => Promise<z.input<Op['answer']>>) =>
    bindReply<Op, AdminCaller>(operation, async (call) => {
      const make = async () => {
        const data = await run(call)
        return { data, issued: issuedIn(operation, data) }
      }
      if (operation.isRead) return make()
      const { actor } = call.caller
      const { key } = call
      return act({ actor, operation: operation.id, request: requestTextOf(call) }, async () => {
        if (!operation.creates || key === undefined) return make()
        const creation = { by: actor.operator ?? actor.name, key, action: operation.id, input: inputOf(call) }
        const { answer, isReplayed } = await createOnce(creation, () => run(call))
        // A stored answer has the type of its operation, which is part of the request under the key.
        const data = answer as z.input<Op['answer']>
        return { data, replayed: isReplayed, issued: issuedIn(operation, data) }
      })
    })

const inputOf = ({ params, query, body }: Call<Operation, AdminCaller>): Plain =>
  readPlain(
    JSON.stringify({ params, query, body }, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  )

type Authenticators = { readonly operators: Operators; readonly signIn: SignIn }

/** The operators' API, called with an operator's token or in a browser session. */
export const adminApi = (
  deps: Authenticators & { readonly publicUrl: () => string; readonly bound: readonly Bound<AdminCaller>[] },
): Api<AdminCaller> => ({
  base: '/admin/v1',
  bound: deps.bound,
  profile: {
    title: 'Turnpike for operators',
    description:
      'API of the operator console and command line. `x-role` of an operation is the lowest role that may call it: ' +
      '`reader` reads, `support` also manages customers and payments, `owner` may do everything. ' +
      'Every change is recorded in the audit log.',
    token: 'An operator’s token: `Authorization: Bearer tpo_…`.',
    cookie: 'turnpike_operator',
    hasRoles: true,
  },
  findShown: (request) => findShown(request, 'operator', deps.publicUrl()),
  async letIn(request, from, operation) {
    const visitor = visitorOf(request, from)
    const text = request.headers.has('authorization')
      ? undefined
      : readSessionText(request, 'operator', deps.publicUrl())
    const { operator, expiresAt, assertOpenIn } = await (text === undefined
      ? byToken(deps, sentTokenOf(request))
      : bySession(deps, text))
    deps.operators.assertRole(operator, operation.role)
    const { id, name, role } = operator
    const assertStill: Credential['assertStill'] = async (tx) => {
      deps.operators.assertRole(await deps.operators.lockPresentIn(tx, id), operation.role)
      await assertOpenIn(tx)
    }
    const credential = { expiresAt, assertStill }
    return { by: { actor: { operator: id, name, role, source: visitor.source }, visitor, credential }, name: id }
  },
})

async function byToken({ operators }: Authenticators, text: string | undefined) {
  const { operator, token } = await operators.authenticate(text)
  const assertOpenIn: Credential['assertStill'] = (tx) => operators.assertTokenIn(tx, token.id)
  return { operator, expiresAt: token.expiresAt, assertOpenIn }
}

async function bySession({ operators, signIn }: Authenticators, text: string) {
  const session = await signIn.load('operator', text)
  if (session.owner.kind !== 'operator') throw new Error('the operator session belongs to a customer')
  await signIn.touch(session)
  const operator = await operators.loadPresent(session.owner.id)
  const assertOpenIn: Credential['assertStill'] = (tx) => signIn.assertOpenIn(tx, session.id)
  return { operator, expiresAt: session.expiresAt, assertOpenIn }
}

export type Invited = { readonly operator: Operator; readonly text: string; readonly expiresAt: number }

export type AdminDeps = {
  /** Where the parts of `verify` are, between two of them. */
  readonly verifyProgress: {
    readonly read: () => VerifyProgress | undefined
    readonly save: (progress: VerifyProgress) => void
  }
  readonly customers: Customers
  readonly brands: Brands
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
  readonly webhooks: Webhooks
  readonly alerts: Alerts
  readonly notices: Notices
  readonly pricing: Pricing
  readonly payments: payments.Payments
  readonly paymentOperator: payments.PaymentOperator
  readonly paymentReports: payments.PaymentReports
  readonly providers: payments.Providers
  readonly codes: payments.PromoCodes
  readonly referrals: payments.Referrals
  readonly proxyOperator: ProxyOperator
  readonly checkProxy: ProxyCheck
  readonly rangeOperator: RangeOperator
  readonly outages: Outages
  readonly premium: Premium
  readonly vpn: Vpn
  readonly stock: Stock
  readonly stockOperator: StockOperator
  readonly fleet: Fleet
  readonly reach: { readonly hosts: Readonly<Record<'gateway' | 'vpn', string>> | undefined }
  readonly traffic: Traffic
  readonly exporting: Exporting
  readonly erasing: Erasing
  readonly verifiers: readonly Verifier[]
  readonly setBlocked: (id: CustomerId, blocked: boolean) => Promise<void>
  readonly adjust: payments.PaymentOperator['adjust']
  readonly applyCatalogue: (value: unknown) => Promise<{ version: number; changes: string[] }>
  readonly effectsOf: (value: unknown) => Promise<PriceEffect[]>
  readonly addNode: (input: NewNode) => Promise<Node>
  readonly forgetUsage: ReturnType<typeof createForgetting>
  readonly removeNode: ReturnType<typeof createRemoval>
  readonly setEndpoint: ReturnType<typeof createEndpointChange>
  readonly setExit: ReturnType<typeof createExitChange>
  readonly findHolders: (action: Acting['action'], question: AddressQuestion) => Promise<Holders>
  readonly addOperator: (name: string, role: Role) => Promise<Invited>
  readonly inviteOperator: (name: string) => Promise<Invited>
  readonly setOperatorRole: (name: string, role: Role) => Promise<Operator>
  readonly revokeOperatorToken: (id: OperatorTokenId) => Promise<void>
  readonly removeOperator: (name: string) => Promise<Operator>
  readonly keepCheckpoint: (checkpoint: { number: number; hash: string; madeAt: string }) => Promise<void>
  readonly act: Act
  /** Runs the same work in transactions that are rolled back, if it is only to be shown. */
  readonly dryRunIf: <Result>(isDryRun: boolean, work: () => Promise<Result>) => Promise<Result>
  /** Writes an entry of the audit log for a read. */
  readonly mustNote: (action: Acting['action']) => Promise<void>
  readonly onFault: (fault: unknown) => void
  readonly onReconcileFault: (fault: unknown) => void
  /** When the certificate of this shop ends; undefined without one. */
  readonly certificateEndsAt: () => number | undefined
  readonly publicUrl: () => string
  readonly clock: Clock
  /** Whether the shop answers nothing else while the database checks its file. */
  readonly isBlockedByVerify: boolean
  readonly stalls: Stalls
}
