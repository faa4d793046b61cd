import { type Address, readAddress } from '../../../core/address.ts'
import type { CustomerId } from '../../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { mayActAs } from '../../../domains/operators/rules.ts'
import { isoOrNull } from '../../fields.ts'
import type { z } from '../../operation.ts'
import { type AdminDeps, type BindAdmin, namesOf, requestTextOf, withNames } from '../bind.ts'
import * as shapes from './shapes.ts'

const maxOfKind = 10

type Item = z.input<typeof shapes.search.answer>['items'][number]
type Found = Pick<Item, 'id' | 'title'> & {
  readonly customer: CustomerId
  readonly detail?: string | null
  readonly amount?: Kopecks
  readonly at?: number
}

export function adminSearchOperations(bind: BindAdmin, deps: AdminDeps) {
  return [
    bind(shapes.search, async (call) => {
      const text = call.query.q.trim()
      const { actor } = call.caller
      // The current holder of an address is known to those who may also ask for earlier ones, and is logged like them.
      const address = mayActAs(actor.role, 'support') ? readAddress(text) : undefined
      if (address) await deps.mustNote({ actor, operation: shapes.search.id, request: requestTextOf(call) })
      const kinds = await Promise.all([
        findCustomers(deps, text),
        findProxies(deps, text, address),
        findSubusers(deps, text),
        findVpn(deps, text, address),
        findOrders(deps, text),
        findPayments(deps, text),
      ])
      const found = kinds.flat()
      // A proxy number or login also leads from an address to its holder.
      if (!address && found.some((each) => each.kind === 'proxy')) {
        await deps.mustNote({ actor, operation: shapes.search.id, request: requestTextOf(call) })
      }
      const nameIn = await namesOf(
        deps,
        found.map((each) => each.customer),
      )
      return {
        items: found.map(({ customer, amount, at, detail = null, ...each }) => ({
          ...each,
          detail,
          amount_rub: amount === undefined ? null : toRoubles(amount),
          at: isoOrNull(at ?? null),
          customer_id: customer,
          customer_name: nameIn(customer),
        })),
      }
    }),
  ]
}

type FoundOf<Kind extends Item['kind']> = Found & { readonly kind: Kind }

async function findCustomers(deps: AdminDeps, text: string): Promise<FoundOf<'customer'>[]> {
  const { customers, identities } = deps
  const byLogin = await customers.findMany(await identities.ownersByPrefix(text, maxOfKind))
  const all = [
    ...(await customers.findByIdPrefix(text, maxOfKind)),
    ...byLogin.values(),
    ...(await customers.findByNamePrefix(text, maxOfKind)),
  ]
  const found = await withNames(deps, [...new Map(all.map((each) => [each.id, each])).values()].slice(0, maxOfKind))
  const logins = await identities.loginsOf(found.map((each) => each.id))
  return found.map(({ id, name, createdAt }) => {
    return { kind: 'customer', id, title: name, detail: logins.get(id) ?? null, at: createdAt, customer: id }
  })
}

async function findProxies({ proxyOperator }: AdminDeps, text: string, address: Address | undefined) {
  const found = await proxyOperator.findNamed({ text, ...(address && { address }) })
  return found.slice(0, maxOfKind).map((each): FoundOf<'proxy'> => {
    const { customer, username: detail, startedAt: at } = each
    return { kind: 'proxy', id: String(each.id), title: each.address, detail, at, customer }
  })
}

async function findSubusers({ premium }: AdminDeps, text: string): Promise<FoundOf<'subuser'>[]> {
  const found = await premium.subusers.findByLogin(text)
  return found && found.deletedAt === null
    ? [{ kind: 'subuser', id: found.id, title: found.login, customer: found.customer }]
    : []
}

async function findVpn({ vpn }: AdminDeps, text: string, address: Address | undefined) {
  const { subscription, devices } = await vpn.findNamed(text, address, maxOfKind)
  const named = devices.map((each): FoundOf<'device'> => {
    return { kind: 'device', id: each.id, title: each.name, detail: each.subscription, customer: each.customer }
  })
  if (!subscription) return named
  const { status } = await vpn.show(subscription.uuid)
  const own: FoundOf<'vpn'> = {
    kind: 'vpn',
    id: subscription.uuid,
    title: status,
    customer: subscription.customer,
  }
  return [own, ...named]
}

async function findOrders({ orders }: AdminDeps, text: string): Promise<FoundOf<'order'>[]> {
  const found = [...(await orders.findByPrefix(text, maxOfKind)), ...(await orders.findByRequest(text, maxOfKind))]
  return found.slice(0, maxOfKind).map((each) => ({
    kind: 'order',
    id: each.id,
    title: each.product,
    detail: each.action,
    amount: each.price,
    at: each.createdAt,
    customer: each.customer,
  }))
}

async function findPayments({ paymentOperator }: AdminDeps, text: string): Promise<FoundOf<'payment'>[]> {
  return (await paymentOperator.findNamed(text, maxOfKind)).slice(0, maxOfKind).map((each) => ({
    kind: 'payment',
    id: each.id,
    title: each.state,
    detail: each.method,
    amount: each.amount,
    at: each.createdAt,
    customer: each.customer,
  }))
}
