import { createVault } from '../../src/adapters/crypto.ts'
import { createServices, type Services } from '../../src/app/shop/services.ts'
import { type CustomerId, type OrderId, operatorsOwner } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import type { Database } from '../../src/db/transaction.ts'
import type { OpenProxy } from '../../src/domains/dedicated/index.ts'
import type { Payer } from '../../src/domains/ledger/index.ts'
import { toolActor } from '../../src/domains/operators/rules.ts'
import { shippedTerms } from '../../src/domains/premium/rules.ts'
import shippedCatalogue from '../../src/domains/pricing/catalogue.yaml'
import { introduce } from '../providers/shop.ts'
import { HandClock, runtimeWith } from './clock.ts'
import { type Engine, fewConnections, openTestDatabase } from './database.ts'
import { reportOf } from './node.ts'
import { prefixOf } from './proxies.ts'
import { addStockGateway } from './stock-gateway.ts'

const pool = 'residential'
const leaseBytes = 10_000_000n
const minuteMs = 60_000

/** All domains on a database, with small leases, so that little traffic makes a long history. */
export function wireFilled(db: Database, clock: HandClock): Services {
  const services = createServices(db, runtimeWith(clock), {
    vault: createVault(new Uint8Array(32).fill(5)),
    gateway: { host: 'gw.example.net', address: '198.51.100.1', port: 10_800 },
    premium: { ...shippedTerms, leaseBytes },
  })
  return addStockGateway(services)
}

type Shop = { readonly services: Services; readonly clock: HandClock }
type Buyer = { readonly customer: CustomerId; readonly by: Payer }

/** A shop with history: a copy if the test command has one, with the clock of its last checkpoint. */
export async function openFilledShop(engine: Engine) {
  const opened = await openTestDatabase(engine, fewConnections, 'filled')
  const last = await opened.db.first<{ at: bigint | null }>('SELECT MAX(made_at) AS at FROM checkpoints')
  const isFilled = last !== undefined && last.at !== null
  const clock = isFilled ? new HandClock(Number(last.at)) : new HandClock()
  const services = wireFilled(opened.db, clock)
  if (!isFilled) await fillShop({ services, clock })
  return { ...opened, services, clock }
}

/**
 * Fills a shop with every kind of row: each product bought, renewed, replaced, refunded, moved, expired, deleted and
 * blocked; nodes that joined, were closed, reported twice, fell silent and claimed too much; three checkpoints.
 */
export async function fillShop(shop: Shop): Promise<void> {
  const { services, clock } = shop
  await services.db.transact((tx) => services.pricing.apply(tx, priceList(2)))
  clock.advance(1000)
  await services.db.transact((tx) => services.pricing.apply(tx, priceList(3)))
  clock.advance(1000)
  const anna = await addBuyer(shop, 'Anna', kopecks(9_000_000n))
  const boris = await addBuyer(shop, 'Boris', null)
  const clara = await addBuyer(shop, 'Clara', null)
  const doras = [await addKnown(shop, 'Dora'), await addKnown(shop, 'Darya')]
  await addTokens(shop, anna)
  await addWebhooks(shop, anna)
  await addOperators(shop, anna)
  await addNodes(shop)
  await addStock(shop)
  await addExits(shop)
  await buyProxies(shop, anna, boris)
  await buyVpn(shop, anna, boris)
  await buyTraffic(shop, anna, boris)
  await services.ledgerAudit.makeCheckpoint()
  clock.advance(5 * minuteMs)
  await services.ledgerAudit.makeCheckpoint()
  await passTime(shop, anna, boris)
  await payIn(shop, anna, boris)
  await services.setBlocked(clara.customer, true)
  for (const [index, id] of ['a', 'b'].entries()) {
    const of = {
      customer: anna.customer,
      at: clock.nowMs + index,
      operation: 'buyDedicated',
      token: null,
      key: `key ${id}`,
    }
    services.requests.note({
      ...of,
      id,
      status: 200 + index,
      reason: index === 0 ? null : 'out_of_stock',
      isRead: false,
    })
  }
  await services.requests.write()
  // Days are noted, and summed some minutes later.
  for (const _ of [1, 2]) {
    for (const { sumDays } of [services.ledger, services.orders]) await sumDays(1000)
    clock.advance(3 * minuteMs)
  }
  // Only shops that share a database store their rate limits.
  await services.db.transact((tx) =>
    tx.run(`INSERT INTO rate_buckets (name, back_at) VALUES ('reads anna', 1), ('reads boris', 2)`),
  )
  for (const id of doras) {
    clock.advance(1000)
    await services.erasing.erase(id, { by: 'operator', isConfirmed: () => true })
  }
  // A checkpoint covers only settled rows; this time is later than the last posting, so it covers all.
  clock.advance(5 * minuteMs)
  await services.ledgerAudit.makeCheckpoint()
}

/**
 * Payments that were made, refused, late, refunded in part and in full, with promotion codes, and one that matches no
 * payment.
 */
