import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enginesOf } from '../harness/database.ts'
import { countOf, joinNode, TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { findingsOf, openSecondShop } from '../harness/vpn.ts'

const overlapMs = 30_000

describe.each([...enginesOf('postgres')])('the state that nodes read from the shop on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  const buy = async (count: number, token?: string): Promise<{ id: number; username: string; password: string }[]> => {
    const order = { country_code: 'DE', period: 30, count, ipv: 6 }
    const answer = await service.post('/dedicated/buy', order, token === undefined ? {} : { token })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.data.proxies
  }

  /** A gateway that has read all changes and whose overlap window is empty. */
  async function syncedGateway(): Promise<TestNode> {
    const node = await joinNode(service)
    service.clock.advance(2 * overlapMs)
    await node.catchUp()
    await node.catchUp()
    return node
  }

  test('a new gateway reads 1,200 bought proxies in pages of 500, without passwords, prices or customers', async () => {
    const { token, customer } = await service.newCustomer(1_000_000n)
    const bought = (await Promise.all([buy(500, token), buy(500, token), buy(200, token)])).flat()
    const node = await joinNode(service)
    const counts = await node.catchUp()
    expect(Math.max(...counts)).toBe(500)
    expect(counts.length).toBeGreaterThan(2)
    expect([...node.held.proxies.keys()].toSorted((a, b) => a - b)).toEqual(
      bought.map((each) => each.id).toSorted((a, b) => a - b),
    )
    for (const { id, username, password } of bought) {
      const known = node.held.proxies.get(id)
      expect(known).toMatchObject({ username, state: 'active', port_type: 'http' })
      expect(known?.digest).toBe(new Bun.CryptoHasher('sha256').update(password).digest('hex'))
    }
    const whole = node.texts.join('\n')
    expect(whole).not.toContain(customer)
    expect(whole).not.toMatch(/cus_|price|_rub|order/)
    for (const { password } of bought) expect(whole.includes(password)).toBe(false)
  })

  test('a gateway reads each change once', async () => {
    const node = await syncedGateway()
    expect(await node.catchUp()).toEqual([0])
    await buy(3)
    expect(await node.catchUp()).toEqual([3])
    expect(await node.catchUp()).toEqual([0])
    service.clock.advance(1000)
    await buy(1)
    expect(await node.catchUp()).toEqual([1])
  })

  test('a gateway that lost an answer reads the same changes again', async () => {
    const node = await syncedGateway()
    const [proxy] = await buy(1)
    const lost = await node.page()
    expect(lost.proxies.map((each) => each.id)).toEqual([proxy?.id ?? 0])
    const again = node.applyPage(await node.page())
    expect(again.proxies).toEqual(lost.proxies)
    expect(await node.catchUp()).toEqual([0])
  })

  test('a purchase reaches a waiting node within 500 ms', async () => {
    const node = await syncedGateway()
    const waiting = node.page(20)
    await service.untilPending(1)
    const [proxy] = await buy(1)
    const stopwatch = startStopwatch(engine)
    const page = await waiting
    expect(stopwatch.elapsedMs()).toBeLessThan(500)
    expect(page.proxies.map((each) => each.id)).toEqual([proxy?.id ?? 0])
  })

  test('a change made by another process reaches a waiting node within 1 s', async () => {
    const otherShop = await openSecondShop(service)
    try {
      const { customer } = await service.newCustomer()
      await service.services.premium.subusers.load(customer, undefined)
      const node = await syncedGateway()
      const waiting = node.page(20)
      await service.untilPending(1)
      await otherShop.services.premium.whitelist.add(customer, undefined, '198.18.0.9', undefined)
      const stopwatch = startStopwatch(engine)
      const page = await waiting
      expect(stopwatch.elapsedMs()).toBeLessThan(1000)
      expect(page.subusers.map((each) => each.whitelist)).toEqual([['198.18.0.9']])
      expect(countOf(page)).toBe(1)
    } finally {
      await otherShop.stop()
    }
  })

  test('a node that changes to another shop process misses no change', async () => {
    const otherShop = await openSecondShop(service)
    try {
      const node = await syncedGateway()
      const [first] = await buy(1)
      await node.catchUp()
      const [second] = await buy(1)
      const moved = new TestNode(otherShop.url, node.secret, node.name, node.id)
      moved.cursor = node.cursor
      await moved.catchUp()
      // The cursor contains which changes the node has read, for any process.
      expect([...moved.held.proxies.keys()]).toContain(second?.id ?? 0)
      expect(node.held.proxies.has(first?.id ?? 0)).toBe(true)
      expect(await moved.catchUp()).toEqual([0])
    } finally {
      await otherShop.stop()
    }
  })

  test('a commit that becomes visible 5 s late reaches a waiting node within 1 s', async () => {
    const node = await syncedGateway()
    const [late] = await buy(1)
    service.clock.advance(overlapMs * 3)
    await node.catchUp()
    const [shown] = await buy(1)
    await node.catchUp()
    expect(node.held.proxies.has(shown?.id ?? 0)).toBe(true)
    const waiting = node.page(20)
    await service.untilPending(1)
    await service.services.db.transact((tx) =>
      tx.run(`UPDATE proxies SET changed_at = $2, port_type = 'socks' WHERE id = $1`, [
        late?.id ?? 0,
        service.clock.nowMs - 5000,
      ]),
    )
    const stopwatch = startStopwatch(engine)
    const page = await waiting
    expect(stopwatch.elapsedMs()).toBeLessThan(1000)
    expect(page.proxies.map((each) => [each.id, each.port_type])).toEqual([[late?.id ?? 0, 'socks']])
  })

  test('a node reads two changes that have the same time', async () => {
    const node = await syncedGateway()
    const [proxy] = await buy(1)
    await node.catchUp()
    await service.post('/dedicated/protocol', { ids: [proxy?.id], port_type: 'socks' })
    expect(await node.catchUp()).toEqual([1])
    expect(node.held.proxies.get(proxy?.id ?? 0)?.port_type).toBe('socks')
  })

  test('a first read leaves out ended services; a node that held them reads their end', async () => {
    const node = await syncedGateway()
    const { token } = await service.newCustomer(10_000n)
    const [proxy] = await buy(1, token)
    const made = (await service.post('/premium/subusers', { name: 'Short', login: `short_${engine}` }, { token })).data
      .subuser
    await node.catchUp()
    expect(node.held.subusers.get(made.subuser_id)?.state).toBe('active')
    await service.post('/premium/subusers/delete', { subuser_id: made.subuser_id }, { token })
    service.clock.advanceDays(33)
    const fresh = await joinNode(service)
    await fresh.catchUp()
    expect(fresh.held.proxies.has(proxy?.id ?? 0)).toBe(false)
    expect(fresh.held.subusers.has(made.subuser_id)).toBe(false)
    expect([...fresh.held.subusers.values()].some((each) => each.state === 'deleted')).toBe(false)
    expect([...fresh.held.exits.values()].some((each) => each.drained)).toBe(false)
    await service.services.dedicatedUpkeep.release(10_000)
    await node.catchUp()
    expect(node.held.proxies.get(proxy?.id ?? 0)?.state).toBe('gone')
    expect(node.held.subusers.get(made.subuser_id)?.state).toBe('deleted')
  })

  test('the shop sends a supplier’s password to the exit’s gateway only, or to all gateways for a shared exit', async () => {
    const [own, other] = [await joinNode(service), await joinNode(service)]
    const { exits } = service.services.premium
    const location = { country: 'DE', state: 'Berlin', city: 'Berlin', zip: '10115', asn: 3320 }
    const supplier = { ...location, pool: 'residential', kind: 'http' as const, host: 'gate.example', port: 3128 }
    const credentials = (password: string) => ({ username: 'account', password })
    const bound = await exits.addOne({ ...supplier, credentials: credentials('bound.secret'), node: own.id })
    const shared = await exits.addOne({ ...supplier, credentials: credentials('shared.secret') })
    await own.catchUp()
    await other.catchUp()
    expect(own.held.exits.get(bound.id)?.credentials).toEqual(credentials('bound.secret'))
    expect(other.held.exits.get(bound.id)).toMatchObject({ node: own.id, credentials: null })
    expect(other.texts.join('\n')).not.toContain('bound.secret')
    for (const node of [own, other]) {
      expect(node.held.exits.get(shared.id)?.credentials).toEqual(credentials('shared.secret'))
    }
  })

  test('a gateway reads an exit’s location as slugs with its credentials, and later that it is drained', async () => {
    const { premium } = service.services
    const node = await syncedGateway()
    const fields = {
      pool: 'residential',
      kind: 'socks5',
      host: 'up.example.net',
      port: 1080,
      credentials: { username: 'shop', password: 'upstream-word' },
      country: 'DE',
      state: 'North Rhine-Westphalia',
      city: 'Köln',
      zip: '50667',
      asn: 3320,
    } as const
    const exit = await premium.exits.addOne(fields)
    await node.catchUp()
    const location = { country: 'de', state: 'northrhinewestphalia', zip: '50667', asn: 3320, drained: false }
    expect(node.held.exits.get(exit.id)).toMatchObject({ ...location, credentials: fields.credentials, port: 1080 })
    expect(node.held.exits.get(exit.id)?.city).toMatch(/^[a-z0-9]+$/)
    await premium.exits.drain(exit.id, true)
    await node.catchUp()
    expect(node.held.exits.get(exit.id)?.drained).toBe(true)
  })

  test('a gateway reads each change of a sub-user: traffic, password, addresses, ports and limits', async () => {
    const node = await syncedGateway()
    const { token, customer } = await service.newCustomer(100_000n)
    const { id, login } = await service.services.premium.subusers.load(customer, undefined)
    const known = () => node.held.subusers.get(id)
    const change = async (path: string, body: object) => {
      const answer = await service.post(path, body, { token })
      if (answer.status !== 200) throw new Error(answer.text)
      await node.catchUp()
      return known()
    }
    await node.catchUp()
    expect(known()).toMatchObject({ login, state: 'active', pools: [], whitelist: [], ports: [], keep_hosts: false })
    const digest = known()?.digest
    const bought = await change('/premium/traffic/buy', { pool_type: 'residential', gb: 1 })
    expect(bought?.pools).toEqual([{ pool: 'residential', left: 1_000_000_000 }])
    expect((await change('/premium/whitelist/add', { ip: '198.18.7.0/24' }))?.whitelist).toEqual(['198.18.7.0/24'])
    const listed = await change('/premium/proxies/generate', {
      pool_type: 'residential',
      country_code: 'DE',
      format_id: 3,
    })
    expect(listed?.ports).toHaveLength(1)
    expect(listed?.ports[0]?.login).toStartWith(`${login}-`)
    const port = listed?.ports[0]?.port ?? 0
    expect((await node.find({ source: '198.18.7.7', port })).subuser).toEqual(listed as never)
    expect((await node.find({ source: '198.18.8.7', port })).subuser).toBeNull()
    expect((await change('/premium/password/reset', {}))?.digest).not.toBe(digest as string)
    expect((await change('/premium/subusers/update', { subuser_id: id, tunnel_limit: 7 }))?.tunnels).toBe(7)
    expect((await change('/premium/subusers/update', { subuser_id: id, keep_hosts: true }))?.keep_hosts).toBe(true)
    expect((await change('/premium/whitelist/remove', { ip: '198.18.7.0/24' }))?.whitelist).toEqual([])
  })

  test('blocking and unblocking a customer reach waiting nodes within 1 s', async () => {
    const { token, customer } = await service.newCustomer(100_000n)
    const [proxy] = await buy(1, token)
    const { id } = await service.services.premium.subusers.load(customer, undefined)
    const device = (await service.post('/vpn/buy', { period: 1 }, { token })).data.device as string
    const gateway = await syncedGateway()
    const vpn = await joinNode(service, 'vpn')
    await vpn.catchUp()
    await vpn.catchUp()
    const states = () => [
      gateway.held.proxies.get(proxy?.id ?? 0)?.state,
      gateway.held.subusers.get(id)?.state,
      vpn.held.peers.get(device)?.state,
    ]
    expect(states()).toEqual(['active', 'active', 'up'])
    for (const [blocked, expected] of [
      [true, ['blocked', 'blocked', 'down']],
      [false, ['active', 'active', 'up']],
    ] as const) {
      service.clock.advance(1)
      const waiting = Promise.all([gateway.page(20), vpn.page(20)])
      await service.untilPending(2)
      await service.services.setBlocked(customer, blocked)
      const stopwatch = startStopwatch(engine)
      for (const [index, page] of (await waiting).entries()) (index === 0 ? gateway : vpn).applyPage(page)
      // The block may commit between the reads of two tables; the next page then has the rest at once.
      if (!Bun.deepEquals(states(), [...expected])) gateway.applyPage(await gateway.page(20))
      expect(stopwatch.elapsedMs()).toBeLessThan(1000)
      expect(states()).toEqual([...expected])
    }
  })

  test('credentials of one customer share an owner id, and those of two customers do not', async () => {
    const [one, two] = [await service.newCustomer(10_000n), await service.newCustomer(10_000n)]
    const names = [await buy(2, one.token), await buy(1, two.token)].flat().map((each) => each.username)
    const node = await joinNode(service)
    const owners = await Promise.all(names.map(async (username) => (await node.find({ username })).proxy?.owner))
    const { login } = await service.services.premium.subusers.load(one.customer, undefined)
    expect(owners[0]).toBe(owners[1] as string)
    expect(owners[0]).not.toBe(owners[2] as string)
    expect((await node.find({ username: `${login}-country-de` })).subuser?.owner).toBe(owners[0] as string)
    expect(owners[0]).toBe(new Bun.CryptoHasher('sha256').update(`owner ${one.customer}`).digest('hex').slice(0, 16))
  })

  test('POST /node/v1/find finds a username as soon as it is bought and until 30 days after its end, and no unknown one', async () => {
    const node = await joinNode(service)
    const [proxy] = await buy(1)
    const found = await node.find({ username: proxy?.username ?? '' })
    expect(found).toMatchObject({ proxy: { id: proxy?.id, state: 'active' }, subuser: null })
    for (const username of ['nobody', 'tp1zzzz', `${proxy?.username}x`, '-', 'u-', '💥']) {
      expect(await node.find({ username })).toEqual({ proxy: null, subuser: null })
    }
    service.clock.advanceDays(34)
    expect((await node.find({ username: proxy?.username ?? '' })).proxy).toMatchObject({ state: 'gone' })
    service.clock.advanceDays(30)
    expect(await node.find({ username: proxy?.username ?? '' })).toEqual({ proxy: null, subuser: null })
  })

  test('a VPN node reads devices only, and a gateway reads none', async () => {
    const { token } = await service.newCustomer(100_000n)
    const device = (await service.post('/vpn/buy', { period: 1 }, { token })).data.device as string
    await buy(1)
    const vpn = await joinNode(service, 'vpn')
    await vpn.catchUp()
    expect(vpn.held.peers.get(device)).toMatchObject({ state: 'up', left: null, speed_mbit: null })
    expect([vpn.held.proxies.size, vpn.held.subusers.size, vpn.held.exits.size]).toEqual([0, 0, 0])
    const gateway = await joinNode(service)
    await gateway.catchUp()
    expect(gateway.held.peers.size).toBe(0)
    const removed = await service.post('/vpn/delete', {}, { token })
    expect(removed.status).toBe(200)
    await vpn.catchUp()
    expect(vpn.held.peers.get(device)?.state).toBe('down')
  })
})
