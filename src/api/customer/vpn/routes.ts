import { toRoubles } from '../../../core/money.ts'
import type { Caller } from '../../../domains/customers/index.ts'
import type { Bought, Drawing, Vpn } from '../../../domains/vpn/index.ts'
import { type Bound, bind, bindPurchase } from '../../bind.ts'
import { assertSeesPasswords, seesPasswords } from '../passwords.ts'
import {
  buyVpn,
  deleteVpn,
  getVpn,
  loadPeriod,
  notCarried,
  periodOf,
  quoteVpn,
  renewVpn,
  setVpnAutoRenew,
  toBought,
  toQuote,
} from './shapes.ts'
import {
  addVpnDevice,
  getVpnConfig,
  listVpnLocations,
  removeVpnDevice,
  resetVpnLink,
  toAdded,
  toLocations,
  toReset,
} from './shapes-devices.ts'
import { toDevice, toLink, toOverview, toSubscription } from './shapes-subscription.ts'

type Deps = { readonly vpn: Vpn; readonly drawing: Drawing; readonly publicUrl: () => string }

export function vpnOperations({ vpn, drawing, publicUrl }: Deps): readonly Bound[] {
  /** How a caller is shown the secret link of a subscription. */
  const linkFor =
    (caller: Caller) =>
    (secret: string): string | null =>
      seesPasswords(caller) ? toLink(publicUrl(), secret) : null
  const shown = (bought: Bought) => toBought(bought, publicUrl())
  const warningsOf = ({ view }: Bought) => (view.node === 'offline' ? [notCarried] : [])
  return [
    bind(quoteVpn, async ({ query }) => {
      const months = periodOf(query)
      return toQuote(await vpn.quote(months), months !== undefined, await vpn.isCarried())
    }),

    bind(listVpnLocations, async () => toLocations(await vpn.locations())),

    bindPurchase(
      buyVpn,
      shown,
      (request, { body }) =>
        vpn.buy(request, {
          months: loadPeriod(body),
          name: body.name,
          publicKey: body.public_key,
          location: body.location,
          autoRenew: body.auto_renew,
        }),
      warningsOf,
    ),

    bindPurchase(
      renewVpn,
      shown,
      (request, { body }) => vpn.renew(request, { uuid: body.uuid, months: loadPeriod(body) }),
      warningsOf,
    ),

    bind(getVpn, async ({ caller, query }) => {
      const { views, up } = await vpn.info(caller.customer, query.uuid)
      return toOverview(views, linkFor(caller), up)
    }),

    bind(addVpnDevice, async ({ caller, body }) =>
      toAdded(
        await vpn.addDevice(caller.customer, {
          uuid: body.uuid,
          name: body.name,
          publicKey: body.public_key,
          location: body.location,
        }),
      ),
    ),

    bind(getVpnConfig, async ({ caller, query }) => {
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

    bind(resetVpnLink, async ({ caller, body }) =>
      toReset(await vpn.resetLink(caller.customer, body.uuid), publicUrl()),
    ),

    bind(setVpnAutoRenew, async ({ caller, body }) => {
      const wish = { uuid: body.uuid, enabled: body.enabled, months: periodOf(body), token: caller.token?.id ?? null }
      return toSubscription(await vpn.setAutoRenew(caller.customer, wish), linkFor(caller))
    }),

    bind(removeVpnDevice, async ({ caller, body }) => {
      const view = await vpn.removeDevice(caller.customer, { uuid: body.uuid, device: body.device })
      return { uuid: view.subscription.uuid, removed: body.device, devices: view.devices.map(toDevice) }
    }),

    bind(deleteVpn, async ({ caller, body }) => {
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

/** A configuration in the form that was asked for. Bytes travel as base64, because the answer is JSON. */
function draw(drawing: Drawing, format: 'conf' | 'qr' | 'svg' | 'png', text: string) {
  if (format === 'png') {
    return { media_type: 'image/png', encoding: 'base64' as const, config: drawing.png(text).toBase64() }
  }
  const encoding = 'utf-8' as const
  if (format === 'svg') return { media_type: 'image/svg+xml', encoding, config: drawing.svg(text) }
  return { media_type: 'text/plain', encoding, config: format === 'qr' ? drawing.terminal(text) : text }
}