async function payIn({ services, clock }: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { payments, paymentOperator, paymentWatch, providers, codes, referrals } = services
  const none = { methods: undefined, min: new Map(), max: new Map(), fee: new Map([['transfer', '2']]) }
  await providers.set('invoice', { ...none, settings: new Map([['details', 'account 42']]), secret: undefined })
  clock.advance(1000)
  const terms = { least: kopecks(100n), uses: 9, untilAt: clock.nowMs + 86_400_000, note: 'spring' }
  await codes.add({ code: 'SPRING', kind: 'percent', value: 500n, ...terms })
  clock.advance(1000)
  await codes.add({ code: 'GIFT', kind: 'amount', value: 700n, ...terms, uses: null, untilAt: null })
  await codes.end('GIFT')
  await referrals.set({ hundredths: 500, topUps: 3 })
  await referrals.add(boris.customer, anna.customer)
  for (const { customer } of [anna, boris]) await referrals.makeCode(customer)
  const begin = async (by: Payer, key: string, amount: bigint, also: object = {}) => {
    clock.advance(1000)
    const input = { amount: kopecks(amount), method: 'transfer', returnUrl: 'https://a.example/', email: undefined }
    return (await payments.begin(by, key, { ...input, ...also }, 'https://shop.example')).payment.id
  }
  const first = await begin(anna.by, 'pay 1', 50_000n, { code: 'SPRING' })
  const second = await begin(boris.by, 'pay 2', 60_000n, { code: 'SPRING' })
  const third = await begin(boris.by, 'pay 3', 70_000n, { purchase: { product: 'vpn', input: { months: 1 } } })
  await begin(anna.by, 'pay 4', 80_000n, { purchase: { product: 'vpn', input: { months: 3 } } })
  clock.advance(1000)
  for (const id of [first, second, third]) await paymentOperator.markPaid(id, 'came', `mark ${id}`)
  clock.advance(1000)
  await paymentOperator.refund(first, { amount: kopecks(10_000n), intoDebt: false, note: 'part' })
  await paymentOperator.refund(second, { amount: 'all', intoDebt: true, note: 'whole' })
  const { side, secret, method } = await introduce(services, 'platega', { now: clock.read })
  const from = { version: 4 as const, bytes: Uint8Array.of(127, 0, 0, 1) }
  const notify = async (id: string | undefined) => {
    clock.advance(1000)
    const headers = new Headers({ 'X-MerchantId': 'a1b2c3', 'X-Secret': secret })
    await paymentWatch.notify('platega', { headers, body: new TextEncoder().encode(JSON.stringify({ id })), from })
  }
  for (const id of ['a-1', 'a-2']) await notify(id)
  for (const key of ['pay 5', 'pay 6']) {
    const id = await begin(anna.by, key, 90_000n, { method })
    const bill = [...side.bills.values()].find((each) => each.mark === id)
    side.pay(bill?.id ?? '')
    await notify(bill?.id)
    await paymentOperator.refund(id, { amount: 'all', intoDebt: true, note: 'by its provider' })
  }
  await side.stop()
  const [noticed] = await paymentOperator.unmatched(false, 1)
  if (noticed) await paymentOperator.resolve(noticed.id, { customer: undefined, note: 'looked at' })
}

/** The shipped prices, with traffic that expires and a VPN with limits. */
const priceList = (deviceLimit: number): unknown => {
  const shipped = shippedCatalogue as { premium: { pools: Record<string, object> }; vpn: object }
  const { mobile, ...pools } = shipped.premium.pools
  return {
    ...shipped,
    premium: { pools: { ...pools, mobile: { ...mobile, expires_days: 10 } } },
    vpn: { ...shipped.vpn, device_limit: deviceLimit, traffic_gb: 100, speed_mbit: 50 + deviceLimit },
  }
}

async function addBuyer(
  { services, clock }: Shop,
  name: string,
  cap: ReturnType<typeof kopecks> | null,
): Promise<Buyer> {
  const { id } = await services.customers.create(name)
  await services.db.transact((tx) => services.ledger.credit(tx, id, kopecks(10_000_000n), 'operator', `for ${name}`))
  for (const kind of ['credit', 'debit'] as const) {
    const marks = { key: `${kind} ${name}`, reference: `bank ${name}` }
    const adjustment = { kind, amount: kopecks(100n), note: kind, ...marks }
    await services.db.transact((tx) => services.ledger.adjust(tx, id, adjustment))
  }
  const { token } = await services.customers.issueToken(id, { name: `${name}'s`, cap })
  clock.advance(1000)
  return { customer: id, by: { customer: id, token: { id: token.id, cap } } }
}

/** A customer whom an operator created by name, and who will be erased. */
async function addKnown({ services, clock }: Shop, name: string): Promise<CustomerId> {
  const { acting, customers } = services
  clock.advance(1000)
  const action = { actor: toolActor, operation: 'createCustomer', request: JSON.stringify({ names: [name] }) }
  const { id } = await acting.act(action, () => customers.create(name))
  await customers.issueToken(id, { name: `${name}'s` })
  clock.advance(1000)
  return id
}

