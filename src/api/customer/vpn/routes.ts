import { toRoubles } from '../../../core/money.ts'
import { assertSeesPasswords, type Caller, seesPasswords } from '../../../domains/customers/index.ts'
import type { CustomersMetadata } from '../../../domains/metadata/index.ts'
import type { Orders } from '../../../domains/orders/index.ts'
import type { BoughtVpn, Drawing, Vpn } from '../../../domains/vpn/index.ts'
import { type Bound, bind, bindCreation, bindPurchase } from '../../bind.ts'
import * as shapes from './shapes.ts'

type Deps = {
  readonly vpn: Vpn
  readonly orders: Orders
  readonly metadata: CustomersMetadata
  readonly drawing: Drawing
  readonly publicUrl: () => string
}

export function vpnOperations({ vpn, orders, metadata, drawing, publicUrl }: Deps): readonly Bound[] {
  const linkFor =
    (caller: Caller) =>
    (secret: string): string | null =>
      seesPasswords(caller) ? shapes.toLink(publicUrl(), secret) : null
  const toShown = async (caller: Caller, view: BoughtVpn['view']) => {
    const { uuid } = view.subscription
    const pairs = await metadata.of(caller.customer, 'vpn', [uuid])
    return shapes.toSubscription(view, linkFor(caller), pairs.get(uuid))
  }
  const shown = (bought: BoughtVpn) => shapes.toBought(bought, publicUrl())
  const warningsOf = ({ view }: BoughtVpn) => (view.node === 'offline' ? [shapes.nodeOfflineWarning] : [])
  return [
    bind(shapes.quoteVpn, async ({ caller, query }) => {
      const months = shapes.periodOf(query)
      const held = query.uuid === undefined ? undefined : await vpn.slotsOf(caller.customer, query.uuid)
      const prices = (await vpn.quote(months, held)).map((each) => ({
        period: each.months,
        price_rub: toRoubles(each.total),
        price_per_month_rub: toRoubles(each.perMonth),
        slots: each.slots,
        slots_price_rub: toRoubles(each.slotsTotal),
      }))
      const [first] = prices
      const offer = months !== undefined && first ? first : { prices }
      return { ...offer, available: await vpn.isServed(), valid_until: null }
    }),

    bind(shapes.listVpnLocations, async () => ({
      locations: (await vpn.locations()).map((location) => ({
        location: location.name,
        country_code: location.countryCode,
        city: location.city,
        node: location.up ? ('online' as const) : ('offline' as const),
      })),
    })),

    bindPurchase(
      shapes.buyVpn,
      shown,
      (request, { body }) =>
        vpn.buy(request, {
          months: shapes.loadPeriod(body),
          name: body.name,
          publicKey: body.public_key,
          location: body.location,
          autoRenew: body.auto_renew,
        }),
      warningsOf,
    ),

    bindPurchase(
      shapes.renewVpn,
      shown,
      (request, { body }) => vpn.renew(request, { uuid: body.uuid, months: shapes.loadPeriod(body) }),
      warningsOf,
    ),

    bind(shapes.getVpn, async ({ caller, query }) => {
      const { views, up } = await vpn.info(caller.customer, query.uuid)
      const ids = views.map((view) => view.subscription.uuid)
      const pairs = await metadata.of(caller.customer, 'vpn', ids)
      const sought = Object.entries(query.metadata)
      const found = views.filter(({ subscription }) =>
        sought.every(([key, value]) => pairs.get(subscription.uuid)?.[key] === value),
      )
      return shapes.toOverview(found, linkFor(caller), up, pairs)
    }),

    bindCreation(
      shapes.addVpnDevice,
      orders,
      ({ view, configuration }: Awaited<ReturnType<Vpn['addDevice']>>) => ({
        uuid: view.subscription.uuid,
        device: shapes.toDevice(configuration.device, view),
        config: configuration.text,
        device_limit: view.subscription.deviceLimit,
        devices_left: view.subscription.deviceLimit - view.devices.length,
      }),
      ({ caller, body: { public_key: publicKey, ...order } }) =>
        vpn.prepareDevice(caller.customer, { ...order, publicKey }),
    ),

    bind(shapes.getVpnConfig, async ({ caller, query }) => {
      assertSeesPasswords(caller)
      const { format } = query
      const { uuid, configuration } = await vpn.configuration(caller.customer, query)
      return {
        uuid,
        device: configuration.device.id,
        location: configuration.location,
        format,
        ...draw(drawing, format, configuration.text),
      }
    }),

    bind(shapes.resetVpnLink, async ({ caller, body }) => {
      const { subscription, secret } = await vpn.resetLink(caller.customer, body.uuid)
      return { uuid: subscription.uuid, subscription_url: shapes.toLink(publicUrl(), secret) }
    }),

    bind(shapes.setVpnAutoRenew, async ({ caller, body }) => {
      const input = {
        uuid: body.uuid,
        enabled: body.enabled,
        months: shapes.periodOf(body),
        token: caller.token?.id ?? null,
      }
      return toShown(caller, await vpn.setAutoRenew(caller.customer, input))
    }),

    bind(shapes.setVpnName, async ({ caller, body }) => toShown(caller, await vpn.setName(caller.customer, body))),

    bind(shapes.quoteVpnSlots, async ({ query: { count } }) => {
      const prices = (await vpn.quoteSlots(count)).map((each) => ({
        count: each.count,
        price_rub: toRoubles(each.price),
      }))
      const [first] = prices
      return { ...(count !== undefined && first ? first : { prices }), valid_until: null }
    }),

    bindPurchase(shapes.increaseVpnDevices, shapes.toIncreased, (request, { body: { uuid, count } }) =>
      vpn.increase(request, { uuid, count }),
    ),

    bind(shapes.resetVpnDevices, async ({ caller, body }) => {
      const { uuid, removed } = await vpn.resetDevices(caller.customer, body)
      return { uuid, removed: removed.map(({ id }) => id), devices: [] }
    }),

    bind(shapes.removeVpnDevice, async ({ caller, body }) => {
      const view = await vpn.removeDevice(caller.customer, { uuid: body.uuid, device: body.device })
      return {
        uuid: view.subscription.uuid,
        removed: body.device,
        devices: view.devices.map((each) => shapes.toDevice(each, view)),
      }
    }),

    bind(shapes.quoteVpnRefund, async ({ caller, query }) => {
      const { uuid, refund } = await vpn.quoteRefund(caller.customer, query.uuid)
      return { uuid, refund_rub: toRoubles(refund) }
    }),

    bind(shapes.deleteVpn, async ({ caller, body }) => {
      const done = await vpn.delete(caller.customer, body.uuid)
      return {
        uuid: done.uuid,
        deleted: true as const,
        refunded_rub: toRoubles(done.refunded),
        balance_rub: toRoubles(done.balance),
      }
    }),
  ]
}

/** A configuration in the requested form. Bytes are base64, because the answer is JSON. */
function draw(drawing: Drawing, format: 'conf' | 'qr' | 'svg' | 'png', text: string) {
  if (format === 'png') {
    return { media_type: 'image/png', encoding: 'base64' as const, config: drawing.png(text).toBase64() }
  }
  const encoding = 'utf-8' as const
  if (format === 'svg') return { media_type: 'image/svg+xml', encoding, config: drawing.svg(text) }
  return { media_type: 'text/plain', encoding, config: format === 'qr' ? drawing.terminal(text) : text }
}
