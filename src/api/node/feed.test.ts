import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { StateRow, StateTable } from '../../domains/fleet/index.ts'
import { overlapMs, readCursor, writeCursor } from './cursor.ts'
import { createFeed, type Page } from './feed.ts'

/** A table whose commits become visible when they like, as in a database with many writers. */
class LateTable {
  nowMs = 1_000_000
  private readonly commits: { row: StateRow; gone: boolean; visibleAt: number }[] = []
  private version = 0

  commit(id: string, gone: boolean, lateMs = 0): void {
    this.version += 1
    const row: StateRow = { id, changedAt: this.nowMs, shape: { id, gone, version: this.version } }
    this.commits.push({ row, gone, visibleAt: this.nowMs + lateMs })
  }

  /**
   * The newest visible word on each thing; a row that is locked is not written by a second one, so words stay in order.
   */
  visible(): { row: StateRow; gone: boolean }[] {
    const newest = new Map<string, { row: StateRow; gone: boolean }>()
    for (const each of this.commits) if (each.visibleAt <= this.nowMs) newest.set(each.row.id, each)
    return [...newest.values()]
  }

  /** A feed does not look into what it gives, so things of a test's own serve as well as devices. */
  readonly table: StateTable = {
    name: 'peers',
    read: async (after, limit, thereOnly) => {
      const isAfter = (row: StateRow) =>
        row.changedAt > after.changedAt || (row.changedAt === after.changedAt && row.id > after.id)
      return this.visible()
        .filter(({ row, gone }) => isAfter(row) && !(thereOnly && gone))
        .map(({ row }) => row as StateRow<never>)
        .toSorted((a, b) => a.changedAt - b.changedAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit)
    },
  }

  open = () => createFeed({ tables: [this.table], clock: () => this.nowMs })
}

type Thing = { readonly id: string; readonly gone: boolean; readonly version: number }

class Reader {
  cursor: string | undefined
  readonly known = new Map<string, Thing>()

  hear(page: Page): void {
    for (const each of page.given[0] as Thing[]) {
      if (each.gone) this.known.delete(each.id)
      else this.known.set(each.id, each)
    }
    this.cursor = page.cursor
  }
}

async function catchUp(feed: ReturnType<typeof createFeed>, reader: Reader): Promise<number[]> {
  const counts: number[] = []
  for (;;) {
    const page = await feed.read(reader.cursor)
    reader.hear(page)
    counts.push(page.count)
    if (!page.more) return counts
  }
}

const ids = Array.from({ length: 30 }, (_, index) => `t${index}`)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      id: fc.constantFrom(...ids),
      gone: fc.boolean(),
      lateMs: fc.constantFrom(0, 0, 10, 5000, overlapMs - 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), lost: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 700, 20_000, 100_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
)

