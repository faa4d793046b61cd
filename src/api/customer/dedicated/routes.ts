import { type CountryCode, countryName } from '../../../core/country.ts'
import type { CustomerId } from '../../../core/ids.ts'
import { toRoubles } from '../../../core/money.ts'
import { type Clock, readIso, toDateEnd, toIso } from '../../../core/time.ts'
import { assertSeesPasswords, seesPasswords } from '../../../domains/customers/index.ts'
import type { BoughtProxies, Dedicated, OpenProxy, Prolonged, ProxyTraffic } from '../../../domains/dedicated/index.ts'
import { statusAt } from '../../../domains/dedicated/rules.ts'
import type { Pricing } from '../../../domains/pricing/index.ts'
import type { Stock } from '../../../domains/stock/index.ts'
import { orRefuseField } from '../../answers.ts'
import { type Bound, bind, bindPurchase, bindReply } from '../../bind.ts'
import { pageOf, positionOf, readInSlices, readNumber, soughtFor, toCursor } from '../../pages.ts'
import { readForm, writeExport } from './export.ts'
import * as shapes from './shapes.ts'
import { type GatewayAddress, type ShownProxy, toProxy } from './shapes.ts'

/** Tries a proxy for real, through the gateway that customers use. */
type ProxyProbe = (proxy: {
  readonly portType: 'http' | 'socks'
  readonly username: string
  readonly password: string
  readonly host: string
  readonly port: number
}) => Promise<{ works: boolean; tookMs: number | null; problem: string | null }>

export type ProxyCheck = ReturnType<typeof createProxyCheck>

/** Checks a customer's proxy with its own credentials, for the customer and for operators. */
export const createProxyCheck =
  ({ dedicated, gateway, probe }: { dedicated: Dedicated; gateway: GatewayAddress; probe: ProxyProbe }) =>
  async (customer: CustomerId, id: number) => {
    const proxy = await dedicated.load(customer, id)
    const portType = proxy.portType === 'both' ? 'http' : proxy.portType
    const { works, tookMs, problem } = await probe({ ...proxy, portType, ...shapes.entranceOf(proxy, gateway) })
    return { works, took_ms: tookMs, problem }
  }