/** Endpoints of webhooks: one with former secrets, one that is disabled, one removed, and a test that waits. */
async function addWebhooks({ services, clock }: Shop, { customer }: Buyer): Promise<void> {
  const { db, webhooks } = services
  const ids = []
  for (const name of ['first', 'second', 'third']) {
    clock.advance(1000)
    const choice = { url: `https://${name}.example.com/hook`, events: name === 'first' ? [] : ['order.created'] }
    ids.push((await db.transact(await webhooks.prepare(customer, choice))).webhook.id)
  }
  const [first, second, third] = ids
  if (!first || !second || !third) throw new Error('no endpoint was added')
  await webhooks.rotate(customer, first)
  await webhooks.sendTest(customer, first)
  await webhooks.update(customer, second, { enabled: false })
  await webhooks.remove(customer, third)
  await webhooks.add(operatorsOwner, { url: 'mailto:duty@example.com', events: ['node.lost'] })
  await services.brands.setLines({ name: 'Filled', contact: 'help@shop.example' })
  await services.brands.setImage('icon', btoa('<svg xmlns="http://www.w3.org/2000/svg"></svg>'))
  await services.notices.announcePrices(
    { product: 'vpn', endsWithinDays: 30, node: null },
    { effectiveAt: clock.nowMs + 86_400_000, textEn: 'VPN costs more.', textRu: null },
  )
  // This shop sends no e-mail, so no use case writes these rows.
  await db.transact(async (tx) => {
    await tx.run(
      `INSERT INTO notice_choices (customer_id, kinds, language, done_seq, changed_at) VALUES ($1, 'expiry', 'ru', 1, $2)`,
      [customer, clock.nowMs],
    )
    await tx.run(
      `INSERT INTO notice_letters (id, customer_id, kind, events, more, state, tries, next_at, lease, lease_until,
         created_at) VALUES ('ltr_1', $1, 'expiry', '1', 0, 'waiting', 0, $2, '', 0, $2),
         ('ltr_2', $1, 'traffic', '1 2', 0, 'waiting', 0, $2, '', 0, $2)`,
      [customer, clock.nowMs],
    )
    await tx.run('INSERT INTO notice_days (customer_id, day, letters) VALUES ($1, 1, 2)', [customer])
    await tx.run(
      `INSERT INTO notice_templates (kind, language, subject, text, changed_at) VALUES ('price', 'en', 'a', 'b', $1)`,
      [clock.nowMs],
    )
  })
  await services.alerts.settle(
    ['stock.low'],
    [{ type: 'stock.low', subject: 'DE 4', data: { country: 'DE', ipv: 4, free: 1, total: 40 } }],
  )
}

async function addTokens({ services, clock }: Shop, { customer }: Buyer): Promise<void> {
  await services.customers.issueToken(customer, {
    name: 'office',
    scopes: ['read'],
    allowedFrom: [prefixOf('203.0.113.0/24')],
    expiresAt: clock.nowMs + 86_400_000,
  })
  const { token } = await services.customers.issueToken(customer, { name: 'lost' })
  await services.customers.revokeToken(token.id)
}

/** Operators who were added, acted and were removed; sign-ins by password, by link and with a second factor. */
async function addOperators({ services, clock }: Shop, { customer }: Buyer): Promise<void> {
  const { db, operators, signIn, identities, acting, customers } = services
  const visitor = { source: '203.0.113.9', clientPrefix: 'h', agent: 'a browser', shown: [] }
  const password = 'correct horse battery'
  const [owner, gone] = await db.transact(async (tx) => [
    await operators.add(tx, 'olga', 'owner'),
    await operators.add(tx, 'petr', 'support'),
  ])
  if (!owner || !gone) throw new Error('no operator was added')
  for (const name of ['olga', 'petr'])
    await operators.issueToken(name, { name: 'script', expiresAt: clock.nowMs + 1e9 })
  const { token } = await operators.issueToken('olga', { name: 'lost', expiresAt: null })
  await services.db.transact((tx) => operators.revokeToken(tx, token.id))
  for (const note of ['first', 'second', 'third']) {
    clock.advance(1000)
    const actor = { operator: owner.id, name: 'olga', role: 'owner', source: '203.0.113.9' } as const
    const action = { actor, operation: 'noteCustomer', request: JSON.stringify({ note }) }
    await acting.act(action, () => customers.setNote(customer, note))
  }
  const accounts = [
    { owner: { kind: 'customer', id: customer }, login: 'anna@example.com', email: 'anna@example.com' },
    { owner: { kind: 'operator', id: owner.id }, login: 'olga', email: null },
  ] as const
  for (const each of accounts) {
    clock.advance(1000)
    const kept = await identities.hash(password, each.login, 'h')
    const of = { login: each.login, email: each.email, password: kept, isConfirmed: true }
    await db.transact((tx) => identities.create(tx, each.owner, of))
    const { kind } = each.owner
    const opened = await signIn.byPassword(kind, { login: each.login, password }, visitor)
    await signIn.byPassword(kind, { login: each.login, password }, visitor)
    await signIn.end(each.owner, opened.session.id)
    for (const _ of [1, 2]) {
      clock.advance(1000)
      await db.transact(async (tx) => signIn.issueLink(tx, { kind, owner: each.owner.id, purpose: 'enter' }))
    }
  }
  await identities.beginFactor({ kind: 'customer', id: customer }, password, 'h')
  const payload = JSON.stringify({ email: 'new@example.com', password: 'none' })
  await db.transact(async (tx) => signIn.issueLink(tx, { kind: 'customer', owner: null, purpose: 'confirm', payload }))
  await signIn.openView(owner.id, customer, visitor)
  await db.transact((tx) => operators.remove(tx, 'petr'))
  clock.advance(1000)
}

