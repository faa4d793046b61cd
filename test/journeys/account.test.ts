import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../harness/database.ts'
import { type Service, startService } from '../harness/service.ts'

describe.each([...engines])('account on %s', (engine) => {
  let service: Service
  beforeAll(async () => {
    service = await startService(engine)
  })
  afterAll(() => service.stop())

  test('a fresh sandbox has a customer with 100,000 roubles and has spent nothing', async () => {
    const answer = await service.get('/balance')
    expect(answer.text).toBe('{"ok":true,"data":{"balance_rub":100000,"api_spent_rub":0}}')
  })

  test('every movement of money is listed with the balance after it', async () => {
    const { data } = await service.get('/transactions')
    expect(data.transactions).toHaveLength(1)
    expect(data.transactions[0]).toMatchObject({ id: 1, kind: 'credit', amount_rub: 100000, balance_after_rub: 100000 })
    expect(data.next_cursor).toBeNull()
  })

  test('without a token nothing is told', async () => {
    for (const path of ['/balance', '/transactions', '/orders', '/orders/ord_0']) {
      const answer = await service.get(path, { token: null })
      expect(answer.status).toBe(401)
      expect(answer.error.code).toBe('invalid_token')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })
})
