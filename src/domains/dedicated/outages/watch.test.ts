import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Engine, engines, enginesOf } from '../../../../test/harness/database.ts'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { type OutageShop, openOutageShop, tickMs } from '../../../../test/harness/outage-shop.ts'
import { prolongProxies } from '../../../../test/harness/proxies.ts'
import { isLong } from '../../../../test/harness/scale.ts'
import { findingsOf } from '../../../../test/harness/wired.ts'
import { covers } from '../../stock/ranges/rules.ts'
import { outageAfterMs } from './rules.ts'

const dayMs = 86_400_000
const minuteMs = 60_000
const prefix = '203.0.113.0/30'

/** Two gateways, the first of which is up. */
async function openGateways(engine: Engine): Promise<OutageShop> {
  const shop = await openOutageShop(engine, prefix, ['gate-1', 'gate-2'])
  shop.node('gate-2').isAlive = false
  // A shop opens outages only after it has watched for 30 s.
  await shop.ticks(8)
  return shop
}

describe.each([...enginesOf('sqlite')])('outages of nodes on %s', (engine) => {
  let shop: OutageShop
  beforeEach(async () => {
    shop = await openGateways(engine)
  })
  afterEach(async () => {
    expect(await findingsOf(shop.services)).toEqual([])
    await shop.close()
  })

  test('proxies of a dead node are interrupted from its last report on, and are extended when it returns', async () => {
    const id = await shop.buy()
    const [bought, diedAt] = [await shop.show(id), shop.nowMs]
    shop.node('gate-1').isAlive = false
    await shop.ticks(outageAfterMs / tickMs - 1)
    expect((await shop.show(id)).proxy.interruptedAt).toBeNull()
    await shop.ticks(1)
    expect(await shop.show(id)).toMatchObject({
      node: 'gate-1',
      status: 'active',
      proxy: { interruptedAt: diedAt, interruptedBy: 'outage', expiresAt: bought.proxy.expiresAt },
    })
    await shop.ticks(20)
    shop.node('gate-1').isAlive = true
    await shop.ticks(1)
    const { proxy } = await shop.show(id)
    expect(proxy.interruptedAt).toBeNull()
    expect(proxy.expiresAt - bought.proxy.expiresAt).toBe(shop.nowMs - diedAt)
    expect(await shop.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended'])
    await shop.ticks(3)
    expect(await shop.eventTypes()).toHaveLength(3)
  })

  test.each(['close', 'revoke'] as const)(
    'proxies of a node are interrupted from its last report on after %s by the operator',
    async (verb) => {
      const [id, reportedAt] = [await shop.buy(), shop.nowMs]
      await shop.services.fleet[verb]('gate-1')
      shop.node('gate-1').isAlive = false
      await shop.ticks(outageAfterMs / tickMs)
      expect((await shop.show(id)).proxy.interruptedAt).toBe(reportedAt)
    },
  )

  test(`a node that is silent for less than ${outageAfterMs / 1000} s causes no outage`, async () => {
    const id = await shop.buy()
    const before = (await shop.show(id)).proxy.expiresAt
    shop.node('gate-1').isAlive = false
    await shop.ticks(outageAfterMs / tickMs - 1)
    shop.node('gate-1').isAlive = true
    await shop.ticks(10)
    expect((await shop.show(id)).proxy.expiresAt).toBe(before)
    expect(await shop.eventTypes()).toEqual([])
  })

  test('a proxy whose address its node reports as unusable is interrupted from that report on, and no other', async () => {
    const [first, second] = [await shop.buy(), await shop.buy()]
    const lost = Number((await shop.show(first)).proxy.address.split('.')[3])
    const kept = [0, 1, 2, 3].filter((each) => each !== lost)
    shop.node('gate-1').runs = kept.map((each) => [each, 1] as const).reduce(joined, [])
    await shop.ticks(1)
    const lostAt = shop.nowMs
    await shop.ticks(outageAfterMs / tickMs)
    expect((await shop.show(first)).proxy.interruptedAt).toBe(lostAt)
    expect((await shop.show(second)).proxy.interruptedAt).toBeNull()
    shop.node('gate-1').runs = [[0, 4]]
    await shop.ticks(1)
    expect((await shop.show(first)).proxy.interruptedAt).toBeNull()
  })

  test('another node that can use the address takes it over, and the customer gets the event proxy.moved', async () => {
    const [id, diedAt] = [await shop.buy(), shop.nowMs]
    const before = (await shop.show(id)).proxy.expiresAt
    shop.node('gate-1').isAlive = false
    await shop.ticks(10)
    shop.node('gate-2').isAlive = true
    await shop.ticks(1)
    expect(await shop.show(id)).toMatchObject({
      node: 'gate-2',
      proxy: { interruptedAt: null, expiresAt: before + shop.nowMs - diedAt },
    })
    expect(await shop.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended', 'proxy.moved'])
    shop.node('gate-1').isAlive = true
    await shop.ticks(10)
    expect(await shop.eventTypes()).toHaveLength(4)
  })

  test('assigning a range in use to another node sends the event proxy.moved and causes no outage', async () => {
    const id = await shop.buy()
    const before = (await shop.show(id)).proxy.expiresAt
    shop.node('gate-2').isAlive = true
    await shop.ticks(2)
    await shop.assign('gate-2')
    await shop.ticks(1)
    expect(await shop.show(id)).toMatchObject({ node: 'gate-2', proxy: { interruptedAt: null, expiresAt: before } })
    await shop.assign('gate-1')
    await shop.ticks(10)
    expect((await shop.show(id)).node).toBe('gate-1')
    expect(await shop.eventTypes()).toEqual(['proxy.moved', 'proxy.moved'])
  })

  test('a shop that was down for 8 hours opens no outage for a node that reports after its return', async () => {
    const id = await shop.buy()
    const before = (await shop.show(id)).proxy.expiresAt
    shop.clock.advance(8 * 60 * minuteMs)
    await shop.services.outageWatch.look()
    await shop.ticks(10)
    expect((await shop.show(id)).proxy.expiresAt).toBe(before)
    expect(await shop.eventTypes()).toEqual([])
  })

  test('an outage of a node that is silent 30 s after the return of the shop begins at its last report', async () => {
    const [id, reportedAt] = [await shop.buy(), shop.nowMs]
    shop.node('gate-1').isAlive = false
    shop.clock.advance(10 * minuteMs)
    await shop.services.outageWatch.look()
    await shop.ticks(outageAfterMs / tickMs - 1)
    expect((await shop.show(id)).proxy.interruptedAt).toBeNull()
    await shop.ticks(1)
    expect((await shop.show(id)).proxy.interruptedAt).toBe(reportedAt)
  })

  test('a prolonging after the end of a term gets no compensation for an outage before it', async () => {
    const id = await shop.buy()
    shop.clock.advance(7 * dayMs + minuteMs)
    shop.node('gate-1').isAlive = false
    await shop.ticks(20)
    expect((await shop.show(id)).proxy.interruptedAt).toBeNull()
    const early = prolongProxies(shop.services, shop.customer, [id], 3)
    expect((await refusalOf(early)).code).toBe('unavailable')
    shop.node('gate-1').isAlive = true
    await shop.ticks(1)
    await prolongProxies(shop.services, shop.customer, [id], 3)
    const prolongedAt = shop.nowMs
    shop.node('gate-1').isAlive = false
    await shop.ticks(8)
    expect((await shop.show(id)).proxy.interruptedAt).toBe(prolongedAt)
  })

  test('an interrupted address is replaced after after_minutes of 2 by a served one, or waits if there is none', async () => {
    await shop.price({ address: 'replace', after_minutes: 2 })
    await shop.assign('gate-1')
    await shop.ticks(1)
    const [first, second] = [await shop.buy(), await shop.buy()]
    await shop.add('198.51.100.1/32', 'gate-2')
    shop.node('gate-2').isAlive = true
    await shop.ticks(1)
    shop.node('gate-1').isAlive = false
    const diedAt = shop.nowMs
    const before = (await shop.show(first)).proxy.expiresAt
    await shop.ticks((2 * minuteMs) / tickMs - 1)
    expect((await shop.show(first)).proxy.interruptedAt).toBe(diedAt)
    await shop.ticks(1)
    const both = [await shop.show(first), await shop.show(second)]
    const [replaced, waiting] = both.toSorted((a) => (a.node === 'gate-2' ? -1 : 1))
    expect(replaced?.proxy).toMatchObject({
      address: '198.51.100.1',
      interruptedAt: null,
      replacedBy: 'outage',
      expiresAt: before + 2 * minuteMs,
    })
    expect(waiting?.proxy).toMatchObject({ interruptedAt: diedAt })
    expect(await shop.eventTypes()).toContain('proxy.replaced')
    await shop.ticks(5)
    shop.node('gate-1').isAlive = true
    await shop.ticks(1)
    expect((await shop.show(waiting?.proxy.id ?? 0)).proxy.interruptedAt).toBeNull()
  })
})

// PostgreSQL only: on SQLite one of the two waits for the other.
test('two shops that watch one PostgreSQL database open, close and report each outage once', async () => {
  const shop = await openGateways('postgres')
  try {
    const id = await shop.buy()
    const other = shop.secondShop()
    shop.alsoLook = () => other.outageWatch.look()
    await shop.ticks(8)
    shop.node('gate-1').isAlive = false
    await shop.ticks(8)
    shop.node('gate-2').isAlive = true
    await shop.ticks(3)
    expect((await shop.show(id)).proxy.interruptedAt).toBeNull()
    expect(await shop.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended', 'proxy.moved'])
    expect(await findingsOf(shop.services)).toEqual([])
  } finally {
    await shop.close()
  }
})

const joined = (runs: readonly (readonly [number, number])[], [first, count]: readonly [number, number]) => {
  const last = runs.at(-1)
  if (!last || last[0] + last[1] !== first) return [...runs, [first, count] as const]
  return [...runs.slice(0, -1), [last[0], last[1] + count] as const]
}

type Step =
  | { readonly do: 'die' | 'live' | 'close' | 'open'; readonly node: number }
  | { readonly do: 'can use'; readonly node: number; readonly runs: readonly (readonly [number, number])[] }
  | { readonly do: 'wait'; readonly ticks: number }

const which = fc.nat(1)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('die' as const), node: which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('live' as const), node: which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('close' as const, 'open' as const), node: which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('can use' as const),
      node: which,
      runs: fc.constantFrom<readonly (readonly [number, number])[]>([], [[0, 4]], [[0, 2]], [[1, 3]]),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('wait' as const), ticks: fc.integer({ min: 1, max: 14 }) }) },
)

