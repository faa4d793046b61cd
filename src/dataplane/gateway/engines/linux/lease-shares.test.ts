import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { HandTime } from '../../../../../test/harness/hand-time.ts'
import { LeaseShares } from './lease-shares.ts'

const MiB = 1024 * 1024

/** Reactors that use what they get, and a shop with so many bytes, which it leases in parts. */
function openShares(threads: number, bought: number, leaseBytes: number) {
  const time = new HandTime()
  const queue: (() => void)[] = []
  const reactors = Array.from({ length: threads }, () => ({ upto: 0, used: 0, answers: 0, isDry: false }))
  let leased = 0
  let asked = 0
  const shares: LeaseShares = new LeaseShares({
    threads,
    agent: {
      wantLease(id, pool) {
        asked += 1
        queue.push(() => {
          leased = Math.min(bought, leased + leaseBytes)
          shares.answered(id, pool, leased)
        })
      },
      giveBack: () => void asked,
    },
    allow(thread, _id, _pool, upto) {
      const reactor = reactors[thread]
      if (!reactor) return
      if (upto <= reactor.upto && reactor.used === reactor.upto) reactor.isDry = true
      reactor.upto = upto
      reactor.answers += 1
    },
    reclaim(thread, id, pool) {
      queue.push(() => {
        const reactor = reactors[thread]
        if (!reactor) return
        const left = Math.floor((reactor.upto - reactor.used) / 2)
        reactor.upto = reactor.used + left
        shares.reduced(thread, { id, pool, upto: reactor.upto, left, answers: reactor.answers }, false)
      })
      return true
    },
    now: time.clock,
    after: time.after,
  })
  const settle = (): void => {
    for (let rounds = 0; rounds < 2000; rounds += 1) {
      for (let act = queue.shift(); act; act = queue.shift()) act()
      time.pass(10)
      if (queue.length === 0 && time.timers === 0) return
    }
    throw new Error('the shares do not settle')
  }
  const use = (thread: number, bytes: number): void => {
    const reactor = reactors[thread]
    if (!reactor || reactor.isDry) return
    const taken = Math.min(bytes, reactor.upto - reactor.used)
    reactor.used += taken
    if (taken < bytes) shares.want(thread, 'sub', 'mobile', reactor.upto - reactor.used)
  }
  return { shares, reactors, use, settle, leasedBytes: () => leased }
}

const sum = (all: readonly { upto: number }[]): number => all.reduce((bytes, { upto }) => bytes + upto, 0)

test('reactors never get more than the lease together, and use all that was bought before one learns that none is left', () => {
  const uses = fc.array(fc.record({ thread: fc.nat(3), bytes: fc.integer({ min: 1, max: 5 * MiB }) }), {
    minLength: 20,
    maxLength: 60,
  })
  fc.assert(
    fc.property(uses, fc.integer({ min: 1, max: 40 * MiB }), (all, bought) => {
      const { reactors, use, settle, leasedBytes } = openShares(4, bought, 8 * MiB)
      for (const { thread, bytes } of all) {
        use(thread, bytes)
        settle()
        expect(sum(reactors)).toBeLessThanOrEqual(leasedBytes())
        const used = reactors.reduce((before, each) => before + each.used, 0)
        if (reactors.some(({ isDry }) => isDry)) expect(used).toBe(bought)
      }
    }),
    { numRuns: 40 },
  )
})

test('a single reactor gets the whole lease at once, and learns at once that the shop has no more', () => {
  const { reactors, use, settle } = openShares(1, 10 * MiB, 8 * MiB)
  use(0, 1)
  settle()
  expect(reactors[0]?.upto).toBe(8 * MiB)
  for (let count = 0; count < 3; count += 1) {
    use(0, 8 * MiB)
    settle()
  }
  expect(reactors[0]).toMatchObject({ upto: 10 * MiB, used: 10 * MiB, isDry: true })
})

test('the bytes of a dead reactor that were not counted go to the others', () => {
  const { shares, reactors, use, settle } = openShares(2, 8 * MiB, 8 * MiB)
  for (const thread of [0, 1]) {
    use(thread, 1)
    settle()
  }
  shares.died(0, () => 1000)
  for (let count = 0; count < 30; count += 1) {
    use(1, MiB)
    settle()
  }
  expect(reactors[1]).toMatchObject({ upto: 8 * MiB - 1000, used: 8 * MiB - 1000, isDry: true })
})