async function addNodes({ services, clock }: Shop): Promise<void> {
  const { db, fleet } = services
  const nodeLocation = { location: 'frankfurt', countryCode: 'DE', city: 'Frankfurt' }
  const open = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'vpn-1', ...nodeLocation }))
  await db.transact((tx) =>
    fleet.add(tx, {
      kind: 'vpn',
      name: 'vpn-2',
      location: 'paris',
      endpoint: { host: 'v2.example.net', port: 51_820 },
    }),
  )
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gate-1', ...nodeLocation }))
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gate-2', location: 'paris' }))
  const { text } = await fleet.issueKey('gate-1')
  await fleet.join(text, `tpn_${'1'.repeat(64)}`, '0.1.0')
  await fleet.issueKey('gate-2')
  const another = await fleet.issueKey('vpn-1')
  await fleet.join(another.text, `tpn_${'2'.repeat(64)}`, '0.1.0')
  await fleet.close('vpn-2')
  await fleet.setLink('gate-2', 500)
  const own = {
    maxPorts: 900,
    interfaceMegabits: 25_000,
    tls: { host: 'gw.example.net', port: 10_443, browserHost: null },
  }
  const health = { boot: '2026', tunnels: 3, lagMs: 7, totalBytes: 1000, hopBytes: 0, isStopping: false, ...own }
  await fleet.seen(open.id, { version: '0.1.0', health })
  const gate = await fleet.findByName('gate-1')
  if (gate) {
    const stopping = { ...health, tunnels: 4, lagMs: 8, totalBytes: 2000, isStopping: true }
    await fleet.seen(gate.id, { version: '0.1.0', health: stopping })
    for (const boot of ['2024', '2025']) await fleet.noteDraining(gate.id, { ...stopping, boot })
  }
  await db.transact((tx) => fleet.add(tx, { kind: 'gateway', name: 'gate-old', location: 'paris' }))
  await fleet.close('gate-old')
  await services.removeNode('gate-old')
  clock.advance(1000)
}

async function addStock({ services }: Shop): Promise<void> {
  const { stock, stockOperator } = services
  await stock.add(prefixOf('192.0.2.0/28'), { country: 'DE' as never, ipv: 4 })
  await stock.add(prefixOf('198.51.100.0/29'), { country: 'DE' as never, ipv: 3 })
  await stock.add(prefixOf('203.0.113.0/30'), { country: 'FR' as never, ipv: 4 })
  await stock.add(prefixOf('2001:db8:1::/64'), { country: 'DE' as never, ipv: 6 })
  await stock.add(prefixOf('2001:db8:2::/64'), { country: 'FR' as never, ipv: 6 })
  await stockOperator.retirePrefix(prefixOf('2001:db8:2::/64'))
  const [first, second] = await stockOperator.list({ country: 'FR', ipv: 4, state: 'free', after: -1, limit: 2 })
  await stockOperator.retire(prefixOf(first?.address ?? '').base)
  await stockOperator.quarantine(prefixOf(second?.address ?? '').base, 30)
}

