import { createLog } from '../../src/adapters/log.ts'
import { readConfig } from '../../src/app/settings/config.ts'
import { openShop, type Shop } from '../../src/app/shop/shop.ts'
import type { Finding } from '../../src/core/finding.ts'
import type { CustomerId, NodeId } from '../../src/core/ids.ts'
import type { PurchaseRequest } from '../../src/domains/orders/index.ts'
import type { BoughtVpn } from '../../src/domains/vpn/index.ts'
import { runtimeWith } from './clock.ts'
import { reportOf } from './node.ts'
import { isLong } from './scale.ts'
import type { Service } from './service.ts'
import { buying } from './wired.ts'

/**
 * The findings of `verify`, over all domains or the named parts. The schema is compared only in a long run: that takes
 * 0.3 s, and no request changes it.
 */
export async function findingsOf(service: Pick<Service, 'services'>, parts?: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = []
  const isChosen = (name: string): boolean => parts?.includes(name) ?? (isLong || name !== 'schema')
  const chosen = service.services.verifiers.filter(({ name }) => isChosen(name))
  for (const verifier of chosen) findings.push(...(await verifier.verify()).findings)
  return findings
}

/** A second shop on the same database, with the same clock and key, as another process would be. */
export async function openSecondShop(service: Service, env: Record<string, string> = {}): Promise<Shop> {
  const config = readConfig({
    TURNPIKE_PORT: '0',
    TURNPIKE_DATA: service.testDatabase.folder,
    TURNPIKE_LOG: 'error',
    TURNPIKE_RATE_READS: '0',
    TURNPIKE_RATE_CHARGES: '0',
    ...(service.engine === 'postgres' && { TURNPIKE_DATABASE_URL: service.testDatabase.address }),
    ...env,
  })
  return openShop(
    config,
    createLog(config.log, 'shop', (line) => service.log.push(line)),
    runtimeWith(service.clock),
  )
}

/** Records a report of a VPN node. */
export async function nodeIsSeen(service: Service, id?: NodeId): Promise<NodeId> {
  const { fleet } = service.services
  const node = id ?? (await fleet.nodes('vpn'))[0]?.id
  if (!node) throw new Error('there is no VPN node')
  await fleet.seen(node, { version: 'test' })
  return node
}

/** Records a report of a gateway that serves VPN devices over TLS, as `gw.example:443`. */
export async function vpnGatewayIsSeen(service: Pick<Service, 'services'>): Promise<NodeId> {
  const { db, fleet } = service.services
  const name = 'vpn-gateway'
  const known = await fleet.findByName(name)
  const { id } = known ?? (await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name, location: 'de' })))
  const tls = { host: 'gw.example', port: 443, browserHost: null }
  const figures = { boot: '1', tunnels: 0, lagMs: 1, totalBytes: 0, hopBytes: 0, isStopping: false, maxPorts: null }
  await fleet.seen(id, { version: 'test', health: { ...figures, tls, isForVpn: true } })
  return id
}

/** Applies a VPN section of the price list. */
export async function sellVpn(service: Service, vpn: Record<string, unknown>): Promise<void> {
  const { db, pricing } = service.services
  const shown = await pricing.show()
  await db.transact((tx) => pricing.apply(tx, { ...(shown?.value as object), vpn }))
  service.clock.advance(1000)
}

/**
 * Passes a node's report to the shop. The hand clock rarely moves, so the node's budget is that of one silent for a
 * day.
 */
export async function report(
  service: Service,
  boot: string,
  counts: readonly { device: string; rx: number; tx: number; handshakeAt?: number }[],
  node = 'node-1',
): Promise<unknown> {
  await service.services.db.transact((tx) =>
    tx.run(
      `INSERT INTO usage_budgets (node, purpose, rest, at, refused) VALUES ($1, 'bytes', 0, $2, 0)
       ON CONFLICT (node, purpose) DO UPDATE SET at = excluded.at`,
      [node, service.clock.nowMs - 86_400_000],
    ),
  )
  return service.services.vpn.nodes.report(
    node,
    reportOf({
      boot,
      peers: counts.map((each) => ({
        id: each.device,
        received: each.rx,
        sent: each.tx,
        handshake_at: each.handshakeAt ?? null,
      })),
    }),
  )
}

/** Buys without HTTP. */
export const buyVpnDirectly = (service: Service, customer: CustomerId, months = 1): Promise<BoughtVpn> =>
  buying(customer, (request: PurchaseRequest<BoughtVpn>) => service.services.vpn.buy(request, { months }))

/** Runs jobs, at most `atOnce` in parallel. */
export async function inParallel(count: number, atOnce: number, job: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < count) {
      next += 1
      await job(next - 1)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
