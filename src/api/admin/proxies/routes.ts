import { refuseField } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { ipv4Text, readUuid, type SubscriptionId } from '../../../domains/vpn/rules.ts'
import { orRefuse } from '../../answers.ts'
import { isoOrNull, toWhole } from '../../fields.ts'
import { pageOf, positionOf, readNumber, soughtFor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, nameOf, namesOf, requestTextOf } from '../bind.ts'
import { dryRunOf } from '../fields.ts'
import * as shapes from './shapes.ts'

const readProxy = (text: string): number => orRefuse(readNumber(text), 'proxy_not_found')

const readSubscription = (text: string): SubscriptionId => orRefuse(readUuid(text), 'subscription_not_found')

export function adminThingOperations(bind: BindAdmin, deps: AdminDeps) {
  const { proxyOperator } = deps
  return [
    interrupted(bind, deps),
    bind(shapes.showProxy, async (call) => {
      const shown = await proxyOperator.show(readProxy(call.params.proxy))
      const { proxy, status, node, received, sent, addresses } = shown
      // Counting through the numbers leads from an address to its holder, so it is logged like that question.
      const { actor } = call.caller
      await deps.mustNote({ actor, operation: shapes.showProxy.id, request: requestTextOf(call) })
      return {
        proxy: proxy.id,
        customer_id: proxy.customer,
        customer_name: await nameOf(deps, proxy.customer),
        order_id: proxy.order,
        status,
        address: proxy.address,
        node,
        country: proxy.country,
        ipv: proxy.ipv,
        port_type: proxy.portType,
        username: proxy.username,
        comment: proxy.comment,
        started_at: toIso(proxy.startedAt),
        expires_at: toIso(proxy.expiresAt),
        ended_at: isoOrNull(proxy.endedAt),
        interrupted_at: isoOrNull(proxy.interruptedAt),
        interrupted_by: proxy.interruptedBy,
        auto_renew: proxy.renewPeriod,
        rx_bytes: Number(received),
        tx_bytes: Number(sent),
        addresses: addresses.map((each) => ({
          address: each.address,
          from: toIso(each.startedAt),
          until: isoOrNull(each.endedAt),
        })),
      }
    }),
    bind(shapes.checkAnyProxy, async ({ params }) => {
      const { proxy } = await proxyOperator.show(readProxy(params.proxy))
      return { proxy: proxy.id, ...(await deps.checkProxy(proxy.customer, proxy.id)) }
    }),
    bind(shapes.endProxy, async ({ params, body, key }) => {
      const give = body.refund ? 'unused' : 'nothing'
      const end = () => proxyOperator.end(readProxy(params.proxy), { give, note: body.note, key })
      return { ...(await deps.dryRunIf(body.dry_run, end)), ...dryRunOf(body) }
    }),
    bind(shapes.replaceProxy, async ({ params, body, key }) => ({
      ...(await proxyOperator.replace(readProxy(params.proxy), { note: body.note, key })),
    })),
    ...vpnOperations(bind, deps),
  ]
}

const interrupted = (bind: BindAdmin, deps: AdminDeps) =>
  bind(shapes.listInterrupted, async ({ query }) => {
    const found = await deps.outages.list(positionOf(query.cursor, readNumber) ?? 0, soughtFor(query.limit))
    const nodes = await deps.stock.served.servingNodeNames(found.map((each) => each.slot))
    const nameIn = await namesOf(
      deps,
      found.map((each) => each.customer),
    )
    return pageOf(found, query.limit, 'id', (proxy) => ({
      proxy: proxy.id,
      customer_id: proxy.customer,
      customer_name: nameIn(proxy.customer),
      address: proxy.address,
      node: nodes.get(proxy.slot) ?? null,
      since: toIso(proxy.interruptedAt ?? 0),
      reason: proxy.interruptedBy,
    }))
  })

function vpnOperations(bind: BindAdmin, deps: AdminDeps) {
  const { vpn, fleet } = deps
  const switching = (operation: typeof shapes.disableVpn, disabled: boolean) =>
    bind(operation, async ({ params }) => {
      const uuid = readSubscription(params.uuid)
      await vpn.setDisabled(uuid, disabled)
      return { uuid, disabled }
    })
  return [
    bind(shapes.showVpn, async ({ params }) => {
      const view = await vpn.show(readSubscription(params.uuid))
      const { subscription } = view
      return {
        uuid: subscription.uuid,
        customer_id: subscription.customer,
        customer_name: await nameOf(deps, subscription.customer),
        status: view.status,
        expires_at: toIso(subscription.expiresAt),
        device_limit: subscription.deviceLimit,
        auto_renew_months: subscription.autoRenewMonths,
        node: view.node,
        devices: view.devices.map((device) => ({
          device_id: device.id,
          name: device.name,
          public_key: device.publicKey,
          ipv4: ipv4Text(device.ipv4),
          ipv6: device.ipv6,
          rx_bytes: Number(device.received),
          tx_bytes: Number(device.sent),
          last_seen_at: isoOrNull(device.lastHandshakeAt),
          last_protocol: device.lastProtocol,
          last_node: view.nodeNames.get(device.lastNode ?? '') ?? null,
        })),
      }
    }),
    bind(shapes.getVpnUsage, async () => ({
      items: (await vpn.usage()).map(({ node, protocol, devices, received, sent }) => ({
        node,
        protocol,
        devices,
        rx_bytes: toWhole(received),
        tx_bytes: toWhole(sent),
      })),
    })),
    bind(shapes.moveVpn, async ({ params, body }) => {
      const uuid = readSubscription(params.uuid)
      const node = await fleet.findByName(body.node)
      if (node?.kind !== 'vpn') throw refuseField('node', 'name_of', { thing: 'vpn_node' })
      return { uuid, node: node.name, devices: (await vpn.move(uuid, node)).devices }
    }),
    switching(shapes.disableVpn, true),
    switching(shapes.enableVpn, false),
  ]
}
