import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { countOf, joinNode, type TestNode } from '../harness/node.ts'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf, openBeside } from '../harness/vpn.ts'

const overlapMs = 30_000

describe.each([...engines])('what nodes hear from the shop on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(async () => {
    expect(await findingsOf(service)).toEqual([])
    await service.stop()
  })

  const buy = async (count: number, token?: string): Promise<{ id: number; username: string; password: string }[]> => {
    const wish = { country_code: 'DE', period: 30, count, ipv: 6 }
    const answer = await service.post('/dedicated/buy', wish, token === undefined ? {} : { token })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.data.proxies
  }

  /** A gateway that has heard everything there is, and for whom the overlap is quiet. */
  async function quietGateway(): Promise<TestNode> {
    const node = await joinNode(service)
    service.clock.advance(2 * overlapMs)
    await node.catchUp()
    await node.catchUp()
    return node
  }

  test('the whole state is read in pages and is what was bought', async () => {
    const { token, customer } = await service.newCustomer(1_000_000n)
    const bought = (await Promise.all([buy(500, token), buy(500, token), buy(200, token)])).flat()
    const node = await joinNode(service)
    const counts = await node.catchUp()
    expect(Math.max(...counts)).toBe(500)
    expect(counts.length).toBeGreaterThan(2)
    for (const { id, username, password } of bought) {
      const known = node.held.proxies.get(id)
      expect(known).toMatchObject({ username, state: 'active', port_type: 'http' })
      expect(known?.digest).toBe(new Bun.CryptoHasher('sha256').update(password).digest('hex'))
    }
    const whole = node.texts.join('\n')
    expect(whole).not.toContain(customer)
    expect(whole).not.toMatch(/cus_|price|password"(?!:"[^"]*","username)/)
    for (const { password } of bought) expect(whole.includes(password)).toBe(false)
  })

  test('nothing is given twice without need', async () => {
    const node = await quietGateway()
    expect(await node.catchUp()).toEqual([0])
    await buy(3)
    expect(await node.catchUp()).toEqual([3])
    expect(await node.catchUp()).toEqual([0])
    service.clock.advance(1000)
    await buy(1)
    expect(await node.catchUp()).toEqual([1])
  })

  test('an answer that never arrived is given again', async () => {
    const node = await quietGateway()
    const [proxy] = await buy(1)
    const lost = await node.page()
    expect(lost.proxies.map((each) => each.id)).toEqual([proxy?.id ?? 0])
    const again = node.hear(await node.page())
    expect(again.proxies).toEqual(lost.proxies)
    expect(await node.catchUp()).toEqual([0])
  })

  test('a purchase reaches a node that waits at once', async () => {
    const node = await quietGateway()
    const startedMs = performance.now()
    const waiting = node.page(20)
    await Bun.sleep(50)
    const [proxy] = await buy(1)
    const boughtMs = performance.now()
    const page = await waiting
    expect(performance.now() - boughtMs).toBeLessThan(150)
    expect(performance.now() - startedMs).toBeLessThan(5000)
    expect(page.proxies.map((each) => each.id)).toEqual([proxy?.id ?? 0])
  })

  test('a change made by another process reaches a node that waits within a second', async () => {
    const beside = await openBeside(service)
    try {
      const node = await quietGateway()
      const waiting = node.page(20)
      await Bun.sleep(50)
      const { customer } = await service.newCustomer()
      const subuser = await beside.services.premium.subusers.load(customer, undefined).catch(() => undefined)
      if (subuser) await beside.services.premium.whitelist.add(customer, subuser.id, '198.18.0.9', undefined)
      const startedMs = performance.now()
      const page = await waiting
      expect(performance.now() - startedMs).toBeLessThan(1000)
      expect(countOf(page)).toBeGreaterThan(0)
    } finally {
      await beside.stop()
    }
  })
})
