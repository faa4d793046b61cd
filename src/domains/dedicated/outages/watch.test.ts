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
async function openGates(engine: Engine): Promise<OutageShop> {
  const town = await openOutageShop(engine, prefix, ['gate-1', 'gate-2'])
  town.node('gate-2').isAlive = false
  // A shop opens outages only after it has looked for 30 s.
  await town.ticks(8)
  return town
}

describe.each([...enginesOf('sqlite')])('outages of nodes on %s', (engine) => {
  let town: OutageShop
  beforeEach(async () => {
    town = await openGates(engine)
  })
  afterEach(async () => {
    expect(await findingsOf(town.services)).toEqual([])
    await town.close()
  })

  test('a dead node’s proxies are interrupted from its last report on, and get the time back when it returns', async () => {
    const id = await town.buy()
    const [bought, diedAt] = [await town.show(id), town.nowMs]
    town.node('gate-1').isAlive = false
    await town.ticks(outageAfterMs / tickMs - 1)
    expect((await town.show(id)).proxy.interruptedAt).toBeNull()
    await town.ticks(1)
    expect(await town.show(id)).toMatchObject({
      node: 'gate-1',
      status: 'active',
      proxy: { interruptedAt: diedAt, interruptedBy: 'outage', expiresAt: bought.proxy.expiresAt },
    })
    await town.ticks(20)
    town.node('gate-1').isAlive = true
    await town.ticks(1)
    const { proxy } = await town.show(id)
    expect(proxy.interruptedAt).toBeNull()
    expect(proxy.expiresAt - bought.proxy.expiresAt).toBe(town.nowMs - diedAt)
    expect(await town.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended'])
    await town.ticks(3)
    expect(await town.eventTypes()).toHaveLength(3)
  })

  test.each(['close', 'revoke'] as const)(
    'proxies of a node that the operator shuts with %s are interrupted',
    async (verb) => {
      const [id, heardAt] = [await town.buy(), town.nowMs]
      await town.services.fleet[verb]('gate-1')
      town.node('gate-1').isAlive = false
      await town.ticks(outageAfterMs / tickMs)
      expect((await town.show(id)).proxy.interruptedAt).toBe(heardAt)
    },
  )

  test(`a node that is silent for less than ${outageAfterMs / 1000} s causes no outage`, async () => {
    const id = await town.buy()
    const before = (await town.show(id)).proxy.expiresAt
    town.node('gate-1').isAlive = false
    await town.ticks(outageAfterMs / tickMs - 1)
    town.node('gate-1').isAlive = true
    await town.ticks(10)
    expect((await town.show(id)).proxy.expiresAt).toBe(before)
    expect(await town.eventTypes()).toEqual([])
  })

  test('an address that its node reports as unusable is interrupted from that report on, and no other address', async () => {
    const [first, second] = [await town.buy(), await town.buy()]
    const lost = Number((await town.show(first)).proxy.address.split('.')[3])
    const kept = [0, 1, 2, 3].filter((each) => each !== lost)
    town.node('gate-1').runs = kept.map((each) => [each, 1] as const).reduce(joined, [])
    await town.ticks(1)
    const lostAt = town.nowMs
    await town.ticks(outageAfterMs / tickMs)
    expect((await town.show(first)).proxy.interruptedAt).toBe(lostAt)
    expect((await town.show(second)).proxy.interruptedAt).toBeNull()
    town.node('gate-1').runs = [[0, 4]]
    await town.ticks(1)
    expect((await town.show(first)).proxy.interruptedAt).toBeNull()
  })

  test('another node that can use the address takes it over, and the customer gets proxy.moved', async () => {
    const [id, diedAt] = [await town.buy(), town.nowMs]
    const before = (await town.show(id)).proxy.expiresAt
    town.node('gate-1').isAlive = false
    await town.ticks(10)
    town.node('gate-2').isAlive = true
    await town.ticks(1)
    expect(await town.show(id)).toMatchObject({
      node: 'gate-2',
      proxy: { interruptedAt: null, expiresAt: before + town.nowMs - diedAt },
    })
    expect(await town.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended', 'proxy.moved'])
    town.node('gate-1').isAlive = true
    await town.ticks(10)
    expect(await town.eventTypes()).toHaveLength(4)
  })

  test('moving a range in use sends proxy.moved and causes no outage', async () => {
    const id = await town.buy()
    const before = (await town.show(id)).proxy.expiresAt
    town.node('gate-2').isAlive = true
    await town.ticks(2)
    await town.assign('gate-2')
    await town.ticks(1)
    expect(await town.show(id)).toMatchObject({ node: 'gate-2', proxy: { interruptedAt: null, expiresAt: before } })
    await town.assign('gate-1')
    await town.ticks(10)
    expect((await town.show(id)).node).toBe('gate-1')
    expect(await town.eventTypes()).toEqual(['proxy.moved', 'proxy.moved'])
  })

  test('a shop that was down opens no outage for a node that reports after its return', async () => {
    const id = await town.buy()
    const before = (await town.show(id)).proxy.expiresAt
    town.clock.advance(8 * 60 * minuteMs)
    await town.services.outageWatch.look()
    await town.ticks(10)
    expect((await town.show(id)).proxy.expiresAt).toBe(before)
    expect(await town.eventTypes()).toEqual([])
  })

  test('a node still silent 30 s after the shop’s return was down since its last report', async () => {
    const [id, heardAt] = [await town.buy(), town.nowMs]
    town.node('gate-1').isAlive = false
    town.clock.advance(10 * minuteMs)
    await town.services.outageWatch.look()
    await town.ticks(outageAfterMs / tickMs - 1)
    expect((await town.show(id)).proxy.interruptedAt).toBeNull()
    await town.ticks(1)
    expect((await town.show(id)).proxy.interruptedAt).toBe(heardAt)
  })

  test('a term bought after the previous one has ended gets no compensation for the gap', async () => {
    const id = await town.buy()
    town.clock.advance(7 * dayMs + minuteMs)
    town.node('gate-1').isAlive = false
    await town.ticks(20)
    expect((await town.show(id)).proxy.interruptedAt).toBeNull()
    const early = prolongProxies(town.services, town.customer, [id], 3)
    expect((await refusalOf(early)).code).toBe('unavailable')
    town.node('gate-1').isAlive = true
    await town.ticks(1)
    await prolongProxies(town.services, town.customer, [id], 3)
    const prolongedAt = town.nowMs
    town.node('gate-1').isAlive = false
    await town.ticks(8)
    expect((await town.show(id)).proxy.interruptedAt).toBe(prolongedAt)
  })

  test('an address is replaced after after_minutes by a served one, or waits if there is none', async () => {
    await town.price({ address: 'replace', after_minutes: 2 })
    await town.assign('gate-1')
    await town.ticks(1)
    const [first, second] = [await town.buy(), await town.buy()]
    await town.add('198.51.100.1/32', 'gate-2')
    town.node('gate-2').isAlive = true
    await town.ticks(1)
    town.node('gate-1').isAlive = false
    const diedAt = town.nowMs
    const before = (await town.show(first)).proxy.expiresAt
    await town.ticks((2 * minuteMs) / tickMs - 1)
    expect((await town.show(first)).proxy.interruptedAt).toBe(diedAt)
    await town.ticks(1)
    const both = [await town.show(first), await town.show(second)]
    const [replaced, waiting] = both.toSorted((a) => (a.node === 'gate-2' ? -1 : 1))
    expect(replaced?.proxy).toMatchObject({
      address: '198.51.100.1',
      interruptedAt: null,
      replacedBy: 'outage',
      expiresAt: before + 2 * minuteMs,
    })
    expect(waiting?.proxy).toMatchObject({ interruptedAt: diedAt })
    expect(await town.eventTypes()).toContain('proxy.replaced')
    await town.ticks(5)
    town.node('gate-1').isAlive = true
    await town.ticks(1)
    expect((await town.show(waiting?.proxy.id ?? 0)).proxy.interruptedAt).toBeNull()
  })
})

// PostgreSQL only: on SQLite one of the two waits for the other.
test('two shops that look at once open, close and report each outage once', async () => {
  const town = await openGates('postgres')
  try {
    const id = await town.buy()
    const other = town.secondShop()
    town.alsoLook = () => other.outageWatch.look()
    await town.ticks(8)
    town.node('gate-1').isAlive = false
    await town.ticks(8)
    town.node('gate-2').isAlive = true
    await town.ticks(3)
    expect((await town.show(id)).proxy.interruptedAt).toBeNull()
    expect(await town.eventTypes()).toEqual(['proxy.interrupted', 'proxy.restored', 'proxy.extended', 'proxy.moved'])
    expect(await findingsOf(town.services)).toEqual([])
  } finally {
    await town.close()
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

/** A takeover begins after the node is missed, and each change is seen at the next tick. */
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
const tried = pairs.filter(({ engine, time }) => isLong || (engine === 'sqlite') === (time === 'extend'))

/** How many random histories are played on one town. */
const historiesOn = isLong ? { sqlite: 200, postgres: 40 } : { sqlite: 8, postgres: 3 }

describe.each(tried)('random outages of nodes on $engine, made good by $time', ({ engine, time }) => {
  test('compensation of random node outages is at most the loss, and at least the loss less the stated tolerance', async () => {
    const town = await openOutageShop(engine, prefix, ['gate-1', 'gate-2'])
    try {
      await town.price({ time })
      await town.ticks(8)
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), (steps) => play(town, steps, time)),
        { numRuns: historiesOn[engine], endOnFailure: true },
      )
      expect(await findingsOf(town.services)).toEqual([])
    } finally {
      await town.close()
    }
  })
})

async function play(town: OutageShop, steps: readonly Step[], time: 'extend' | 'refund'): Promise<void> {
  const names = ['gate-1', 'gate-2']
  const bought: { proxy: { id: number; expiresAt: number }; losses: Losses; offset: number }[] = []
  for (let count = 0; count < 2; count += 1) {
    const { proxy } = await town.show(await town.buy())
    bought.push({ proxy, losses: new Losses(town.nowMs), offset: Number(proxy.address.split('.')[3]) })
  }
  const balance = await town.balance()
  const refunded = await town.lostMoney(bought.map(({ proxy }) => proxy.id))
  const pass = async (ticks: number) => {
    for (let count = 0; count < ticks; count += 1) {
      await town.ticks(1)
      for (const { losses, offset } of bought) {
        const isUsable = names.some((name) => town.node(name).isAlive && covers(town.node(name).runs, offset))
        losses.tick(town.nowMs, isUsable)
      }
    }
  }
  const run = async (each: Step): Promise<void> => {
    if (each.do === 'wait') return pass(each.ticks)
    const node = town.node(names[each.node] ?? '')
    if (each.do === 'can use') node.runs = each.runs
    else if (each.do === 'die') node.isAlive = false
    else if (each.do === 'close') {
      await town.services.fleet.close(node.name)
      ;[node.isClosed, node.isAlive] = [true, false]
    } else {
      if (node.isClosed) await town.services.fleet.open(node.name)
      ;[node.isClosed, node.isAlive] = [false, true]
    }
  }
  for (const each of steps) await run(each)
  expect(await findingsOf(town.services)).toEqual([])
  for (const node of [0, 1]) {
    await run({ do: 'open', node })
    await run({ do: 'can use', node, runs: [[0, 4]] })
  }
  await pass(8)
  for (const { proxy, losses } of bought) {
    const after = (await town.show(proxy.id)).proxy
    expect(after.interruptedAt).toBeNull()
    const rows = await town.outagesOf(proxy.id)
    const givenMs = rows.reduce((sum, row) => sum + row.untilAt - row.fromAt, 0)
    expect(givenMs).toBeGreaterThanOrEqual(losses.least)
    expect(givenMs).toBeLessThanOrEqual(losses.max)
    expect(after.expiresAt - proxy.expiresAt).toBe(time === 'extend' ? givenMs : 0)
  }
  const lost = await town.lostMoney(bought.map(({ proxy }) => proxy.id))
  expect((await town.balance()) - balance).toBe(time === 'refund' ? lost - refunded : 0n)
  for (const { proxy } of bought) {
    await town.services.proxyOperator.end(proxy.id, { give: 'nothing', note: 'over' })
  }
  town.clock.advance(8 * dayMs)
  await town.services.stock.endRest(100)
  await town.ticks(8)
}
