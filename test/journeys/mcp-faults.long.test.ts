import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { createDice } from '../harness/dice.ts'
import { connectMcp } from '../harness/mcp-client.ts'
import { type Service, startService } from '../harness/service.ts'
import { drawFates, UnreliableProxy, usualFateCount } from '../harness/unreliable-proxy.ts'

const purchases = 12
const price = 171
const order = { country_code: 'DE', period: 30, count: 1, ipv: 4 }
/** Far more than a purchase ever takes; a limit against hanging. */
const maxCalls = 50

describe.each([...engines])('turnpike mcp before a bad network, on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test(`a model that repeats each call until it succeeds buys ${purchases} orders once each`, async () => {
    const { token } = await service.newCustomer(100_000n)
    const dice = createDice(engines.indexOf(engine) + 1)
    const proxy = new UnreliableProxy(Number(new URL(service.url).port), drawFates(dice))
    const mcp = await connectMcp('stdio', { url: await proxy.open(), token, mayWrite: true })
    const untilDone = async (args: object) => {
      for (let turn = 0; turn < maxCalls; turn += 1) {
        const { isError, answer } = await mcp.call('buyDedicated', { ...args })
        if (!isError) return answer
        const { reason } = answer['error'] as { reason: string }
        expect(['shop_unreachable', 'no_shop_answer', 'request_in_progress']).toContain(reason)
      }
      throw new Error('no call succeeded')
    }
    const bought: string[] = []
    for (let turn = 0; turn < purchases; turn += 1) {
      const dry = await untilDone(order)
      const done = await untilDone({ ...order, ...(dry['confirm_with'] as object) })
      bought.push((done['data'] as { order_id: string }).order_id)
    }
    await mcp.close()
    await proxy.close()
    const { orders } = (await service.get('/orders?limit=500', { token })).data as { orders: { order_id: string }[] }
    expect(orders.map((each) => each.order_id).toSorted()).toEqual(bought.toSorted())
    expect(new Set(bought).size).toBe(purchases)
    expect((await service.get('/balance', { token })).data['balance_rub']).toBe(100_000 - purchases * price)
    expect(new Set(proxy.fates).size).toBe(usualFateCount)
  })

  test('a client of 2025 that can ask over stdio is asked, and the purchase charges once', async () => {
    const { token } = await service.newCustomer(1_000n)
    const questions: string[] = []
    const onQuestion = (message: string) => {
      questions.push(message)
      return { action: 'accept' as const, content: { confirm: true } }
    }
    const mcp = await connectMcp('stdio', { url: service.url, token, mayWrite: true, speaks: '2025', onQuestion })
    const { answer } = await mcp.call('buyDedicated', order)
    expect(answer).toMatchObject({ data: { price_rub: price } })
    expect(questions).toEqual([expect.stringContaining(`This charges ${price} RUB.`)])
    expect((await service.get('/balance', { token })).data['balance_rub']).toBe(1_000 - price)
    await mcp.close()
  })
})