describe('what a node is fed', () => {
  test('a node has every row in the end, despite late commits, lost answers and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const late = new LateTable()
        const reader = new Reader()
        let feed = late.open()
        const lockedUntil = new Map<string, number>()
        for (const each of steps) {
          if (each.do === 'pass') late.nowMs += each.ms
          else if (each.do === 'restart') feed = late.open()
          else if (each.do === 'read') {
            const page = await feed.read(reader.cursor)
            if (!each.lost) reader.hear(page)
          } else if ((lockedUntil.get(each.id) ?? 0) <= late.nowMs) {
            late.commit(each.id, each.gone, each.lateMs)
            lockedUntil.set(each.id, late.nowMs + each.lateMs)
          }
        }
        late.nowMs += overlapMs - 1
        await catchUp(feed, reader)
        await catchUp(feed, reader)
        const there = late.visible().flatMap(({ row, gone }) => (gone ? [] : [row.shape as Thing]))
        expect([...reader.known.values()].toSorted((a, b) => a.version - b.version)).toEqual(
          there.toSorted((a, b) => a.version - b.version),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('a page has at most 500 things, and thousands of one moment are read without a gap', async () => {
    const late = new LateTable()
    for (let index = 0; index < 1700; index += 1) late.commit(`t${index}`, false)
    const reader = new Reader()
    const feed = late.open()
    expect(await catchUp(feed, reader)).toEqual([500, 500, 500, 200])
    expect(reader.known.size).toBe(1700)
    expect(await catchUp(feed, reader)).toEqual([0])
  })

  test('a row that changes twice in one millisecond is sent twice', async () => {
    const late = new LateTable()
    const reader = new Reader()
    const feed = late.open()
    late.commit('t1', false)
    await catchUp(feed, reader)
    late.commit('t1', false)
    expect(await catchUp(feed, reader)).toEqual([1])
    expect(reader.known.get('t1')?.version).toBe(2)
  })

  test('a slow reader misses nothing that appears behind it while it reads', async () => {
    const late = new LateTable()
    for (let index = 0; index < 600; index += 1) late.commit(`t${1000 + index}`, false)
    const reader = new Reader()
    const feed = late.open()
    await catchUp(feed, reader)
    late.nowMs += 1000
    late.commit('late', false, 20_000)
    late.nowMs += 1
    for (let index = 0; index < 600; index += 1) late.commit(`t${1000 + index}`, false)
    late.nowMs += 1
    reader.hear(await feed.read(reader.cursor))
    late.nowMs += 90_000
    await catchUp(feed, reader)
    await catchUp(feed, reader)
    expect(reader.known.has('late')).toBe(true)
  })

  test('two requests of one node at once each tell all that the node has not heard', async () => {
    const late = new LateTable()
    const reader = new Reader()
    const feed = late.open()
    await catchUp(feed, reader)
    late.commit('t1', false)
    const pages = await Promise.all([feed.read(reader.cursor), feed.read(reader.cursor)])
    expect(pages.map((page) => page.count)).toEqual([1, 1])
    for (const page of pages) {
      reader.hear(page)
      expect((await feed.read(reader.cursor)).count).toBeLessThanOrEqual(1)
      expect(reader.known.size).toBe(1)
    }
  })

  test('a cursor is read as it was written, and any other text is not one', () => {
    const number = fc.nat(2 ** 40)
    const after = fc.option(fc.record({ changedAt: number, id: fc.stringMatching(/^[0-9a-z_]{1,40}$/) }))
    const position = fc.record({
      phase: fc.constantFrom('whole' as const, 'changes' as const),
      sinceAt: number,
      roundAt: number,
      after,
      sent: fc.uniqueArray(fc.record({ fromAt: number, sum: fc.bigInt(0n, 2n ** 64n - 1n) }), { maxLength: 40 }),
    })
    fc.assert(
      fc.property(fc.array(position, { minLength: 1, maxLength: 3 }), fc.string(), (drawn, junk) => {
        const cursor = drawn.map((each) => ({
          ...each,
          sent: each.sent.map(({ fromAt, sum }) => ({ fromAt: each.sinceAt + fromAt, sum })),
        }))
        const text = writeCursor(cursor)
        expect(text.length).toBeLessThanOrEqual(4000)
        expect(encodeURIComponent(text).replaceAll('%7E', '~')).toBe(text)
        expect(readCursor(text, cursor.length)).toEqual(cursor)
        expect(readCursor(text, cursor.length + 1)).toBeUndefined()
        expect(readCursor(junk, cursor.length)).toBeUndefined()
      }),
    )
  })
})

test('a change after the clock was set back is heard at once, and so is what is gone', async () => {
  const table = new LateTable()
  const feed = table.open()
  const reader = new Reader()
  table.commit('stays', false)
  table.commit('goes', false)
  await catchUp(feed, reader)
  table.nowMs += 5 * overlapMs
  await catchUp(feed, reader)
  table.nowMs -= 4 * overlapMs
  table.commit('comes', false)
  table.commit('goes', true)
  table.nowMs += overlapMs / 2
  await catchUp(feed, reader)
  expect([...reader.known.keys()].toSorted()).toEqual(['comes', 'stays'])
  table.nowMs += 1
  expect(await catchUp(feed, reader)).toEqual([0])
})

describe('what several shops feed one node', () => {
  test('several shops together send a change once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ id: fc.constantFrom(...ids), passMs: fc.constantFrom(1, 40, 5000) }), { maxLength: 60 }),
        async (changes) => {
          const late = new LateTable()
          const shops = [late.open(), late.open(), late.open()]
          const reader = new Reader()
          let reads = 0
          const read = async () => {
            reads += 1
            const page = await (shops[reads % 3] ?? late.open()).read(reader.cursor)
            reader.hear(page)
            return page
          }
          while ((await read()).more);
          for (const { id, passMs } of changes) {
            late.nowMs += passMs
            late.commit(id, false)
            expect([(await read()).count > 0, (await read()).count, (await read()).count]).toEqual([true, 0, 0])
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  test('a cursor stays under 1500 characters after 3000 changes, and one change repeats fewer than 320 rows', async () => {
    const late = new LateTable()
    const reader = new Reader()
    const feed = late.open()
    for (let index = 0; index < 3000; index += 1) {
      late.nowMs += 5
      late.commit(`t${index}`, false)
    }
    await catchUp(feed, reader)
    expect(reader.cursor?.length).toBeLessThan(1500)
    expect(await catchUp(feed, reader)).toEqual([0])
    late.commit('t1500', false)
    const [count = 0, ...others] = await catchUp(feed, reader)
    expect([count < 320, others]).toEqual([true, []])
  })

  test('the feed ignores a change of the remaining traffic, which is only a hint', async () => {
    let left = 100
    const read: StateTable['read'] = async () => [
      { id: 's1', changedAt: 5, shape: { id: 's1', pools: [{ left }] } as never },
    ]
    const feed = createFeed({ tables: [{ name: 'subusers', read }], clock: () => 10 })
    const first = await feed.read(undefined)
    left = 90
    expect([first.count, (await feed.read(first.cursor)).count]).toEqual([1, 0])
  })
})
