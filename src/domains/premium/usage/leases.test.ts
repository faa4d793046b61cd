import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines } from '../../../../test/harness/database.ts'
import { HandProcess } from '../../../../test/harness/hand-process.ts'
import { leaseBytes, leaseLastsMs, openPremiumShop, type PremiumShop, pool } from '../../../../test/harness/premium.ts'
import { isLong } from '../../../../test/harness/scale.ts'
import { createServices } from '../../../app/shop/services.ts'
import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { NodeReport } from './rules.ts'

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** Model of an honest node: it never passes its allowance, and stops after five minutes without an answer. */
class ModelNode {
  usedBytes = 0n
  allowance = 0n
  turn = 0
  boot = 0
  lastAnswerAt = 0
  /** The bytes that each boot has relayed. */
  readonly relayed = new Map<string, bigint>()

  constructor(readonly name: string) {}

  get bootName(): string {
    return `${this.name}-${String(this.boot).padStart(4, '0')}`
  }

  relay(bytes: bigint): void {
    // An answer may allow less than was relayed meanwhile: then nothing more is relayed.
    const free = this.allowance > this.usedBytes ? this.allowance - this.usedBytes : 0n
    this.usedBytes += least(bytes, free)
    this.relayed.set(this.bootName, this.usedBytes)
  }

  message(subuser: SubuserId, want: 'lease' | 'return' | undefined): NodeReport {
    if (want !== undefined) this.turn += 1
    if (want === 'return') this.allowance = this.usedBytes
    const received = this.usedBytes / 3n
    return {
      node: this.name,
      boot: this.bootName,
      counts: [{ subuser, pool, received, sent: this.usedBytes - received }],
      leaseRequests: want === undefined ? [] : [{ subuser, pool, turn: this.turn, want }],
    }
  }

  /** An answer counts only if it is to the latest request of the running boot. */
  applyAnswer(message: NodeReport, upto: bigint | undefined, nowMs: number): void {
    if (message.boot !== this.bootName || message.leaseRequests[0]?.turn !== this.turn || upto === undefined) return
    this.lastAnswerAt = nowMs
    if (message.leaseRequests[0].want === 'lease') this.allowance = upto
  }

  /** All that was not journalled is lost; the new boot begins at zero. */
  crash(): void {
    this.boot += 1
    this.usedBytes = 0n
    this.allowance = 0n
    this.turn = 0
  }

  stopIfSilent(nowMs: number): void {
    if (nowMs - this.lastAnswerAt > 300_000) this.allowance = this.usedBytes
  }
}

type Step =
  | { do: 'relay'; node: number; bytes: bigint }
  | { do: 'send'; node: number; want: 'lease' | 'return' | undefined }
  | { do: 'deliver'; at: number; keep: boolean; loseAnswer: boolean }
  | { do: 'crash'; node: number }
  | { do: 'wait'; ms: number }
  | { do: 'buy' }
  | { do: 'move out'; tenths: number | 'all' }

const nodeCount = 3
/** Number of random histories. */
const historiesOn = isLong ? { sqlite: 1000, postgres: 250 } : { sqlite: 20, postgres: 5 }
const node = fc.nat(nodeCount - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('relay' as const), node, bytes: fc.bigInt(1n, leaseBytes) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      node,
      want: fc.constantFrom<'lease' | 'return' | undefined>('lease', 'lease', 'lease', 'return', undefined),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('deliver' as const),
      at: fc.nat(20),
      keep: fc.boolean(),
      loseAnswer: fc.constantFrom(true, false, false, false),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), node }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(60_000, leaseLastsMs + 1) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'buy' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('move out' as const),
      tenths: fc.constantFrom<number | 'all'>(1, 'all', 'all'),
    }),
  },
)