/** A takeover takes up to 3 ticks, and a change is noticed within 2 ticks. */
const handoverMs = 3 * tickMs
const noticeMs = 2 * tickMs

/** A proxy's losses: periods in which no live node could use its address. */
class Losses {
  private usableAt: number
  least = 0
  max = 0
  constructor(nowMs: number) {
    this.usableAt = nowMs
  }
  tick(nowMs: number, isUsable: boolean): void {
    if (!isUsable) return
    const lostMs = nowMs - this.usableAt
    this.usableAt = nowMs
    // A node silent for less than 30 s that returns without the address dates the loss from its return; if that is less
    // than 30 s too, there is no compensation.
    if (lostMs >= 2 * outageAfterMs + noticeMs) this.least += lostMs - outageAfterMs - noticeMs
    if (lostMs + handoverMs >= outageAfterMs) this.max += lostMs + handoverMs
  }
}

const pairs = [...engines].flatMap((engine) => (['extend', 'refund'] as const).map((time) => ({ engine, time })))
/** Both engines and both kinds of compensation; all four pairs only in a long run. */
const cases = pairs.filter(({ engine, time }) => isLong || (engine === 'sqlite') === (time === 'extend'))

/** The number of random histories per shop. */
const historiesOn = isLong ? { sqlite: 200, postgres: 40 } : { sqlite: 4, postgres: 2 }

