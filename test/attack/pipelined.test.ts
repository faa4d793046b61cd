import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readCertificate } from '../../src/plane/tls/certificate.ts'
import { type Entrance, openEntrance } from '../../src/plane/tls/entrance.ts'
import { engines } from '../harness/database.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { type Service, startService } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { WireClient } from '../harness/wire-client.ts'

const log = { error() {}, warn() {}, info() {}, debug() {} }
const balance = 'GET /api/v1/balance HTTP/1.1\r\nHost: shop\r\n\r\n'

describe.each([...engines])('a request sent before the previous one was answered, on %s', (engine) => {
  let service: Service
  let entrance: Entrance
  beforeAll(async () => {
    service = await startService(engine)
    const certificate = readCertificate(selfSigned.cert, selfSigned.key)
    const inner = () => Number(new URL(service.url).port)
    entrance = openEntrance({ hostname: '127.0.0.1', port: 0, certificate: () => certificate, most: 200, inner, log })
  })
  afterAll(async () => {
    entrance.close()
    await service.stop()
    entrance.end()
  })

  const post = (path: string, body: unknown): string => {
    const text = JSON.stringify(body)
    const lines = [`POST /api/v1${path} HTTP/1.1`, 'Host: shop', `Authorization: Bearer ${service.token}`]
    const length = [`Content-Type: application/json`, `Content-Length: ${text.length}`]
    return [...lines, ...length, '', text].join('\r\n')
  }
  const buy = () => post('/dedicated/buy', { country_code: 'DE', period: 7, count: 1, ipv: 4 })
  const connect = (isTls: boolean): Promise<WireClient> =>
    WireClient.connect(isTls ? entrance.port : Number(new URL(service.url).port), '127.0.0.1', undefined, isTls)
  const balanceNow = async (): Promise<number> => (await service.get('/balance')).data.balance_rub
  /** The log gets a line when a request has ended, whether its client is still there or not. */
  const endedOf = (path: string): number =>
    service.log.filter((line) => line.includes(`"path":"/api/v1${path}"`)).length

  for (const [name, isTls] of [
    ['plain', false],
    ['over TLS', true],
  ] as const) {
    test(`a purchase with another request in the same segment is answered or not charged, ${name}`, async () => {
      for (const next of [balance, buy()]) {
        const [before, ended] = [await balanceNow(), endedOf('/dedicated/buy')]
        const client = await connect(isTls)
        await client.send(Buffer.from(buy() + next))
        await client.until(() => client.hasEnded || client.kept.includes('"balance_rub"'))
        await until(() => endedOf('/dedicated/buy') > ended)
        const isAnswered = client.kept.includes('"order_id"')
        expect([isAnswered, (await balanceNow()) < before]).toEqual([isAnswered, isAnswered])
        client.close()
      }
    })

    test(`a change that charges nothing is not made when another request follows it unanswered, ${name}`, async () => {
      const before = (await service.get('/premium/password')).data.password
      const ended = endedOf('/premium/password/reset')
      const client = await connect(isTls)
      await client.send(Buffer.from(post('/premium/password/reset', {}) + balance))
      await client.until(() => client.hasEnded || client.kept.includes('"password"'))
      await until(() => endedOf('/premium/password/reset') > ended)
      const isAnswered = client.kept.includes('"password"')
      const after = (await service.get('/premium/password')).data.password
      expect([isAnswered, after !== before]).toEqual([isAnswered, isAnswered])
      client.close()
    })

    test(`a purchase is undone when the next request arrives before its commit, ${name}`, async () => {
      const [before, ended] = [await balanceNow(), endedOf('/dedicated/buy')]
      const client = await connect(isTls)
      const { promise, resolve } = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      const { customer } = await service.services.customers.authenticate(service.token, undefined, 'trade')
      const holding = service.services.db.transact(async (tx) => {
        await service.services.ledger.lock(tx, customer)
        held.resolve()
        await promise
      })
      await held.promise
      await client.send(Buffer.from(buy()))
      await service.untilPending(1)
      await client.send(Buffer.from(balance))
      await client.until(() => client.hasEnded)
      resolve()
      await holding
      await until(() => endedOf('/dedicated/buy') > ended)
      expect([client.total, await balanceNow()]).toEqual([0, before])
      client.close()
    })
  }
})
