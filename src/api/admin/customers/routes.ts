import { toGigabytes } from '../../../core/bytes.ts'
import { type CustomerId, type OrderId, readId } from '../../../core/ids.ts'
import { fieldProblem } from '../../../core/messages/problems.ts'
import { toRoubles } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Customer } from '../../../domains/customers/rules.ts'
import type { Adjustment } from '../../../domains/ledger/index.ts'
import { mayActAs } from '../../../domains/operators/rules.ts'
import { orRefuse } from '../../answers.ts'
import { bindReply } from '../../bind.ts'
import { toDelivered } from '../../customer/account/shapes.ts'
import { toEvent } from '../../customer/events/shapes.ts'
import { readTokenRequest } from '../../customer/tokens/routes.ts'
import { toToken } from '../../customer/tokens/shapes.ts'
import { pageOf, positionOf, readNumber, soughtFor, toExport } from '../../pages.ts'
import { toCookie } from '../../session.ts'
import { type AdminCaller, type AdminDeps, type BindAdmin, nameOf, requestTextOf, withNames } from '../bind.ts'
import { dryRunOf, toKopecks } from '../fields.ts'
import * as shapes from './shapes.ts'

const readCustomer = (text: string): CustomerId => orRefuse(readId('customer', text), 'customer_not_found')

const readOrder = (text: string): OrderId => orRefuse(readId('order', text), 'order_not_found')

export function adminCustomerOperations(bind: BindAdmin, deps: AdminDeps) {
  const { customers, identities } = deps
  const toCustomers = async (found: readonly Customer[]) => {
    const logins = await identities.loginsOf(found.map((each) => each.id))
    const shown = (await withNames(deps, found)).map(async (each) =>
      shapes.toCustomer(each, (await deps.ledger.balance(each.id)).balance, logins.get(each.id) ?? null),
    )
    return Promise.all(shown)
  }
  const show = async (id: CustomerId) => {
    const [one] = await toCustomers([await customers.load(id)])
    if (!one) throw new Error('the customer is missing from the list of one')
    return one
  }
  return [
    bind(shapes.listCustomers, async ({ query }) => {
      const after = positionOf(query.cursor, (text) => readId('customer', text)) ?? ''
      const limit = soughtFor(query.limit)
      const search = query.search?.trim() ?? ''
      const byLogin = async () => [...(await identities.search(search, limit)).keys()]
      const found = await (search === ''
        ? customers.list(after, limit)
        : customers.search({ text: search, found: await byLogin(), after, limit }))
      const { items, next_cursor } = pageOf(found, query.limit, 'id', (each) => each)
      return { items: await toCustomers(items), next_cursor }
    }),
    bind(shapes.getCustomer, async ({ params }) => {
      const id = readCustomer(params.customer_id)
      const { hasFactor } = await identities.profile({ kind: 'customer', id })
      return { ...(await show(id)), has_second_factor: hasFactor }
    }),
    bind(shapes.createCustomer, async ({ body }) => show((await customers.create(body.name)).id)),
    bind(shapes.blockCustomer, async ({ params, body }) => {
      const id = readCustomer(params.customer_id)
      await deps.setBlocked(id, !body.undo)
      customers.forget()
      return show(id)
    }),
    bind(shapes.noteCustomer, async ({ params, body }) => {
      const id = readCustomer(params.customer_id)
      await customers.setNote(id, body.note === null || body.note.trim() === '' ? null : body.note)
      return show(id)
    }),
    ...privacyOperations(bind, deps),
    viewing(deps),
    bind(shapes.linkCustomer, async ({ params, caller }) => {
      const { id } = await customers.load(readCustomer(params.customer_id))
      const made = await deps.registration.invite(id, mayActAs(caller.actor.role, 'owner'))
      return { link: made.link, sent_to: made.sentTo, expires_at: toIso(made.expiresAt) }
    }),
    bind(shapes.removeCustomerFactor, async ({ params }) => {
      const { id } = await customers.load(readCustomer(params.customer_id))
      return { removed: await identities.dropFactor({ kind: 'customer', id }) }
    }),
    ...tokenOperations(bind, deps),
    ...serviceOperations(bind, deps),
    ...moneyOperations(bind, deps),
    ...orderOperations(bind, deps),
  ]
}

