import type { CountryCode } from '../../../core/country.ts'
import { toRoubles } from '../../../core/money.ts'
import { malformed } from '../../../core/refusal.ts'
import { type Clock, readIso } from '../../../core/time.ts'
import type { Bought, Carried, Dedicated, OpenProxy } from '../../../domains/dedicated/index.ts'
import { statusAt } from '../../../domains/dedicated/rules.ts'
import type { Pricing } from '../../../domains/pricing/index.ts'
import type { Stock } from '../../../domains/stock/index.ts'
import { type Bound, bind, bindFile, bindPurchase } from '../../bind.ts'
import { positionOf, readNumber, soughtFor } from '../../fields.ts'
import { assertSeesPasswords, seesPasswords } from '../passwords.ts'
import { readForm, writeExport } from './export.ts'
import * as sale from './shapes.ts'
import * as access from './shapes-access.ts'
import * as owned from './shapes-owned.ts'
import { type GatewayAddress, type ShownProxy, toProxy } from './shapes-proxy.ts'

/** Tries a proxy for real, through the gateway that customers use. */
export type ProxyProbe = (proxy: {
  readonly portType: 'http' | 'socks'
  readonly username: string
  readonly password: string
  /** Where customers reach it. */
  readonly host: string
  readonly port: number
}) => Promise<{ works: boolean; tookMs: number | null; problem: string | null }>

export function dedicatedOperations(deps: {
  dedicated: Dedicated
  stock: Stock
  pricing: Pricing
  gateway: GatewayAddress
  probe: ProxyProbe
  clock: Clock
}): readonly Bound[] {
  const { dedicated, gateway } = deps
  const shown = (proxy: OpenProxy, isOpen: boolean, carried = nothing): ShownProxy => ({
    ...proxy,
    password: isOpen ? proxy.password : null,
    status: statusAt(proxy, deps.clock()),
    carried,
  })
  /** With what each has carried. What was bought in this moment has carried nothing, and nobody is asked. */
  async function shownWithTraffic(proxies: readonly OpenProxy[], isOpen: boolean): Promise<ShownProxy[]> {
    const carried = await dedicated.carried(proxies)
    return proxies.map((proxy) => shown(proxy, isOpen, carried.get(proxy.id)))
  }
  const toShown = async (proxies: Promise<readonly OpenProxy[]>, isOpen: boolean) =>
    (await shownWithTraffic(await proxies, isOpen)).map((each) => toProxy(each, gateway))

  return [
    bind(sale.quoteDedicated, async ({ query }) => {
      const { country_code: country, period, count, ipv } = query
      const price = await dedicated.quote({ country, period, count, ipv })
      return {
        country_code: country,
        period,
        count,
        ipv,
        price_rub: toRoubles(price.total),
        price_per_proxy_rub: toRoubles(price.perProxy),
        discount_percent: price.discountPercent,
        available: price.available,
      }
    }),

    bindPurchase(sale.buyDedicated, toBought, (request, { body }) => {
      const { country_code: country, period, count, ipv } = body
      return dedicated.buy(request, { country, period, count, ipv })
    }),

    bind(sale.quoteProlonging, async ({ caller, query }) =>
      sale.toProlongQuote(await dedicated.quoteProlonging(caller.customer, query.ids, query.period), query.period),
    ),

    bindPurchase(sale.prolongDedicated, sale.toProlonged, (request, { body }) =>
      dedicated.prolong(request, body.ids, body.period),
    ),

    bind(owned.setProtocol, async ({ caller, body }) => {
      await dedicated.setProtocol(caller.customer, body.ids, body.port_type)
      return { port_type: body.port_type, updated: body.ids }
    }),

    bind(owned.listDedicated, async ({ caller, query }) => {
      const proxies = await dedicated.list(caller.customer, {
        before: positionOf(query.cursor, readNumber) ?? Number.MAX_SAFE_INTEGER,
        limit: soughtFor(query.limit),
        status: query.status ?? '',
        country: query.country_code ?? '',
        ipv: query.ipv ?? 0,
        expiresBefore: readMoment(query.expires_before),
        comment: query.comment ?? '',
      })
      return owned.toProxies(await shownWithTraffic(proxies, seesPasswords(caller)), query.limit, gateway)
    }),

    bind(owned.listCountries, async ({ query }) => {
      const { kinds, prolongPeriods } = (await deps.pricing.current()).dedicated
      const kind = kinds.get(query.ipv)
      const codes = [...(kind?.countries.keys() ?? [])].toSorted() as CountryCode[]
      const counted = codes.map(async (code) => ({
        code,
        available: await deps.stock.available({ country: code, ipv: query.ipv }),
      }))
      return owned.toCountries(query.ipv, { periods: kind?.periods ?? [], prolongPeriods }, await Promise.all(counted))
    }),

    bind(owned.countAvailable, async ({ query }) => {
      const kind = { country: query.country_code, ipv: query.ipv }
      return { country_code: kind.country, ipv: kind.ipv, count: await deps.stock.available(kind) }
    }),

    bind(owned.setComment, async ({ caller, body }) => {
      await dedicated.setComment(caller.customer, body.ids, body.comment)
      return { comment: body.comment, updated: body.ids }
    }),

    bind(owned.setAutoRenew, async ({ caller, body }) => {
      await dedicated.setRenewal(caller.customer, body.ids, body.period, caller.token?.id ?? null)
      return { period: body.period, updated: body.ids }
    }),

    bind(owned.checkProxy, async ({ caller, body }) => {
      const proxy = await dedicated.load(caller.customer, body.id)
      const portType = proxy.portType === 'both' ? 'http' : proxy.portType
      const { ip: host, port } = toProxy(shown(proxy, false), gateway)
      const outcome = await deps.probe({ ...proxy, portType, host, port })
      return { id: body.id, works: outcome.works, took_ms: outcome.tookMs, problem: outcome.problem }
    }),

    bind(owned.replaceProxy, async ({ caller, body }) =>
      toProxy(shown(await dedicated.replace(caller.customer, body.id), seesPasswords(caller)), gateway),
    ),

    bind(access.allowSource, async ({ caller, body }) => ({
      ip: body.ip,
      proxies: await toShown(dedicated.allowSource(caller.customer, body.ids, body.ip), seesPasswords(caller)),
    })),

    bind(access.disallowSource, async ({ caller, body }) => ({
      ip: body.ip,
      proxies: await toShown(dedicated.disallowSource(caller.customer, body.ids, body.ip), seesPasswords(caller)),
    })),

    bind(access.resetPasswords, async ({ caller, body }) => ({
      proxies: await toShown(dedicated.resetPasswords(caller.customer, body.ids), true),
    })),

    bindFile(access.exportDedicated, async ({ caller, query }) => {
      const form = readForm(query)
      if (form.template?.includes('{password}')) assertSeesPasswords(caller)
      return writeExport(form, await toShown(dedicated.listAll(caller.customer, query.ids), seesPasswords(caller)))
    }),
  ]

  function toBought(bought: Bought) {
    return sale.toBought({ ...bought, proxies: bought.proxies.map((proxy) => shown(proxy, true)) }, gateway)
  }
}

const nothing: Carried = { received: 0n, sent: 0n }

function readMoment(text: string | undefined): number {
  if (text === undefined) return Number.MAX_SAFE_INTEGER
  const ms = readIso(text)
  if (ms === undefined) throw malformed([{ field: 'expires_before', problem: 'must be an ISO 8601 date or moment' }])
  return ms
}
