import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { StateRow, StateTable } from '../../domains/fleet/index.ts'
import { createFeed, overlapMs, type Page, readCursor, writeCursor } from './feed.ts'

/** A table whose commits become visible with a delay, as in a database with concurrent writers. */
class LateTable {
  nowMs = 1_000_000
  private readonly commits: { row: StateRow; isDeleted: boolean; visibleAt: number }[] = []
  private version = 0

  commit(id: string, isDeleted: boolean, lateMs = 0): void {
    this.version += 1
    const row: StateRow = { id, changedAt: this.nowMs, shape: { id, isDeleted, version: this.version } }
    this.commits.push({ row, isDeleted, visibleAt: this.nowMs + lateMs })
  }

  /**
   * The newest visible version of each row. A locked row has no second writer, so its versions stay in order.
   */
  visible(): { row: StateRow; isDeleted: boolean }[] {
    const newest = new Map<string, { row: StateRow; isDeleted: boolean }>()
    for (const each of this.commits) if (each.visibleAt <= this.nowMs) newest.set(each.row.id, each)
    return [...newest.values()]
  }

  /** The feed does not read the shape of a row, so the test uses its own shape. */
  readonly table: StateTable = {
    name: 'peers',
    read: async (after, limit, existingOnly) => {
      const isAfter = (row: StateRow) =>
        row.changedAt > after.changedAt || (row.changedAt === after.changedAt && row.id > after.id)
      return this.visible()
        .filter(({ row, isDeleted }) => isAfter(row) && !(existingOnly && isDeleted))
        .map(({ row }) => row as StateRow<never>)
        .toSorted((a, b) => a.changedAt - b.changedAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit)
    },
  }

  open = () => createFeed({ tables: [this.table], clock: () => this.nowMs })
}

type TestRow = { readonly id: string; readonly isDeleted: boolean; readonly version: number }

class Reader {
  cursor: string | undefined
  readonly known = new Map<string, TestRow>()

  apply(page: Page): void {
    for (const each of page.given[0] as TestRow[]) {
      if (each.isDeleted) this.known.delete(each.id)
      else this.known.set(each.id, each)
    }
    this.cursor = page.cursor
  }
}

async function catchUp(feed: ReturnType<typeof createFeed>, reader: Reader): Promise<number[]> {
  const counts: number[] = []
  for (;;) {
    const page = await feed.read(reader.cursor)
    reader.apply(page)
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
      isDeleted: fc.boolean(),
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

describe('the feed of a node', () => {
  test('a node has all existing rows after late commits, lost answers and restarts of the feed', async () => {
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
            if (!each.lost) reader.apply(page)
          } else if ((lockedUntil.get(each.id) ?? 0) <= late.nowMs) {
            late.commit(each.id, each.isDeleted, each.lateMs)
            lockedUntil.set(each.id, late.nowMs + each.lateMs)
          }
        }
        late.nowMs += overlapMs - 1
        await catchUp(feed, reader)
        await catchUp(feed, reader)
        const there = late.visible().flatMap(({ row, isDeleted }) => (isDeleted ? [] : [row.shape as TestRow]))
        expect([...reader.known.values()].toSorted((a, b) => a.version - b.version)).toEqual(
          there.toSorted((a, b) => a.version - b.version),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('a page of the feed has at most 500 rows, and 1,700 rows of one millisecond are read without a gap', async () => {
    const late = new LateTable()
    for (let index = 0; index < 1700; index += 1) late.commit(`t${index}`, false)
    const reader = new Reader()
    const feed = late.open()
    expect(await catchUp(feed, reader)).toEqual([500, 500, 500, 200])
    expect(reader.known.size).toBe(1700)
    expect(await catchUp(feed, reader)).toEqual([0])
  })

  test('the feed sends a row that changes twice in one millisecond twice', async () => {
    const late = new LateTable()
    const reader = new Reader()
    const feed = late.open()
    late.commit('t1', false)
    await catchUp(feed, reader)
    late.commit('t1', false)
    expect(await catchUp(feed, reader)).toEqual([1])
    expect(reader.known.get('t1')?.version).toBe(2)
  })

  test('a node that reads page by page also gets a row whose commit becomes visible 20 s late', async () => {
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
    reader.apply(await feed.read(reader.cursor))
    late.nowMs += 90_000
    await catchUp(feed, reader)
    await catchUp(feed, reader)
    expect(reader.known.has('late')).toBe(true)
  })

  test('stageOf distinguishes the whole state, a round after 500 of 501 rows, and the end of a round', async () => {
    const [first, second] = [new LateTable(), new LateTable()]
    const feed = createFeed({ tables: [first.table, second.table], clock: () => first.nowMs })
    const commit = (count: number) => {
      for (let index = 0; index < count; index += 1) first.commit(`t${index}`, false)
    }
    commit(600)
    second.commit('last', false)
    first.nowMs += 2 * overlapMs
    const begun = await feed.read(undefined)
    const whole = await feed.read(begun.cursor)
    expect([undefined, '', begun.cursor, whole.cursor].map(feed.stageOf)).toEqual(['whole', 'whole', 'whole', 'end'])
    commit(500)
    second.nowMs = first.nowMs
    second.commit('last', false)
    const part = await feed.read(whole.cursor)
    const rest = await feed.read(part.cursor)
    expect([part.count, rest.count]).toEqual([500, 1])
    expect([part.cursor, rest.cursor].map(feed.stageOf)).toEqual(['within', 'end'])
  })

  test('two concurrent requests with one cursor each return the row that the node does not have', async () => {
    const late = new LateTable()
    const reader = new Reader()
    const feed = late.open()
    await catchUp(feed, reader)
    late.commit('t1', false)
    const pages = await Promise.all([feed.read(reader.cursor), feed.read(reader.cursor)])
    expect(pages.map((page) => page.count)).toEqual([1, 1])
    for (const page of pages) {
      reader.apply(page)
      expect((await feed.read(reader.cursor)).count).toBeLessThanOrEqual(1)
      expect(reader.known.size).toBe(1)
    }
  })

  test('readCursor reads the text of writeCursor, of at most 4,000 characters, and refuses other texts', () => {
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
      fc.property(fc.array(position, { minLength: 1, maxLength: 3 }), fc.string(), (positions, junk) => {
        const cursor = positions.map((each) => ({
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

test('the feed sends an added and a deleted row after the clock was set back', async () => {
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

describe('the feed of a node from several shops', () => {
  test('three shops that a node reads in turn send each change once', async () => {
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
            reader.apply(page)
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

  test('a cursor of the feed stays under 1,500 characters after 3,000 changes, and a change repeats under 320 rows', async () => {
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

  test('the feed does not send a row of which only the remaining traffic changed', async () => {
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
