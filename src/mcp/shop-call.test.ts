import { describe, expect, test } from 'bun:test'
import { getOrder, listOrders } from '../api/customer/account/shapes.ts'
import { buyDedicated, listDedicated, quoteProlonging } from '../api/customer/dedicated/shapes.ts'
import type { Operation } from '../api/operation.ts'
import { apiVersions } from '../api/versions.ts'
import { callShop } from './shop-call.ts'

/** What a call sends, and what it makes of an answer. */
async function call(operation: Operation, given: object, answer = Response.json({ ok: true, data: 1 }), key?: string) {
  const sent: { path: string; init: RequestInit }[] = []
  const called = await callShop(
    async (path, init) => {
      sent.push({ path, init })
      return answer
    },
    operation,
    { ...given },
    key,
  )
  return { called, sent: sent[0] }
}

describe('callShop', () => {
  test('a list in a query is joined by commas, and an object becomes name[field]', async () => {
    const { sent } = await call(quoteProlonging, { ids: [1, 2], period: 30 })
    expect(sent?.path).toBe('/api/v1/dedicated/prolong/quote?ids=1%2C2&period=30')
    const found = await call(listDedicated, { metadata: { client: 'a&b' }, limit: undefined, cursor: null })
    expect(decodeURIComponent(found.sent?.path ?? '')).toBe('/api/v1/dedicated/list?metadata[client]=a&b')
  })

  test('every request names the latest version of the API, and a purchase its key', async () => {
    const read = await call(listOrders, {})
    expect(new Headers(read.sent?.init.headers).get('turnpike-version')).toBe(apiVersions.latest)
    const bought = await call(buyDedicated, { count: 1 }, undefined, 'mcp-1')
    const headers = new Headers(bought.sent?.init.headers)
    expect([headers.get('turnpike-version'), headers.get('idempotency-key')]).toEqual([apiVersions.latest, 'mcp-1'])
    expect(bought.sent?.init.body).toBe('{"count":1}')
  })

  test('an id is in the path only if it is a plain one; any other is refused without a request', async () => {
    expect((await call(getOrder, { order_id: 'ord_1' })).sent?.path).toBe('/api/v1/orders/ord_1')
    for (const order_id of ['..', '.', 'a/b', '%2e', '', null, undefined, ['x'], {}]) {
      const { called, sent } = await call(getOrder, { order_id })
      expect([sent, called]).toMatchObject([undefined, { problem: { reason: 'invalid_request' } }])
    }
  })

  test('an answer that is not from a shop is a problem, and of a purchase the charge is unknown', async () => {
    for (const answer of [new Response('<html>', { status: 502 }), Response.json({ odd: true }), Response.json(null)]) {
      const { called } = await call(buyDedicated, {}, answer, 'mcp-1')
      const problem = { reason: 'no_shop_answer', charged: null, idempotency_key: 'mcp-1' }
      expect(called).toMatchObject({ problem: { ...problem, message: expect.stringContaining('listOrders') } })
    }
    const lost = await callShop(() => Promise.reject(new Error('reset')), buyDedicated, {}, 'mcp-2')
    const problem = { reason: 'shop_unreachable', charged: null, idempotency_key: 'mcp-2' }
    expect(lost).toMatchObject({ problem })
  })

  test('an answer above 1 MiB is not read to its end: of a read it is refused, of a purchase it says charged', async () => {
    let read = 0
    const large = () => {
      const pull = (controller: ReadableStreamDefaultController) => {
        read += 1
        controller.enqueue(new Uint8Array(512 * 1024))
      }
      return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'application/json' } })
    }
    const { called } = await call(listDedicated, {}, large())
    expect(called).toMatchObject({ problem: { reason: 'answer_too_large', charged: false } })
    const bought = (await call(buyDedicated, {}, large(), 'mcp-3')).called
    const message = expect.stringContaining('listOrders and idempotency_key mcp-3')
    expect(bought).toMatchObject({ problem: { reason: 'answer_too_large', charged: true, message } })
    expect(read).toBeLessThan(10)
  })

  test('a file is its text', async () => {
    const file = new Response('a:1\n', { headers: { 'content-type': 'text/plain' } })
    expect((await call(listDedicated, {}, file)).called).toEqual({ data: { text: 'a:1\n' }, isReplay: false })
  })
})
