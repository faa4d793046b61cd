import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Service, startService } from '../harness/service.ts'
import { findingsOf } from '../harness/vpn.ts'

let service: Service
beforeAll(async () => {
  service = await startService('sqlite')
})
afterAll(() => service.stop())

/** Limits the pages of the SQLite file, which fails as a full disk does and can be lifted. */
const limitTo = (pages: bigint) => service.services.db.transact((tx) => tx.first(`PRAGMA max_page_count = ${pages}`))

test('a shop on a full disk serves reads, answers purchases 503 and logs why; the key buys once later', async () => {
  const { token, customer } = await service.newCustomer(10_000n)
  const row = await service.services.db.first<{ page_count: bigint }>('PRAGMA page_count')
  await limitTo(row?.page_count ?? 0n)
  const buy = (key: string) => service.post('/vpn/buy', { period: 1 }, { token, key })
  const bought: string[] = []
  let refused: Awaited<ReturnType<typeof buy>> | undefined
  for (let number = 0; number < 20 && !refused; number += 1) {
    const answer = await buy(`buy ${number}`.replace(' ', '-'))
    if (answer.status === 200) bought.push(answer.data.order_id)
    else refused = answer
  }
  expect([refused?.status, refused?.error.code, refused?.headers.get('retry-after')]).toEqual([503, 'unavailable', '1'])
  const ready = async () => {
    const response = await fetch(`${service.url}/readyz`)
    return [response.status, ((await response.json()) as { reason?: string }).reason]
  }
  expect(await ready()).toEqual([503, 'The database cannot be written now.'])
  expect((await service.get('/balance', { token })).data.balance_rub).toBe(10_000 - bought.length * 299)
  const entry = service.log.find((line) => line.includes('"event":"unavailable"'))
  expect(entry).toContain('database or disk is full')
  expect(service.log.join('')).not.toContain('"event":"fault"')
  await limitTo(1_000_000n)
  const later = await buy(`buy-${bought.length}`)
  expect([later.status, (await buy(`buy-${bought.length}`)).data.order_id]).toEqual([200, later.data.order_id])
  expect(await ready()).toEqual([200, undefined])
  expect((await service.services.orders.list(customer, undefined, 50)).length).toBe(bought.length + 1)
  expect(await findingsOf(service)).toEqual([])
})