describe.each(cases)('random outages of nodes on $engine, compensated by $time', ({ engine, time }) => {
  test('the compensation of random node outages is between the modelled minimum and maximum loss', async () => {
    const shop = await openOutageShop(engine, prefix, ['gate-1', 'gate-2'])
    try {
      await shop.price({ time })
      await shop.ticks(8)
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), (steps) => runSteps(shop, steps, time)),
        { numRuns: historiesOn[engine], endOnFailure: true },
      )
      expect(await findingsOf(shop.services)).toEqual([])
    } finally {
      await shop.close()
    }
  })
})

async function runSteps(shop: OutageShop, steps: readonly Step[], time: 'extend' | 'refund'): Promise<void> {
  const names = ['gate-1', 'gate-2']
  const bought: { proxy: { id: number; expiresAt: number }; losses: Losses; offset: number }[] = []
  for (let count = 0; count < 2; count += 1) {
    const { proxy } = await shop.show(await shop.buy())
    bought.push({ proxy, losses: new Losses(shop.nowMs), offset: Number(proxy.address.split('.')[3]) })
  }
  const balance = await shop.balance()
  const refunded = await shop.lostMoney(bought.map(({ proxy }) => proxy.id))
  const pass = async (ticks: number) => {
    for (let count = 0; count < ticks; count += 1) {
      await shop.ticks(1)
      for (const { losses, offset } of bought) {
        const isUsable = names.some((name) => shop.node(name).isAlive && covers(shop.node(name).runs, offset))
        losses.tick(shop.nowMs, isUsable)
      }
    }
  }
  const run = async (each: Step): Promise<void> => {
    if (each.do === 'wait') return pass(each.ticks)
    const node = shop.node(names[each.node] ?? '')
    if (each.do === 'can use') node.runs = each.runs
    else if (each.do === 'die') node.isAlive = false
    else if (each.do === 'close') {
      await shop.services.fleet.close(node.name)
      ;[node.isClosed, node.isAlive] = [true, false]
    } else {
      if (node.isClosed) await shop.services.fleet.open(node.name)
      ;[node.isClosed, node.isAlive] = [false, true]
    }
  }
  for (const each of steps) await run(each)
  expect(await findingsOf(shop.services)).toEqual([])
  for (const node of [0, 1]) {
    await run({ do: 'open', node })
    await run({ do: 'can use', node, runs: [[0, 4]] })
  }
  await pass(8)
  for (const { proxy, losses } of bought) {
    const after = (await shop.show(proxy.id)).proxy
    expect(after.interruptedAt).toBeNull()
    const rows = await shop.outagesOf(proxy.id)
    const givenMs = rows.reduce((sum, row) => sum + row.untilAt - row.fromAt, 0)
    expect(givenMs).toBeGreaterThanOrEqual(losses.least)
    expect(givenMs).toBeLessThanOrEqual(losses.max)
    expect(after.expiresAt - proxy.expiresAt).toBe(time === 'extend' ? givenMs : 0)
  }
  const lost = await shop.lostMoney(bought.map(({ proxy }) => proxy.id))
  expect((await shop.balance()) - balance).toBe(time === 'refund' ? lost - refunded : 0n)
  for (const { proxy } of bought) {
    await shop.services.proxyOperator.end(proxy.id, { give: 'nothing', note: 'over' })
  }
  shop.clock.advance(8 * dayMs)
  await shop.services.stock.endRest(100)
  await shop.ticks(8)
}