async function addExits({ services, clock }: Shop): Promise<void> {
  const { exits } = services.premium
  const location = { country: 'DE', state: 'Berlin', city: 'Berlin', zip: '10115', asn: 3320 }
  await exits.addOne({ pool, kind: 'local', host: '127.100.0.1', port: null, credentials: null, ...location })
  clock.advance(1000)
  const mobile = { pool: 'mobile', kind: 'local' as const, host: '127.100.0.2', port: null, credentials: null }
  await exits.addOne({ ...mobile, ...location })
  clock.advance(1000)
  const upstream = { pool, kind: 'http' as const, host: 'up.example.net', port: 8080 }
  await exits.addOne({ ...upstream, credentials: { username: 'u', password: 'p' }, ...location, asn: null })
  clock.advance(1000)
  const drained = await exits.addOne({
    ...upstream,
    kind: 'socks5',
    port: 1080,
    credentials: { username: 'v', password: 'q' },
    ...location,
    country: 'FR',
    city: 'Paris',
  })
  await exits.drain(drained.id, true)
  const removed = await exits.addOne({ ...upstream, port: 3128, credentials: null, ...location })
  await exits.drain(removed.id, true)
  await exits.remove(removed.id)
  const [gate] = await services.fleet.nodes('gateway')
  if (!gate) throw new Error('there is no gateway')
  const homed = await exits.addOne({
    pool,
    kind: 'local',
    host: '127.100.0.3',
    port: null,
    credentials: null,
    ...location,
    node: gate.id,
  })
  await exits.takeCounts(gate.id, 'boot-1', [{ exit: homed.id, received: 1000n, sent: 200n }])
  await exits.takeCounts(gate.id, 'boot-1', [
    { exit: homed.id, received: 1500n, sent: 300n },
    { exit: drained.id, received: 7n, sent: 5n },
  ])
  await exits.takeCounts(gate.id, 'boot-2', [{ exit: homed.id, received: 10n, sent: 20n }])
  const status = { isUp: true, sinceAt: 1, reason: '' }
  await exits.takeReports(gate.id, [
    { exit: homed.id, ...status },
    { exit: drained.id, ...status, isUp: false, reason: 'it refuses connections' },
  ])
  for (const [index, node] of (await services.fleet.nodes('gateway')).entries()) {
    for (const side of services.nodeSides) {
      if (side.kind !== 'gateway' || side.parts.length > 0) continue
      await side.report(node.id, { hop_key: String(index).repeat(43) } as never)
    }
  }
}

/** A purchase with an idempotency key, as a customer's program makes it; returns the bought product. */
async function keyed<Bought>(
  by: Payer,
  key: string,
  buy: (request: { by: Payer; key: string; toBody: (bought: Bought) => string }) => Promise<unknown>,
): Promise<Bought> {
  let caught: { bought: Bought } | undefined
  await buy({
    by,
    key,
    toBody: (bought) => {
      caught = { bought }
      return JSON.stringify({ key })
    },
  })
  if (!caught) throw new Error('nothing was sold')
  return caught.bought
}

type Proxies = { readonly proxies: readonly OpenProxy[]; readonly receipt: { readonly order: OrderId } }

async function buyProxies({ services, clock }: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { dedicated } = services
  const buy = async ({ by }: Buyer, ipv: 3 | 4 | 6, count: number, period: number): Promise<Proxies> => {
    clock.advance(1000)
    const order = { country: 'DE' as never, ipv, period, count }
    return keyed<Proxies>(by, `proxies ${clock.nowMs}`, (request) => dedicated.buy(request, order))
  }
  const own = await buy(anna, 4, 3, 30)
  const shared = await buy(anna, 3, 2, 30)
  await buy(boris, 3, 2, 7)
  const six = await buy(boris, 6, 2, 3)
  const short = await buy(boris, 4, 2, 7)
  await buy(anna, 6, 1, 90)
  const ids = own.proxies.map((proxy) => proxy.id)
  const [first = 0, second = 0, third = 0] = ids
  clock.advance(minuteMs)
  await dedicated.replace({ by: anna.by, key: undefined }, first)
  clock.advance(minuteMs)
  await keyed(anna.by, 'prolong', (request) => dedicated.prolong(request as never, [first, second], 14))
  await dedicated.setProtocol(anna.customer, [second], 'socks')
  await dedicated.setComment(anna.customer, [third], 'the third')
  for (const id of [first, second]) {
    await services.metadata.change(anna.customer, { kind: 'proxy', id: String(id) }, { client: `${id}`, shop: 'north' })
  }
  await dedicated.allowSource(anna.customer, [first, third], '8.8.4.4')
  await dedicated.disallowSource(anna.customer, [first], '8.8.4.4')
  const [slot = 0] = shared.proxies.map((proxy) => proxy.id)
  await dedicated.setRenewal(anna.customer, [slot], 7, anna.by.token?.id)
  await dedicated.setRenewal(anna.customer, [third], 7)
  await dedicated.setRenewal(boris.customer, [six.proxies[1]?.id ?? 0], 3, boris.by.token?.id)
  await dedicated.setComment(boris.customer, [six.proxies[0]?.id ?? 0], 'six')
  await services.orders.refund(short.receipt.order, kopecks(1000n), 'a slow address')
  const [ended = 0] = short.proxies.map((proxy) => proxy.id)
  await interruptSome({ services, clock }, anna, [first, second], boris, six.proxies[1]?.id ?? 0)
  await services.proxyOperator.end(ended, { give: 'unused', note: 'a lost address', key: 'end one' })
  const proxies = [
    { id: first, received: 1000, sent: 100 },
    { id: second, received: 2000, sent: 200 },
  ]
  await dedicated.nodes.report('gate-1', reportOf({ boot: '2026', proxies }))
  // More than any link moves in the time since: most of it is not believed.
  const absurd = [{ id: third, received: 10 ** 12, sent: 10 ** 9 }]
  await dedicated.nodes.report('gate-2', reportOf({ boot: '2025', proxies: absurd }))
}

