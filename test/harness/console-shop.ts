import type { SubuserId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { HandClock, runtimeWith } from './clock.ts'
import type { Engine } from './database.ts'
import { openShopWithGateway, type ShopWithGateway } from './gateway.ts'
import { reportOf } from './node.ts'
import { type Service, startService } from './service.ts'
import { nodeIsSeen, report } from './vpn.ts'

const dayMs = 86_400_000
const month = 30
const hosts = ['shop.example.com', 'news.example.org', 'cdn.example.net', 'api.example.com']

/** A last report that is never 10 s old: in the year 255,486. */
const alwaysLive = 8_000_000_000_000_000

/**
 * A shop with a gateway that counts as live however long this process waits for a processor. The shop keeps the latest
 * report time of a node, so the gateway's own reports do not replace this one.
 */
export async function openConsoleShop(
  engine: Engine,
  env?: Parameters<typeof openShopWithGateway>[1],
): Promise<ShopWithGateway> {
  const shop = await openShopWithGateway(engine, env)
  await shop.services.db.transact((tx) => tx.run('UPDATE nodes SET last_seen_at = $1', [alwaysLive]))
  return shop
}

/** A shop with a month of history, for pages that show purchases, traffic and devices of one customer. */
export async function startShopWithHistory(engine: Engine, env: Record<string, string> = {}): Promise<Service> {
  const clock = new HandClock(Date.now() - month * dayMs)
  const started = await startService(engine, { TURNPIKE_PREMIUM_LEASE_BYTES: '400000000', ...env }, runtimeWith(clock))
  const service = { ...started, clock }
  await spendMonth(service, clock)
  await relayTraffic(service, clock)
  await useProxies(service, clock)
  await useVpn(service, clock)
  await takePayments(service, clock)
  await addSubuser(service)
  await service.post('/premium/whitelist/add', { ip: '203.0.113.24', comment: 'office' })
  return service
}

/** Purchases of one month, by day. */
async function spendMonth(service: Service, clock: HandClock): Promise<void> {
  const startedAt = clock.nowMs
  const on = (day: number) => {
    clock.nowMs = startedAt + day * dayMs
  }
  const buy = (path: string, body: object) => service.post(path, body)
  on(1)
  await buy('/premium/traffic/buy', { pool_type: 'residential', gb: 12 })
  on(5)
  await buy('/dedicated/buy', { country_code: 'DE', period: 30, count: 3, ipv: 4 })
  on(9)
  await buy('/vpn/buy', { period: 3, name: 'Phone' })
  on(12)
  await buy('/premium/traffic/buy', { pool_type: 'datacenter', gb: 40 })
  on(17)
  await buy('/dedicated/buy', { country_code: 'NL', period: 14, count: 2, ipv: 3 })
  on(21)
  await buy('/premium/traffic/buy', { pool_type: 'mobile', gb: 2.5 })
  await service.post('/vpn/devices', { name: 'Laptop' })
  on(26)
  const { data } = await buy('/dedicated/buy', { country_code: 'US', period: 30, count: 5, ipv: 6 })
  const ids = data.proxies.map((each: { id: number }) => each.id)
  await service.post('/dedicated/comment', { ids: ids.slice(0, 2), comment: 'price watch' })
  await service.post('/dedicated/auto-renew', { ids: ids.slice(0, 2), period: 30 })
  await service.post('/dedicated/replace', { id: ids[4] })
  on(29)
  await buy('/premium/traffic/buy', { pool_type: 'residential', gb: 8 })
  clock.nowMs = startedAt + month * dayMs
}

/** A reseller: a sub-user with its own traffic and limits. */
async function addSubuser(service: Service): Promise<void> {
  const limits = { day_limit_bytes: 2_000_000_000, month_limit_bytes: 20_000_000_000, tunnel_limit: 50 }
  const { data } = await service.post('/premium/subusers', { name: 'Reseller', ...limits })
  const body = { pool_type: 'datacenter', gb: 15, to_subuser_id: data.subuser.subuser_id }
  await service.post('/premium/traffic/move', body)
}

/** A month of traffic through one gateway, different from day to day. */
async function relayTraffic(service: Service, clock: HandClock): Promise<void> {
  const { data } = await service.get('/premium/password')
  const { metering } = service.services.premium
  const subuser = data.subuser.subuser_id as SubuserId
  await service.post('/premium/subusers/update', { keep_hosts: true })
  const endsAt = clock.nowMs
  const relayed = new Map(hosts.map((host) => [host, 0n]))
  const of = { subuser, pool: 'residential' }
  for (let day = 0, turn = 1; day <= month - 2; day += 1, turn += 1) {
    clock.nowMs = endsAt - (month - 2 - day) * dayMs
    for (const [index, host] of hosts.entries()) {
      const more = BigInt(9_000_000 * (1 + ((day * 7 + index * 3) % 11)))
      relayed.set(host, (relayed.get(host) ?? 0n) + more / BigInt(index + 1))
    }
    const received = [...relayed.values()].reduce((sum, each) => sum + each, 0n)
    await metering.takeReport({
      node: 'lived-in',
      boot: 'b1',
      counts: [{ ...of, received, sent: received / 9n }],
      leaseRequests: [{ ...of, turn, want: 'lease' }],
      hosts: [...relayed].map(([host, bytes]) => ({ ...of, host, received: bytes, sent: bytes / 9n })),
    })
  }
  clock.nowMs = endsAt
}

/** Traffic of the dedicated proxies on each of the last 20 days, different from day to day; one is not used. */
async function useProxies({ services }: Service, clock: HandClock): Promise<void> {
  const endsAt = clock.nowMs
  const rows = await services.db.all<{ id: bigint }>('SELECT id FROM proxies ORDER BY id')
  const used = rows.slice(0, -1).map((row) => ({ id: Number(row.id), received: 0, sent: 0 }))
  for (let day = 20; day >= 0; day -= 1) {
    clock.nowMs = endsAt - day * dayMs
    for (const [index, each] of used.entries()) {
      each.received += 40_000_000 * ((day * 5 + index * 7) % 13)
      each.sent += 3_000_000 * ((day * 3 + index) % 5)
    }
    await services.dedicated.nodes.report('lived-in', reportOf({ boot: 'b1', proxies: structuredClone(used) }))
  }
  clock.nowMs = endsAt
}

/** Payment providers, top-ups with a promotion code, a referred customer, and a pending payment. */
async function takePayments(service: Service, clock: HandClock): Promise<void> {
  const { codes, customers, providers, referrals } = service.services
  const endsAt = clock.nowMs
  const none = { methods: undefined, min: new Map(), max: new Map(), fee: new Map([['card', '2.5']]) }
  const shop = new Map([['shop_id', '100500']])
  await providers.set('yookassa', { ...none, settings: shop, secret: `live_${'0'.repeat(20)}` })
  const details = new Map([['details', 'Account 42']])
  await providers.set('invoice', { ...none, fee: new Map(), settings: details, secret: undefined })
  const terms = { least: kopecks(50_000n), untilAt: endsAt + month * dayMs, note: 'newsletter' }
  await codes.add({ ...terms, code: 'SPRING', kind: 'percent', value: 1000n, uses: 100 })
  await codes.add({ ...terms, code: 'GIFT', kind: 'amount', value: 10_000n, uses: null, untilAt: null })
  await codes.end('GIFT')
  await referrals.set({ hundredths: 500, topUps: 3 })
  await service.post('/referral', {})
  const brought = await service.newCustomer()
  const [owner] = (await customers.list('', 500)).filter((each) => each.id !== brought.customer)
  if (owner) await referrals.add(brought.customer, owner.id)
  const pay = async (day: number, roubles: number, token: string, also: object = {}) => {
    clock.nowMs = endsAt - (month - day) * dayMs
    const { data } = await service.post('/payments', { amount_rub: roubles, method: 'sandbox', ...also }, { token })
    await fetch(data.pay_url, { method: 'POST', redirect: 'manual' })
  }
  await pay(27, 2500, brought.token)
  await pay(29, 700, brought.token)
  await pay(month, 1000, service.token, { code: 'SPRING' })
  await service.post('/payments', { amount_rub: 300, method: 'transfer' }, { token: brought.token })
}

/** Devices with old handshakes, on a node that is up. */
async function useVpn(service: Service, clock: HandClock): Promise<void> {
  const node = await nodeIsSeen(service)
  const { data } = await service.get('/vpn/info')
  const devices = data.devices as readonly { id: string }[]
  await report(
    service,
    'b1',
    devices.map(({ id }, index) => ({
      device: id,
      rx: 3_400_000_000 / (index * 4 + 1),
      tx: 410_000_000 / (index * 4 + 1),
      handshakeAt: clock.nowMs - (index * 400 + 2) * 60_000,
    })),
    node,
  )
  await nodeIsSeen(service, node)
}