describe.each([...engines])('byte leases on %s', (engine) => {
  let shop: PremiumShop
  let serial = 0
  // One shop for all tests: each test has its own customers and nodes.
  beforeAll(async () => {
    shop = await openPremiumShop(engine)
  })
  afterAll(() => shop.close())

  const report = (message: NodeReport) => shop.services.premium.metering.takeReport(message)
  const lease = (name: string, subuser: SubuserId, turn: number, usedBytes = 0n, boot = 'boot'): NodeReport => ({
    node: name,
    boot: `${name}-${boot}`,
    counts: [{ subuser, pool, received: usedBytes - usedBytes / 3n, sent: usedBytes / 3n }],
    leaseRequests: [{ subuser, pool, turn, want: 'lease' }],
  })

  async function newSubuser(tenths: number): Promise<{ customer: CustomerId; subuser: SubuserId; other: SubuserId }> {
    const customer = await shop.newCustomer()
    const { id: subuser } = await shop.services.premium.subusers.load(customer, undefined)
    const { id: other } = await shop.services.premium.subusers.create(customer, { name: 'other' })
    await shop.buy(customer, tenths)
    return { customer, subuser, other }
  }

  /** Runs a history, and returns the account and the leases of the shop with the model nodes. */
  async function runHistory(steps: readonly Step[]) {
    serial += 1
    const { customer, subuser, other } = await newSubuser(1)
    const nodes = Array.from({ length: nodeCount }, (_, index) => new ModelNode(`n${engine}${serial}x${index}`))
    const inFlight: NodeReport[] = []
    for (const each of steps) {
      if (each.do === 'relay') nodes[each.node]?.relay(each.bytes)
      if (each.do === 'send') {
        const sender = nodes[each.node]
        if (sender) inFlight.push(sender.message(subuser, each.want))
      }
      if (each.do === 'deliver' && inFlight.length > 0) {
        const index = each.at % inFlight.length
        const message = inFlight[index]
        if (!each.keep) inFlight.splice(index, 1)
        if (message) {
          const answer = await report(message)
          const receiver = nodes.find((one) => one.name === message.node)
          if (!each.loseAnswer) receiver?.applyAnswer(message, answer.allowances[0]?.upto, shop.clock.nowMs)
        }
      }
      if (each.do === 'crash') {
        const crashed = nodes[each.node]
        // Its journal is reported later, perhaps after the next boot has replaced it.
        if (crashed && crashed.usedBytes > 0n) inFlight.push(crashed.message(subuser, undefined))
        crashed?.crash()
      }
      if (each.do === 'wait') {
        shop.clock.advance(each.ms)
        for (const one of nodes) one.stopIfSilent(shop.clock.nowMs)
        await shop.services.traffic.leases.lapse()
      }
      if (each.do === 'buy') await shop.buy(customer, 1)
      // The move is refused if there is too little.
      if (each.do === 'move out') {
        await shop.move(customer, each.tenths, undefined, other).catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error
        })
      }
      const now = await shop.account(subuser)
      expect(now.owed <= BigInt(nodeCount) * leaseBytes).toBeTrue()
    }
    for (const message of inFlight) await report(message)
    for (const one of nodes) await report(one.message(subuser, 'return'))
    shop.clock.advance(leaseLastsMs + 1)
    await shop.services.traffic.leases.lapse()
    const books = await shop.account(subuser)
    const lines = await shop.services.db.all<{
      boot: string
      counted: bigint
      late: bigint
      settled: bigint
      quarantined: bigint
    }>('SELECT boot, counted, late, settled, quarantined FROM usage_leases WHERE subject = $1', [
      `premium:${subuser}:${pool}`,
    ])
    const forgiven = await shop.services.db.first<{ sum: bigint | null }>(
      `SELECT CAST(SUM(-owed) AS BIGINT) AS sum FROM traffic_movements WHERE subuser_id = $1 AND kind = 'forgiven'`,
      [subuser],
    )
    return { subuser, nodes, books, lines, forgiven: forgiven?.sum ?? 0n }
  }

  test('the shop bills exactly the 100,000,000 bytes that a node relays and reports without faults', async () => {
    const { subuser } = await newSubuser(1)
    const one = new ModelNode(`exact-${engine}`)
    for (let round = 0; round < 25; round += 1) {
      const message = one.message(subuser, 'lease')
      one.applyAnswer(message, (await report(message)).allowances[0]?.upto, shop.clock.nowMs)
      one.relay(leaseBytes - BigInt(round))
    }
    await report(one.message(subuser, 'return'))
    const books = await shop.account(subuser)
    expect(books).toEqual({ balance: 0n, aside: 0n, owed: 0n, used: 100_000_000n })
    expect(one.usedBytes).toBe(100_000_000n)
  })

  test('24 nodes that request leases at once from a balance of 10 leases get 10 leases', async () => {
    const { subuser } = await newSubuser(1)
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => report(lease(`crowd-${engine}-${index}`, subuser, 1))),
    )
    const granted = answers.map((answer) => answer.allowances[0]?.upto ?? -1n)
    expect(granted.filter((upto) => upto === leaseBytes)).toHaveLength(10)
    expect(granted.filter((upto) => upto === 0n)).toHaveLength(14)
    expect(await shop.account(subuser)).toMatchObject({ balance: 0n, aside: 100_000_000n })
  })

  test('a repeated lease request gets the same answer and reserves no more bytes', async () => {
    const { subuser } = await newSubuser(1)
    const first = await report(lease(`again-${engine}`, subuser, 1))
    expect(await report(lease(`again-${engine}`, subuser, 1))).toEqual(first)
    expect(await shop.account(subuser)).toMatchObject({ aside: leaseBytes })
  })

  test('bytes that a node reports beyond its leases go to quarantine, are listed, and are not billed', async () => {
    const { subuser } = await newSubuser(1)
    const name = `liar-${engine}`
    await report(lease(name, subuser, 1))
    await report(lease(name, subuser, 2, leaseBytes + 555n))
    expect(await shop.account(subuser)).toMatchObject({ used: leaseBytes, owed: 0n })
    const claims = await shop.services.traffic.leases.quarantined(1000)
    expect(claims.find((each) => each.node === name)?.bytes).toBe(555n)
    expect(await shop.findings()).toEqual([])
  })

  test('bytes that a node reports for an unknown sub-user go to quarantine', async () => {
    const unknownSubuser = 'sub_00000000000000000000000000' as SubuserId
    await report(lease(`ghost-${engine}`, unknownSubuser, 1, 1000n))
    const claims = await shop.services.traffic.leases.quarantined(1000)
    expect(claims.find((each) => each.node === `ghost-${engine}`)?.bytes).toBe(1000n)
    expect(await shop.findings()).toEqual([])
  })

  test('the lease of a silent node lapses after 10 minutes, and a late report is billed once', async () => {
    const { subuser } = await newSubuser(1)
    const name = `silent-${engine}`
    await report(lease(name, subuser, 1))
    shop.clock.advance(leaseLastsMs - 1)
    await shop.services.traffic.leases.lapse()
    expect(await shop.account(subuser)).toMatchObject({ aside: leaseBytes })
    shop.clock.advance(1)
    await shop.services.traffic.leases.lapse()
    expect(await shop.account(subuser)).toMatchObject({ aside: 0n, balance: 100_000_000n })
    const late = { ...lease(name, subuser, 0, 4_000_000n), leaseRequests: [] }
    await report(late)
    await report(late)
    expect(await shop.account(subuser)).toMatchObject({ balance: 96_000_000n, used: 4_000_000n, owed: 0n })
  })

  test('a lease lapses after 10 minutes of running time of the shop, not counting a stall of 10 minutes', async () => {
    const { subuser } = await newSubuser(1)
    await report(lease(`stalled-${engine}`, subuser, 1))
    const process = new HandProcess(shop.clock)
    const stalled = createServices(shop.services.db, process.runtime, shop.services.config)
    process.run(60_000)
    process.stall(leaseLastsMs)
    await stalled.traffic.leases.lapse()
    expect(await shop.account(subuser)).toMatchObject({ aside: leaseBytes })
    process.run(leaseLastsMs - 61_000)
    await stalled.traffic.leases.lapse()
    expect(await shop.account(subuser)).toMatchObject({ aside: leaseBytes })
    process.run(1000)
    await stalled.traffic.leases.lapse()
    expect(await shop.account(subuser)).toMatchObject({ aside: 0n })
  })

  test('bytes of a late report on an empty account are owed, and paid by bytes that another node returns', async () => {
    const { customer, subuser, other } = await newSubuser(1)
    const name = `owing-${engine}`
    await report(lease(name, subuser, 1))
    await report(lease(`keeper-${engine}`, subuser, 1))
    shop.clock.advance(leaseLastsMs)
    // The keeper reports, so only the other one lapses.
    await report({ ...lease(`keeper-${engine}`, subuser, 0), leaseRequests: [] })
    await shop.services.traffic.leases.lapse()
    await shop.move(customer, 'all', undefined, other)
    await report({ ...lease(name, subuser, 0, leaseBytes), leaseRequests: [] })
    expect(await shop.account(subuser)).toMatchObject({ balance: 0n, owed: leaseBytes, used: 0n })
    await report({
      ...lease(`keeper-${engine}`, subuser, 2),
      leaseRequests: [{ subuser, pool, turn: 2, want: 'return' }],
    })
    expect(await shop.account(subuser)).toMatchObject({ balance: 0n, owed: 0n, aside: 0n, used: leaseBytes })
    expect(await shop.findings()).toEqual([])
  })

  test('a blocked sub-user, and a sub-user of a blocked customer, gets no lease', async () => {
    const { customer, subuser, other } = await newSubuser(1)
    await shop.move(customer, 1, undefined, other)
    await shop.services.premium.subusers.update(customer, other, { blocked: true, limits: {} })
    expect((await report(lease(`b1-${engine}`, other, 1))).allowances[0]?.upto).toBe(0n)
    await shop.services.premium.subusers.update(customer, other, { blocked: false, limits: {} })
    expect((await report(lease(`b1-${engine}`, other, 2))).allowances[0]?.upto).toBe(leaseBytes)
    await shop.buy(customer, 1)
    await shop.services.setBlocked(customer, true)
    shop.clock.advance(1001)
    expect((await report(lease(`b2-${engine}`, subuser, 1))).allowances[0]?.upto).toBe(0n)
  })

  test('daily, monthly and total limits of a sub-user hold over two nodes together', async () => {
    const { customer, subuser } = await newSubuser(2)
    const limit = 15_000_000n
    for (const [index, name] of (['dayBytes', 'monthBytes', 'totalBytes'] as const).entries()) {
      await shop.services.premium.subusers.update(customer, subuser, {
        limits: {
          dayBytes: null,
          monthBytes: null,
          totalBytes: null,
          [name]: limit * BigInt(name === 'totalBytes' ? index + 1 : 1),
        },
      })
      const [a, b] = [`limit-${engine}-${index}a`, `limit-${engine}-${index}b`]
      const before = await shop.account(subuser)
      const answers = await Promise.all([report(lease(a, subuser, 1)), report(lease(b, subuser, 1))])
      const granted = answers.map((answer) => answer.allowances[0]?.upto ?? 0n).toSorted((x, y) => (x < y ? -1 : 1))
      expect(granted).toEqual([limit - leaseBytes, leaseBytes])
      for (const [which, answer] of answers.entries()) {
        const upto = answer.allowances[0]?.upto ?? 0n
        const again = await report(lease([a, b][which] ?? '', subuser, 2, upto))
        expect(again.allowances[0]?.upto).toBe(upto)
      }
      expect((await shop.account(subuser)).used - before.used).toBe(limit)
      // The next month has a fresh day and a fresh month, and the same lifetime.
      shop.clock.advanceDays(31)
    }
    expect(least((await shop.account(subuser)).owed, 1n)).toBe(0n)
    expect(await shop.findings()).toEqual([])
  })

  test('a replaced boot of a node gets no lease, and its report of a lapsed lease goes to quarantine', async () => {
    const { subuser } = await newSubuser(1)
    const name = `twice-${engine}`
    await report(lease(name, subuser, 1, 0n, 'first'))
    await report(lease(name, subuser, 1, 0n, 'second'))
    expect((await report(lease(name, subuser, 2, 0n, 'first'))).replaced).toBe(true)
    await shop.services.traffic.leases.lapse()
    await report({ ...lease(name, subuser, 0, 1_000n, 'first'), leaseRequests: [] })
    expect(await shop.account(subuser)).toMatchObject({ used: 0n, aside: leaseBytes })
    const claims = await shop.services.traffic.leases.quarantined(1000)
    expect(claims.find((each) => each.node === name)).toMatchObject({ boot: `${name}-first`, bytes: 1000n })
  })

  test('a late report of a boot that was replaced after its lease lapsed is not billed', async () => {
    const { subuser } = await newSubuser(1)
    await report(lease('late', subuser, 1, 0n, 'first'))
    shop.clock.advance(leaseLastsMs)
    await shop.services.traffic.leases.lapse()
    await report(lease('late', subuser, 1, 0n, 'second'))
    await report({ ...lease('late', subuser, 0, 1000n, 'first'), leaseRequests: [] })
    expect(await shop.account(subuser)).toMatchObject({ used: 0n, owed: 0n, balance: 90_000_000n })
  })

  test('a late report of an old boot does not replace the new boot', async () => {
    const { subuser } = await newSubuser(1)
    await report(lease('twin', subuser, 1, 0n, 'b2'))
    const late = await report(lease('twin', subuser, 1, 0n, 'b1'))
    expect(late).toMatchObject({ replaced: true, allowances: [{ upto: 0n }] })
    const running = await report(lease('twin', subuser, 2, leaseBytes, 'b2'))
    expect(running).toMatchObject({ replaced: false, allowances: [{ upto: 2n * leaseBytes }] })
  })

  test('a boot that its successor names as running keeps its leases, gets more, and is billed exactly', async () => {
    const { subuser } = await newSubuser(1)
    const name = `heir-${engine}`
    const beside = [`${name}-b2`]
    await report(lease(name, subuser, 1, 0n, 'b1'))
    await report(lease(name, subuser, 1, 0n, 'b2'))
    const heir = await report({ ...lease(name, subuser, 1, 0n, 'b3'), beside })
    expect(heir).toMatchObject({ replaced: false, allowances: [{ upto: leaseBytes }] })
    const lastReport = await report(lease(name, subuser, 2, leaseBytes, 'b2'))
    expect(lastReport).toMatchObject({ replaced: false, allowances: [{ upto: 2n * leaseBytes }] })
    // Boots that are not named, or that report too late, are closed.
    expect(await report(lease(name, subuser, 2, 0n, 'b1'))).toMatchObject({ replaced: true })
    expect(await report(lease(name, subuser, 1, 0n, 'b0'))).toMatchObject({
      replaced: true,
      allowances: [{ upto: 0n }],
    })
    await shop.services.traffic.leases.lapse()
    const back = (boot: string, counted: bigint) => ({
      ...lease(name, subuser, 0, counted, boot),
      leaseRequests: [{ subuser, pool, turn: 9, want: 'return' as const }],
    })
    await report(back('b2', leaseBytes + 1_000n))
    await report(back('b3', 2_000n))
    expect(await shop.account(subuser)).toMatchObject({ used: leaseBytes + 3_000n, aside: 0n, owed: 0n })
    const claims = await shop.services.traffic.leases.quarantined(1000)
    expect(claims.filter((each) => each.node === name)).toEqual([])
    expect(await shop.findings()).toEqual([])
  })

  test('a new boot replaces all earlier boots that it does not name as running', async () => {
    const { subuser } = await newSubuser(1)
    await report(lease('third', subuser, 1, 0n, 'b1'))
    await report({ ...lease('third', subuser, 1, 0n, 'b2'), beside: ['third-b1'] })
    await report(lease('third', subuser, 1, 0n, 'b3'))
    for (const boot of ['b1', 'b2']) {
      expect(await report(lease('third', subuser, 2, 0n, boot))).toMatchObject({ replaced: true })
    }
  })

  test('an old lease or return request that arrives again neither reserves nor releases bytes', async () => {
    const { subuser } = await newSubuser(1)
    const back = { ...lease('stale', subuser, 2), leaseRequests: [{ subuser, pool, turn: 2, want: 'return' as const }] }
    await report(lease('stale', subuser, 1))
    await report(back)
    await report(lease('stale', subuser, 1))
    expect(await shop.account(subuser)).toMatchObject({ aside: 0n })
    await report(lease('stale', subuser, 3))
    await report(back)
    expect(await shop.account(subuser)).toMatchObject({ aside: leaseBytes })
  })

  test('a late report after three lapsed leases owes at most one lease, and the rest goes to quarantine', async () => {
    const { customer, subuser, other } = await newSubuser(1)
    for (const turn of [1, 2, 3]) {
      await report(lease('often', subuser, turn))
      shop.clock.advance(leaseLastsMs)
      await shop.services.traffic.leases.lapse()
    }
    await shop.move(customer, 'all', undefined, other)
    await report({ ...lease('often', subuser, 0, 3n * leaseBytes), leaseRequests: [] })
    expect(await shop.account(subuser)).toMatchObject({ owed: leaseBytes })
    const claim = (await shop.services.traffic.leases.quarantined(1000)).find((each) => each.node === 'often')
    expect(claim?.bytes).toBe(2n * leaseBytes)
    expect(await shop.findings()).toEqual([])
  })

  test('a late report of a lease that the node has returned is not billed', async () => {
    const { subuser } = await newSubuser(1)
    await report(lease('done', subuser, 1))
    shop.clock.advance(leaseLastsMs)
    await shop.services.traffic.leases.lapse()
    await report({ ...lease('done', subuser, 2), leaseRequests: [{ subuser, pool, turn: 2, want: 'return' }] })
    await report({ ...lease('done', subuser, 0, 1000n), leaseRequests: [] })
    expect(await shop.account(subuser)).toMatchObject({ used: 0n, balance: 100_000_000n })
  })

  // This test is the last one: a long run leaves more claims in quarantine than the tests above read.
  test('random histories of crashes, repeats and delays bill no byte twice and owe at most one lease per node', async () => {
    const seen = { late: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), async (steps) => {
        const { nodes, books, lines, forgiven } = await runHistory(steps)
        const relayed = new Map(nodes.flatMap((one) => [...one.relayed]))
        for (const line of lines) {
          // A count is never more than its boot has relayed.
          expect(line.counted <= (relayed.get(line.boot) ?? 0n)).toBeTrue()
        }
        const sum = (of: 'counted' | 'quarantined'): bigint => lines.reduce((total, line) => total + line[of], 0n)
        // Every counted byte was billed, is owed, was forgiven, or is in quarantine, exactly once.
        expect(books.used + books.owed + forgiven + sum('quarantined')).toBe(sum('counted'))
        // An honest node's claim goes to quarantine only after a later boot has replaced it.
        const running = new Set(nodes.map((one) => one.bootName))
        for (const line of lines) if (running.has(line.boot)) expect(line.quarantined).toBe(0n)
        seen.late += lines.some((line) => line.late > 0n) ? 1 : 0
        // No bytes remain reserved.
        expect(books.aside).toBe(0n)
      }),
      { numRuns: historiesOn[engine] },
    )
    expect(await shop.findings()).toEqual([])
    // Late claims occur in about one of five histories; the few of a short run may have none.
    if (isLong && engine === 'sqlite') expect(seen.late).toBeGreaterThan(0)
  }, 600_000)
})