function privacyOperations(bind: BindAdmin, deps: AdminDeps) {
  return [
    bind(shapes.exportCustomer, async (call) => {
      const id = readCustomer(call.params.customer_id)
      const cursor = positionOf(call.query.cursor, (text) => text)
      const page = await deps.exporting.page(id, 'operator', cursor, call.query.limit)
      if (cursor === undefined) {
        const { actor } = call.caller
        await deps.mustNote({ actor, operation: shapes.exportCustomer.id, request: requestTextOf(call) })
      }
      return toExport(page)
    }),
    bind(shapes.eraseCustomer, async ({ params, body }) => {
      const id = readCustomer(params.customer_id)
      const erased = await deps.erasing.erase(id, { by: 'operator', isConfirmed: () => body.confirm })
      return {
        customer_id: id,
        erased_at: toIso(erased.erasedAt),
        lost: {
          balance_rub: toRoubles(erased.lost.balance),
          proxies: erased.lost.proxies,
          vpn_subscriptions: erased.lost.subscriptions,
          traffic_bytes: Number(erased.lost.trafficBytes),
        },
        versions: erased.versions,
        entries: erased.entries,
      }
    }),
  ]
}

/** Bound by hand, because its answer sets a cookie. It has an audit entry as every action has. */
function viewing(deps: AdminDeps) {
  return bindReply<typeof shapes.viewCustomer, AdminCaller>(shapes.viewCustomer, ({ caller, params }) => {
    const action = {
      actor: caller.actor,
      operation: shapes.viewCustomer.id,
      request: JSON.stringify({ customer_id: params.customer_id }),
    }
    const operator = orRefuse(caller.actor.operator ?? undefined, 'view_needs_session')
    return deps.act(action, async () => {
      const { id } = await deps.customers.load(readCustomer(params.customer_id))
      const { secret, session } = await deps.signIn.openView(operator, id, caller.visitor, caller.credential)
      const cookie = toCookie('customer', secret, session.expiresAt - deps.clock(), deps.publicUrl())
      return { data: { expires_at: toIso(session.expiresAt) }, cookie }
    })
  })
}

function tokenOperations(bind: BindAdmin, { customers }: AdminDeps) {
  return [
    bind(shapes.listCustomerTokens, async ({ params }) => {
      const { id } = await customers.load(readCustomer(params.customer_id))
      return { items: (await customers.listTokens(id)).map(toToken) }
    }),
    bind(shapes.createCustomerToken, async ({ params, body }) => {
      const { text, token } = await customers.issueToken(readCustomer(params.customer_id), readTokenRequest(body))
      return { token_id: token.id, token: text }
    }),
    bind(shapes.revokeCustomerToken, async ({ params }) => {
      const id = orRefuse(readId('token', params.token_id), 'token_not_found')
      await customers.revokeToken(id)
      return { token_id: id, revoked: true }
    }),
  ]
}

const maxSubusersShown = 50

function serviceOperations(bind: BindAdmin, deps: AdminDeps) {
  return [
    bind(shapes.listCustomerProxies, async (call) => {
      const { params, query } = call
      const { actor } = call.caller
      const { id } = await deps.customers.load(readCustomer(params.customer_id))
      // From list to list a reader gets from every address to its holder, so this is logged like that question.
      await deps.mustNote({ actor, operation: shapes.listCustomerProxies.id, request: requestTextOf(call) })
      const before = positionOf(query.cursor, readNumber)
      const found = await deps.proxyOperator.listOf(id, before, soughtFor(query.limit))
      return pageOf(found, query.limit, 'id', (each) => ({
        proxy: each.id,
        address: each.address,
        country: each.country,
        ipv: each.ipv,
        status: each.status,
        username: each.username,
        comment: each.comment,
        expires_at: toIso(each.expiresAt),
        auto_renew: each.renewPeriod,
        rx_bytes: Number(each.received),
        tx_bytes: Number(each.sent),
      }))
    }),
    bind(shapes.getCustomerServices, async ({ params }) => {
      const { id } = await deps.customers.load(readCustomer(params.customer_id))
      const { views } = await deps.vpn.info(id, undefined)
      const subusers = await deps.premium.subusers.withTraffic(id, maxSubusersShown)
      const { rows } = await deps.premium.usage(id, { by: 'day', from: undefined, to: undefined })
      return {
        vpn: views.map(({ subscription, status, devices }) => ({
          uuid: subscription.uuid,
          status,
          expires_at: toIso(subscription.expiresAt),
          devices: devices.length,
          device_limit: subscription.deviceLimit,
          auto_renew_months: subscription.autoRenewMonths,
          rx_bytes: Number(subscription.received),
          tx_bytes: Number(subscription.sent),
        })),
        traffic: subusers.flatMap(({ subuser, pools }) =>
          pools.map(({ pool, left, used }) => ({
            subuser_id: subuser.id,
            login: subuser.login,
            name: subuser.name,
            blocked: subuser.blockedAt !== null,
            pool,
            left_bytes: Number(left),
            used_bytes: Number(used),
          })),
        ),
        usage: rows.map(({ key, received, sent }) => ({
          day: toIso(Number(key)).slice(0, 10),
          rx_bytes: Number(received),
          tx_bytes: Number(sent),
        })),
      }
    }),
  ]
}