/** The first proxy is interrupted and compensated twice, the second once, and the third is still interrupted. */
async function interruptSome(
  { services, clock }: Shop,
  anna: Buyer,
  [first, second]: readonly [number, number],
  boris: Buyer,
  third: number,
): Promise<void> {
  const { outages } = services
  const rule = { time: 'extend', address: 'keep', afterMs: 60_000 } as const
  for (const ids of [[first, second], [first]]) {
    await outages.interrupt(
      ids.map((proxy) => ({ proxy, servedAt: clock.nowMs })),
      'outage',
    )
    clock.advance(minuteMs)
    await outages.restore(anna.customer, ids, rule)
    clock.advance(minuteMs)
  }
  await outages.interrupt([{ proxy: third, servedAt: clock.nowMs }], 'quarantine')
  clock.advance(minuteMs)
  await outages.restore(boris.customer, [third], { ...rule, time: 'refund' })
}

async function buyVpn({ services, clock }: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { vpn } = services
  await markNodeSeen({ services, clock })
  type Sold = { view: { subscription: { uuid: string }; devices: readonly { id: string }[] } }
  const buy = async ({ by }: Buyer, order: object): Promise<Sold> => {
    clock.advance(1000)
    return keyed<Sold>(by, `vpn ${clock.nowMs}`, (request) => vpn.buy(request, order as never))
  }
  const first = await buy(anna, { months: 1, name: 'laptop', autoRenew: true, location: 'frankfurt' })
  const second = await buy(anna, { months: 3 })
  const third = await buy(boris, { months: 1, name: 'phone' })
  const fourth = await buy(boris, { months: 12 })
  const uuid = first.view.subscription.uuid as never
  clock.advance(1000)
  await vpn.addDevice(anna.customer, { uuid, name: 'tablet', publicKey: ownKey })
  const removed = await vpn.addDevice(anna.customer, { uuid, name: 'old phone' })
  await vpn.removeDevice(anna.customer, { uuid, device: removed.configuration.device.id })
  const increase = async ({ by }: Buyer, of: Sold, count: number): Promise<void> => {
    clock.advance(1000)
    const order = { uuid: of.view.subscription.uuid as never, count }
    await keyed(by, `slots ${clock.nowMs}`, (request) => vpn.increase(request as never, order))
  }
  await increase(anna, first, 1)
  await increase(anna, first, 3)
  await increase(boris, fourth, 2)
  clock.advance(1000)
  await keyed(anna.by, 'renew vpn', (request) => vpn.renew(request as never, { uuid, months: 3 }))
  await increase(anna, first, 2)
  const used = [first, second, third].map((sold) => sold.view.devices[0]?.id ?? '')
  for (const [index, boot] of ['2025', '2026'].entries()) {
    const peers = used.map((id, at) => ({
      id,
      received: 1000 * (at + 1) + index,
      sent: 100 * (at + 1),
      handshake_at: clock.nowMs - at,
    }))
    await vpn.nodes.report('vpn-1', reportOf({ boot, peers }))
  }
  const atGateway = used.slice(0, 2).flatMap((id, at) =>
    (['vless', 'trojan'] as const).map((protocol) => ({
      id,
      protocol,
      received: 500 * (at + 1),
      sent: protocol === 'vless' ? 50 : 70,
      handshake_at: clock.nowMs,
    })),
  )
  await vpn.gateways.report('gate-1', reportOf({ boot: '2026', peers: atGateway }))
  const madeUp = used.slice(0, 2).map((id) => ({ id, received: 5000, sent: 500, handshake_at: clock.nowMs }))
  await vpn.nodes.report('vpn-3', reportOf({ boot: '2026', peers: madeUp }))
  await vpn.nodes.forgetUsage('vpn-3', 0, false)
  await vpn.resetLink(anna.customer, second.view.subscription.uuid as never)
  await vpn.setDisabled(second.view.subscription.uuid as never, true)
  clock.advance(86_400_000)
  await vpn.delete(boris.customer, fourth.view.subscription.uuid as never)
}

/** Without a node that reported lately no VPN is sold. */
async function markNodeSeen({ services }: Shop): Promise<void> {
  const node = await services.fleet.findByName('vpn-1')
  if (node) await services.fleet.seen(node.id, { version: '0.1.1' })
}

/** A public key that a customer supplies. */
const ownKey = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='

/** A gateway reports that every exit is up, as it does every few seconds. */
async function reportAllUp({ services }: Shop): Promise<void> {
  const { exits } = services.premium
  const [gate] = await services.fleet.nodes('gateway')
  const all = await exits.list(undefined, '', 100)
  const up = { isUp: true, sinceAt: 1, reason: '' }
  await exits.takeReports(
    gate?.id ?? '',
    all.map((exit) => ({ exit: exit.id, ...up })),
  )
}

