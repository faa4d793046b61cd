import { describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, enginesOf, openTestDatabase } from '../../../test/harness/database.ts'
import { openFilledShop } from '../../../test/harness/filled.ts'
import { findingsOf, wire } from '../../../test/harness/wired.ts'
import { operatorsOwner } from '../../core/ids.ts'
import { noStalls } from '../../core/stall-monitor.ts'
import { alertJobs } from '../../jobs/alerts.ts'
import { toAlertLetter } from './index.ts'
import { type Condition, findLowStock, quietMs } from './rules.ts'

const low: Condition = { type: 'stock.low', subject: 'DE 4', data: { country: 'DE', ipv: 4, free: 0, total: 9 } }

describe.each([...engines])('alerts on %s', (engine) => {
  test('two shops raise an alert once while it lasts, and end it once after 10 minutes without its condition', async () => {
    const opened = await openTestDatabase(engine)
    const clock = new HandClock()
    const services = wire(opened.db, clock)
    const { alerts, events } = services
    const look = (found: readonly Condition[]) =>
      Promise.all([alerts.settle(['stock.low'], found), alerts.settle(['stock.low'], found)])
    const told = async () =>
      (await events.list(operatorsOwner, { after: 0, type: undefined, limit: 9 })).map(({ data }) => data['state'])
    await look([low])
    await look([low])
    expect(await told()).toEqual(['raised'])
    clock.advance(quietMs - 1)
    await look([])
    await look([low])
    clock.advance(quietMs - 1)
    await look([])
    expect([await told(), (await alerts.list()).length]).toEqual([['raised'], 1])
    clock.advance(1)
    await look([])
    expect([await told(), await alerts.list()]).toEqual([['raised', 'ended'], []])
    await look([low])
    expect(await told()).toEqual(['raised', 'ended', 'raised'])
    expect(await findingsOf(services)).toEqual([])
    await opened.close()
  })
})

describe.each([...enginesOf('sqlite')])('conditions of alerts on %s', (engine) => {
  test('a look finds nodes that were silent for a minute, unmatched notices and a certificate that ends, and ends the rest', async () => {
    const shop = await openFilledShop(engine)
    const { services, clock } = shop
    clock.advance(120_000)
    const deps = {
      ...services,
      clock: clock.read,
      stalls: noStalls,
      certificateEndsAt: () => clock.nowMs + 7 * 86_400_000,
    }
    for (const job of alertJobs(deps)) await job.work()
    const found = await services.alerts.list()
    expect(new Set(found.map(({ type }) => type))).toEqual(
      new Set(['certificate.ending', 'node.lost', 'payment.unmatched']),
    )
    const notices = await services.paymentOperator.unmatched(false, 100)
    expect(found.filter(({ type }) => type === 'payment.unmatched')).toHaveLength(notices.length)
    await shop.close()
  })
})

test('stock is low when fewer than a twentieth of the sellable addresses of a kind is free', () => {
  const of = (free: number, leased: number) => [
    { country: 'DE', ipv: 4, state: 'free', count: free },
    { country: 'DE', ipv: 4, state: 'leased', count: leased },
    { country: 'DE', ipv: 4, state: 'retired', count: 1000 },
  ]
  expect(findLowStock(of(5, 95))).toEqual([])
  expect(findLowStock(of(4, 96))).toMatchObject([{ subject: 'DE 4', data: { free: 4, total: 100 } }])
  expect(findLowStock(of(0, 1))).toHaveLength(1)
  expect(findLowStock(of(0, 0))).toEqual([])
})

test('the letter of an alert says what happened in Russian and English, and that it is over', () => {
  const letter = (state: string) =>
    toAlertLetter(
      JSON.stringify({
        type: 'node.lost',
        timestamp: '2026-01-01T00:00:00.000Z',
        data: { state, name: 'gate-1', kind: 'gateway' },
      }),
    )
  expect(letter('raised')).toMatchObject({
    subject: 'Turnpike: node.lost',
    text: expect.stringContaining(
      'Узел gate-1 (gateway) не сообщает о себе.\nThe node gate-1 (gateway) does not report.',
    ),
  })
  expect(letter('ended').subject).toBe('Turnpike: over: node.lost')
})