function moneyOperations(bind: BindAdmin, deps: AdminDeps) {
  const adjusting = (operation: typeof shapes.creditCustomer, kind: Adjustment['kind']) =>
    bind(operation, async ({ params, body, key }) => {
      const { posting, isRepeat } = await deps.dryRunIf(body.dry_run, () =>
        deps.adjust(
          readCustomer(params.customer_id),
          {
            kind,
            amount: toKopecks(body.amount_rub),
            note: body.note,
            key: key ?? null,
            reference: body.reference ?? null,
          },
          body.dry_run,
        ),
      )
      return { ...shapes.toMovement(posting), repeated: isRepeat, ...dryRunOf(body) }
    })
  return [
    adjusting(shapes.creditCustomer, 'credit'),
    adjusting(shapes.debitCustomer, 'debit'),
    bind(shapes.listMovements, async ({ params, query }) => {
      const id = readCustomer(params.customer_id)
      await deps.ledger.balance(id)
      const before = positionOf(query.cursor, readNumber)
      const found = await deps.ledger.history(id, before, soughtFor(query.limit))
      return pageOf(found, query.limit, 'seq', shapes.toMovement)
    }),
    bind(shapes.refundOrder, async ({ params, body, key }) => {
      const common = { order: readOrder(params.order_id), note: body.note, key }
      if (body.end === undefined) {
        const amount = body.amount_rub === undefined ? 'all' : toKopecks(body.amount_rub)
        const refund = () => deps.refunds.refund({ ...common, amount, again: body.again })
        return { ...(await deps.dryRunIf(body.dry_run, refund)), ...dryRunOf(body) }
      }
      if (body.amount_rub !== undefined || body.again) {
        const problem = fieldProblem('end', 'not_with', { others: ['amount_rub', 'again'] })
        throw new Refusal('refund_amount_with_end', {}, [problem])
      }
      const { end: how } = body
      const end = () => deps.refunds.end({ ...common, how })
      return { ...(await deps.dryRunIf(body.dry_run, end)), ...dryRunOf(body) }
    }),
    bind(shapes.refundTraffic, async ({ params, body }) => {
      const id = readOrder(params.order_id)
      const refund = await deps.premium.traffic.refund(id, body.note)
      return {
        order_id: id,
        returned_gb: toGigabytes(refund.returned),
        refunded_rub: toRoubles(refund.money),
        balance_rub: toRoubles(refund.balance),
      }
    }),
  ]
}

function orderOperations(bind: BindAdmin, deps: AdminDeps) {
  return [
    bind(shapes.listCustomerOrders, async ({ params, query }) => {
      const before = positionOf(query.cursor, (text) => readId('order', text))
      const { id } = await deps.customers.load(readCustomer(params.customer_id))
      const { request_id: requestId, idempotency_key: key } = query
      const limit = soughtFor(query.limit)
      const isNamed = requestId !== undefined || key !== undefined
      const found = isNamed
        ? await deps.orders.listNamed(id, { requestId, key }, before, limit)
        : await deps.orders.list(id, before, limit)
      return pageOf(found, query.limit, 'id', shapes.toAnyOrder)
    }),
    bind(shapes.listCustomerEvents, async ({ params, query }) => {
      const { id } = await deps.customers.load(readCustomer(params.customer_id))
      const after = positionOf(query.cursor, readNumber) ?? 0
      const found = await deps.events.list(id, { after, type: query.type, limit: soughtFor(query.limit) })
      return pageOf(found, query.limit, 'seq', toEvent)
    }),
    bind(shapes.getAnyOrder, async (call) => {
      const story = await deps.storyOf(readOrder(call.params.order_id))
      const { actor } = call.caller
      await deps.mustNote({ actor, operation: shapes.getAnyOrder.id, request: requestTextOf(call) })
      return {
        order: shapes.toAnyOrder(story.order),
        customer_name: await nameOf(deps, story.order.customer),
        transactions: story.postings.map(shapes.toMovement),
        ...toDelivered(story.delivered),
        events: story.events.map(toEvent),
      }
    }),
  ]
}