async function buyTraffic(shop: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { services, clock } = shop
  const { premium } = services
  const own = await premium.subusers.load(anna.customer, undefined)
  await premium.subusers.update(anna.customer, own.id, { keepHosts: true, limits: {} })
  const child = await premium.subusers.create(anna.customer, {
    name: 'child',
    keepHosts: true,
    limits: { dayBytes: 90_000_000n, monthBytes: 900_000_000n, totalBytes: 5_000_000_000n, tunnels: 10 },
  })
  const gone = await premium.subusers.create(anna.customer, { name: 'gone', keepHosts: false })
  const other = await premium.subusers.load(boris.customer, undefined)
  await premium.subusers.update(boris.customer, other.id, { keepHosts: true, limits: {} })
  const buy = async (buyer: Buyer, of: { id: unknown }, tenths: number, from = pool) => {
    clock.advance(1000)
    await reportAllUp(shop)
    const order = { pool: from, tenths, subuser: of.id as never }
    return keyed<{ order: OrderId }>(buyer.by, `traffic ${clock.nowMs}`, (request) =>
      premium.traffic.buy(request, order),
    )
  }
  await buy(anna, own, 10)
  const refunded = await buy(anna, own, 5)
  await buy(anna, own, 3, 'mobile')
  await buy(anna, gone, 2)
  await buy(boris, other, 4)
  await buy(boris, other, 2, 'mobile')
  const move = (tenths: number | 'all', from: unknown, to: unknown) =>
    keyed(anna.by, `move ${clock.nowMs}`, (request) =>
      premium.traffic.move(request as never, { pool, tenths, from: from as never, to: to as never }),
    )
  clock.advance(1000)
  await move(4, own.id, child.id)
  clock.advance(1000)
  await premium.traffic.refund(refunded.order, 'not used')
  await relay(shop, [own.id, child.id, gone.id], other.id)
  clock.advance(1000)
  await keyed(anna.by, 'delete gone', (request) => premium.remove(request as never, { subuser: gone.id, to: child.id }))
  await premium.subusers.update(anna.customer, child.id, { name: 'a child', blocked: true, limits: {} })
  await premium.subusers.resetPassword(anna.customer, own.id)
  clock.advance(1000)
  await reportAllUp(shop)
  await allowIn(shop, anna, boris)
}

/**
 * Two nodes relay for all sub-users; one reboots, falls silent and claims more than its lease. The claims of a third
 * are false.
 */
async function relay({ services, clock }: Shop, subusers: readonly string[], other: string): Promise<void> {
  const { metering } = services.premium
  const all = [...subusers, other]
  const report = (node: string, boot: string, turn: number, bytes: bigint) => {
    clock.advance(1000)
    return metering.takeReport({
      node,
      boot,
      counts: all.map((subuser, at) => ({
        subuser: subuser as never,
        pool,
        received: bytes + BigInt(at),
        sent: bytes / 10n,
      })),
      leaseRequests: all.map((subuser) => ({ subuser: subuser as never, pool, turn, want: 'lease' as const })),
      hosts: all.flatMap((subuser) =>
        ['example.com', 'example.net'].map((host) => ({
          subuser: subuser as never,
          pool,
          host,
          received: bytes / 2n,
          sent: bytes / 20n,
        })),
      ),
      sources: [{ subuser: other as never, address: '11.22.33.9' }],
    })
  }
  await report('gate-1', '2026-01', 1, 0n)
  await report('gate-1', '2026-01', 2, 3_000_000n)
  await report('gate-2', '2026-01', 1, 0n)
  await report('gate-2', '2026-01', 2, 5_000_000n)
  clock.advance(3_600_000)
  await services.traffic.leases.lapse()
  // After the lease has lapsed: a part may be claimed, the rest goes to quarantine.
  await report('gate-2', '2026-01', 2, 30_000_000n)
  await report('gate-1', '2026-02', 1, 0n)
  await report('gate-1', '2026-02', 2, 4_000_000n)
  // The usage of a third gateway is forgotten as false.
  await report('gate-3', '2026-01', 1, 0n)
  await report('gate-3', '2026-01', 2, 2_000_000n)
  await metering.forgetUsage('gate-3', 0, false)
}