export function dedicatedOperations(deps: {
  dedicated: Dedicated
  stock: Stock
  pricing: Pricing
  gateway: GatewayAddress
  checkProxy: ProxyCheck
  clock: Clock
}): readonly Bound[] {
  const { dedicated, gateway } = deps
  const shown = (proxy: OpenProxy, isOpen: boolean, traffic = nothing): ShownProxy => ({
    ...proxy,
    password: isOpen ? proxy.password : null,
    status: statusAt(proxy, deps.clock()),
    traffic,
  })
  /** Adds the traffic of each proxy. A purchase does without: a new proxy has carried nothing. */
  async function shownWithTraffic(proxies: readonly OpenProxy[], isOpen: boolean): Promise<ShownProxy[]> {
    const traffic = await dedicated.trafficOf(proxies)
    return proxies.map((proxy) => shown(proxy, isOpen, traffic.get(proxy.id)))
  }
  const toShown = async (proxies: readonly OpenProxy[], isOpen: boolean) =>
    (await shownWithTraffic(proxies, isOpen)).map((each) => toProxy(each, gateway))

  return [
    bind(shapes.quoteDedicated, async ({ query }) => {
      const { country_code: country, ...order } = query
      const price = await dedicated.quote({ country, ...order })
      return {
        ...query,
        price_rub: toRoubles(price.total),
        full_price_rub: toRoubles(price.full),
        price_per_proxy_rub: toRoubles(price.perProxy),
        discount_percent: price.discountPercent,
        available: price.available,
        valid_until: null,
      }
    }),

    bindPurchase(shapes.buyDedicated, toBought, (request, { body }) => {
      const { country_code: country, period, count, ipv, port_type: portType } = body
      return dedicated.buy(request, { country, period, count, ipv, portType })
    }),

    bind(shapes.quoteProlonging, ({ caller, query }) => quoteProlonging(caller.customer, query)),

    bind(shapes.quoteProlongingOfMany, ({ caller, body }) => quoteProlonging(caller.customer, body)),

    bindPurchase(shapes.prolongDedicated, toProlonged, (request, { body }) =>
      dedicated.prolong(request, body.ids, body.period),
    ),

    bind(shapes.setProtocol, async ({ caller, body }) => {
      await dedicated.setProtocol(caller.customer, body.ids, body.port_type)
      return { port_type: body.port_type, updated: body.ids }
    }),

    bind(shapes.listDedicated, async ({ caller, query, nextSlice }) => {
      const filter = {
        status: query.status ?? '',
        country: query.country_code ?? '',
        ipv: query.ipv ?? 0,
        expiresBefore:
          query.expires_before === undefined
            ? Number.MAX_SAFE_INTEGER
            : orRefuseField(readIso(query.expires_before), 'expires_before', 'moment'),
        comment: query.comment ?? '',
        metadata: query.metadata,
      } as const
      const first = positionOf(query.cursor, readNumber) ?? Number.MAX_SAFE_INTEGER
      if (query.comment_contains) {
        const page = { ...filter, before: first, limit: query.limit }
        const { proxies, next } = await dedicated.listByComment(caller.customer, page, query.comment_contains)
        return {
          proxies: await toShown(proxies, seesPasswords(caller)),
          next_cursor: next === undefined ? null : toCursor(String(next)),
        }
      }
      const read = (last: ShownProxy | undefined, limit: number) => {
        const page = dedicated.list(caller.customer, { ...filter, before: last?.id ?? first, limit })
        return page.then((proxies) => shownWithTraffic(proxies, seesPasswords(caller)))
      }
      const rows = await readInSlices(soughtFor(query.limit), read, nextSlice)
      const { items, next_cursor } = pageOf(rows, query.limit, 'id', (each) => toProxy(each, gateway))
      return { proxies: items, next_cursor }
    }),

    bind(shapes.getProxy, async ({ caller, params }) => {
      const proxy = await dedicated.load(caller.customer, params.id)
      const traffic = (await dedicated.trafficOf([proxy])).get(proxy.id)
      return toProxy(shown(proxy, seesPasswords(caller), traffic), gateway)
    }),

    bind(shapes.getDailyTraffic, async ({ caller, query }) => {
      const { firstDay, proxies } = await dedicated.trafficByDay(caller.customer, query.ids, query.days)
      return {
        first_day: toIso(firstDay).slice(0, 10),
        days: query.days,
        proxies: proxies.map(({ id, days }) => ({
          id,
          rx_bytes_by_day: days.map((each) => Number(each.received)),
          tx_bytes_by_day: days.map((each) => Number(each.sent)),
        })),
      }
    }),

    bind(shapes.listCountries, async ({ query }) => {
      const { kinds, prolongPeriods } = (await deps.pricing.current()).dedicated
      const kind = kinds.get(query.ipv)
      const codes = [...(kind?.countries.keys() ?? [])].toSorted() as CountryCode[]
      const counted = codes.map(async (code) => ({
        country_code: code,
        name: countryName(code, 'en'),
        name_ru: countryName(code, 'ru'),
        available: await deps.stock.available({ country: code, ipv: query.ipv }),
      }))
      const countries = await Promise.all(counted)
      return { ipv: query.ipv, periods: [...(kind?.periods ?? [])], prolong_periods: [...prolongPeriods], countries }
    }),

    bind(shapes.countAvailable, async ({ query }) => {
      const kind = { country: query.country_code, ipv: query.ipv }
      return { country_code: kind.country, ipv: kind.ipv, count: await deps.stock.available(kind) }
    }),

    bind(shapes.setComment, async ({ caller, body }) => {
      await dedicated.setComment(caller.customer, body.ids, body.comment)
      return { comment: body.comment, updated: body.ids }
    }),

    bind(shapes.setAutoRenew, async ({ caller, body }) => {
      await dedicated.setRenewal(caller.customer, body.ids, body.period, caller.token?.id ?? null)
      return { period: body.period, updated: body.ids }
    }),

    bind(shapes.checkProxy, async ({ caller, body }) => ({
      id: body.id,
      ...(await deps.checkProxy(caller.customer, body.id)),
    })),

    bindPurchase(
      shapes.replaceProxy,
      (proxy: OpenProxy, { caller }) => toProxy(shown(proxy, seesPasswords(caller)), gateway),
      (request, { body }) => dedicated.replace(request, body.id),
    ),

    bind(shapes.allowSource, async ({ caller, body }) => ({
      ip: body.ip,
      proxies: await toShown(await dedicated.allowSource(caller.customer, body.ids, body.ip), seesPasswords(caller)),
    })),

    bind(shapes.disallowSource, async ({ caller, body }) => ({
      ip: body.ip,
      proxies: await toShown(await dedicated.disallowSource(caller.customer, body.ids, body.ip), seesPasswords(caller)),
    })),

    bind(shapes.resetPasswords, async ({ caller, body }) => ({
      proxies: await toShown(await dedicated.resetPasswords(caller.customer, body.ids), true),
    })),

    bindReply(shapes.exportDedicated, async ({ caller, query, nextSlice }) => {
      const form = readForm(query)
      if (form.template?.includes('{password}')) assertSeesPasswords(caller)
      const proxies: Awaited<ReturnType<typeof toShown>> = []
      for await (const page of dedicated.pagesOf(caller.customer, query.ids)) {
        proxies.push(...(await toShown(page, seesPasswords(caller))))
        await nextSlice()
      }
      return writeExport(form, proxies)
    }),
  ]

  async function quoteProlonging(customer: CustomerId, { ids, period }: { ids: readonly number[]; period: number }) {
    const { items, total } = await dedicated.quoteProlonging(customer, ids, period)
    return {
      period,
      total_price_rub: toRoubles(total),
      price_rub: toRoubles(total),
      items: items.map(({ proxy, price, expiresAt }) => ({
        id: proxy.id,
        ipv: proxy.ipv,
        price_rub: toRoubles(price),
        expires_at: toIso(expiresAt),
      })),
      valid_until: null,
    }
  }

  function toBought({ receipt, input: { country, ...order }, price, proxies }: BoughtProxies) {
    return {
      ...order,
      order_id: receipt.order,
      check_id: receipt.transaction,
      country_code: country,
      price_rub: toRoubles(price),
      balance_rub: toRoubles(receipt.balance),
      proxies: proxies.map((proxy) => toProxy(shown(proxy, true), gateway)),
    }
  }
}

const nothing: ProxyTraffic = { received: 0n, sent: 0n }

const toProlonged = ({ receipt, period, items, total }: Prolonged) => ({
  order_id: receipt.order,
  period,
  total_price_rub: toRoubles(total),
  price_rub: toRoubles(total),
  balance_rub: toRoubles(receipt.balance),
  items: items.map(({ proxy, price, expiresAt }) => ({
    id: proxy.id,
    price_rub: toRoubles(price),
    date_end: toDateEnd(expiresAt),
    expires_at: toIso(expiresAt),
  })),
})