async function allowIn({ services, clock }: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { premium } = services
  await premium.whitelist.add(anna.customer, undefined, '11.22.33.7', 'home')
  clock.advance(1000)
  await premium.whitelist.add(anna.customer, undefined, '11.22.34.0/28', 'office')
  await premium.whitelist.add(boris.customer, undefined, '11.22.33.8', '')
  await premium.whitelist.remove(boris.customer, undefined, '11.22.33.8')
  await premium.whitelist.add(boris.customer, undefined, '11.22.33.9', 'once more')
  const other = await premium.subusers.load(boris.customer, undefined)
  await premium.metering.takeReport({
    node: 'gate-1',
    boot: '2026-02',
    counts: [],
    leaseRequests: [],
    sources: [{ subuser: other.id, address: '11.22.33.9' }],
  })
  const locations = { countries: ['de'], states: [], cities: [], zips: [], asns: [] }
  const order = { pool, locations, protocol: 'http' as const, quantity: 2, template: '{host}:{port}' }
  for (const { customer } of [anna, boris]) {
    await premium.generate(customer, { ...order, subuser: undefined, type: 'sticky', ttlMinutes: 30 })
    await premium.generate(customer, { ...order, subuser: undefined, type: 'rotating', ttlMinutes: 0 })
  }
}

/** Time passes: proxies end and rest, bytes expire, subscriptions renew, end and are swept. */
async function passTime({ services, clock }: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { dedicated, dedicatedUpkeep, stock, traffic, vpn, premium } = services
  for (const days of [0, 8]) {
    clock.advance(days * 86_400_000)
    await dedicatedUpkeep.announce(100)
    await vpn.announceEnds(100)
  }
  await dedicatedUpkeep.release(100)
  clock.advance(86_400_000 * 5)
  await dedicatedUpkeep.release(100)
  await stock.endRest(100)
  await traffic.accounts.expire(100)
  await traffic.leases.lapse()
  await premium.passOn()
  clock.advance(86_400_000 * 16)
  await dedicatedUpkeep.renew(100)
  await vpn.renewDue()
  clock.advance(86_400_000 * 33)
  await dedicatedUpkeep.release(100)
  await vpn.renewDue()
  await vpn.sweep()
  clock.advance(minuteMs)
  await markNodeSeen({ services, clock })
  const order = { country: 'DE' as never, ipv: 4 as const, period: 30, count: 2 }
  const bought = await keyed<Proxies>(anna.by, 'later', (request) => dedicated.buy(request, order))
  await dedicated.replace({ by: anna.by, key: undefined }, bought.proxies[0]?.id ?? 0)
  clock.advance(1000)
  const shared = { ...order, ipv: 3 as const }
  await keyed<Proxies>(boris.by, 'later too', (request) => dedicated.buy(request, shared))
  await keyed(anna.by, 'later three', (request) => vpn.buy(request as never, { months: 1 }))
  clock.advance(1000)
  await keyed(boris.by, 'later four', (request) => vpn.buy(request as never, { months: 1, autoRenew: true }))
  await premium.metering.forgetHosts(1000)
  await goBack({ services, clock })
  await relayAgain({ services, clock }, anna, boris)
  const [used] = bought.proxies
  const proxies = [{ id: used?.id ?? 0, received: 5000, sent: 500 }]
  await dedicated.nodes.report('gate-1', reportOf({ boot: '2026-03', proxies }))
}

/** Traffic of the last day, whose hosts are still stored. */
async function relayAgain({ services, clock }: Shop, anna: Buyer, boris: Buyer): Promise<void> {
  const { metering, subusers } = services.premium
  const all = [await subusers.load(anna.customer, undefined), await subusers.load(boris.customer, undefined)]
  for (const [step, bytes] of [0n, 2_000_000n, 6_000_000n].entries()) {
    clock.advance(step * 3_600_000)
    await metering.takeReport({
      node: 'gate-1',
      boot: '2026-03',
      counts: all.map(({ id }, at) => ({ subuser: id, pool, received: bytes + BigInt(at), sent: bytes / 7n })),
      leaseRequests: all.map(({ id }) => ({ subuser: id, pool, turn: step + 1, want: 'lease' as const })),
      hosts: all.flatMap(({ id }, at) =>
        ['example.com', 'example.org'].map((host, index) => ({
          subuser: id,
          pool,
          host,
          received: bytes / 2n + BigInt(at),
          sent: bytes / 20n + BigInt(index),
        })),
      ),
    })
  }
}

/** The database goes back in time, and a node reports what it served. */
async function goBack({ services: { db, timeline, fleet }, clock }: Shop): Promise<void> {
  await timeline.look()
  for (const _ of [1, 2]) {
    await timeline.cover()
    clock.advance(1000)
  }
  await db.transact((tx) =>
    tx.run('DELETE FROM history_marks WHERE made_at = (SELECT MAX(made_at) FROM history_marks)'),
  )
  await timeline.look()
  const [gateway] = await fleet.nodes('gateway')
  if (!gateway) throw new Error('there is no gateway')
  const proxy = {
    kind: 'proxy' as const,
    id: '77',
    login: 'u77abcd',
    address: '203.0.113.7',
    owner: '0123456789abcdef',
  }
  await fleet.noteLost(gateway.id, timeline.life(), [proxy], true)
  for (const kind of ['gateway', 'vpn'] as const)
    for (const { id } of await fleet.nodes(kind)) await fleet.noteStateTaken(id, timeline.life())
}
