import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { HandTiming, quietLog } from '../../../test/harness/hand-timing.ts'
import { emptyPage, openStandInShop, type StandInShop } from '../../../test/harness/stand-in-shop.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { waitLimitMs } from '../../../test/harness/until.ts'
import type { StatePage } from '../../node-protocol/state.ts'
import { realTiming } from './runtime.ts'
import { createShopLink, LinkError } from './shop-link.ts'
import { type PagePosition, StateSync } from './sync.ts'

const exit = (id: string): StatePage['exits'][number] => ({
  id,
  pool: 'residential',
  kind: 'local',
  host: '127.0.0.1',
  port: null,
  credentials: null,
  country: 'de',
  state: '',
  city: '',
  zip: '',
  asn: null,
  offers: null,
  node: null,
  drained: false,
})
const page = (cursor: string, more: boolean, ...ids: string[]): StatePage => ({
  ...emptyPage,
  cursor,
  more,
  exits: ids.map(exit),
})
const describePosition = (position: PagePosition): string =>
  [position.isWhole && 'whole', position.isFirst && 'first', position.isLast && 'last'].filter(Boolean).join(' ')

describe('the state sync of a node', () => {
  let timing: HandTiming
  let end: AbortController
  let requests: { atMs: number; cursor: string | undefined; wait: number }[]
  let answers: (StatePage | LinkError)[]
  let applied: string[]
  let wake: () => void
  let fails: boolean

  const open = (log: typeof quietLog = quietLog) =>
    new StateSync({
      link: {
        async state(cursor, wait, until) {
          requests.push({ atMs: timing.now(), cursor, wait })
          const answer = answers.shift()
          if (answer instanceof LinkError) throw answer
          if (answer) return answer
          await new Promise<void>((resolve) => {
            wake = resolve
            until?.addEventListener('abort', () => resolve())
          })
          const later = answers.shift()
          if (later instanceof LinkError) throw later
          return later ?? page(cursor ?? 'c0', false)
        },
      },
      timing,
      chance: () => 1,
      log,
      onPage(given, position) {
        if (fails) throw new Error('a bug')
        applied.push(`${given.exits.map((each) => each.id).join(',')}: ${describePosition(position)}`)
      },
    })

  beforeEach(() => {
    timing = new HandTiming()
    end = new AbortController()
    requests = []
    answers = []
    applied = []
    fails = false
    wake = () => {}
  })

  test('sync reads the whole state page by page, becomes ready, and then long-polls for changes with wait=10', async () => {
    answers = [page('c1', true, 'a'), page('c2', true, 'b'), page('c3', false, 'c')]
    const sync = open()
    let isReady = false
    void sync.ready.then(() => {
      isReady = true
      return undefined
    })
    const running = sync.run(end.signal)
    await timing.advance(0)
    expect(isReady).toBe(true)
    expect(requests.map((each) => `${each.cursor} ${each.wait}`)).toEqual(['undefined 0', 'c1 0', 'c2 0', 'c3 10'])
    answers = [page('c4', false, 'd')]
    wake()
    await timing.advance(0)
    expect(applied).toEqual(['a: whole first', 'b: whole', 'c: whole last', 'd: last'])
    expect(requests.at(-1)).toMatchObject({ cursor: 'c4', wait: 10 })
    end.abort()
    await running
  })

  test('sync retries an unreachable shop with backoff from 250 ms to 10 s, and lagMs grows meanwhile', async () => {
    const unreachable = new LinkError('unreachable', 'away')
    answers = [page('c1', false), ...Array.from({ length: 9 }, () => unreachable)]
    const sync = open()
    const running = sync.run(end.signal)
    await timing.advance(0)
    expect(sync.lagMs).toBe(0)
    await timing.advance(40_000)
    const gaps = requests.slice(2).map((each, index) => each.atMs - requests[index + 1]!.atMs)
    expect(gaps).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])
    expect(sync.lagMs).toBe(40_000)
    expect(sync.lastContactAt).toBe(0)
    await timing.advance(10_000)
    answers = [page('c1', false)]
    wake()
    await timing.advance(0)
    expect(sync.lagMs).toBe(0)
    expect(applied).toEqual([': whole first last', ': last'])
    end.abort()
    await running
  })

  test('sync takes the whole state at once and logs no failure when the shop rejects its cursor with 400, once in 10 s', async () => {
    const logged: string[] = []
    const refused = new LinkError('fault', 'bad cursor', 400)
    answers = [page('c1', false, 'a'), refused, page('n1', false, 'b'), refused, page('m1', false, 'c')]
    const running = open({ ...quietLog, error: (event) => void logged.push(event) }).run(end.signal)
    await timing.advance(0)
    expect(requests.map((each) => `${each.cursor} at ${each.atMs}`)).toEqual([
      'undefined at 0',
      'c1 at 0',
      'undefined at 0',
      'n1 at 0',
    ])
    expect(logged).toEqual(['state not read'])
    await timing.advance(1_000)
    expect(applied).toEqual(['a: whole first last', 'b: whole first last', 'c: whole first last'])
    expect(requests.filter((each) => each.atMs === 0)).toHaveLength(4)
    end.abort()
    await running
  })

  test('sync starts a new whole read when the shop rejects its cursor with 400', async () => {
    answers = [
      page('c1', false, 'a'),
      new LinkError('fault', 'bad cursor', 400),
      page('n1', true, 'b'),
      page('n2', false, 'c'),
    ]
    const running = open().run(end.signal)
    await timing.advance(1_000)
    expect(requests.map((each) => each.cursor)).toEqual([undefined, 'c1', undefined, 'n1', 'n2'])
    expect(applied).toEqual(['a: whole first last', 'b: whole first', 'c: whole last'])
    end.abort()
    await running
  })

  test('sync sends fewer than 12 requests in 10 s to a shop that promises more and repeats its cursor', async () => {
    answers = Array.from({ length: 50 }, () => page('c1', true, 'a'))
    const running = open().run(end.signal)
    await timing.advance(10_000)
    expect(requests.length).toBeLessThan(12)
    end.abort()
    await running
  })

  test('sync sends fewer than 45 requests in 10 s to a shop that answers long polls at once with nothing', async () => {
    answers = Array.from({ length: 100 }, () => page('c1', false))
    const running = open().run(end.signal)
    await timing.advance(10_000)
    expect(requests.length).toBeLessThan(45)
    end.abort()
    await running
  })

  test('sync requests a page again when onPage() throws', async () => {
    fails = true
    answers = [page('c1', false, 'a'), page('c1', false, 'a')]
    const running = open().run(end.signal)
    await timing.advance(10)
    fails = false
    await timing.advance(1_000)
    expect(requests.slice(0, 2).map((each) => each.cursor)).toEqual([undefined, undefined])
    expect(applied).toEqual(['a: whole first last'])
    end.abort()
    await running
  })

  test('sync repeats its request after 10 s when the shop refuses the node with 401', async () => {
    answers = [new LinkError('refused', 'no', 401), page('c1', false)]
    const sync = open()
    const running = sync.run(end.signal)
    await timing.advance(10_000)
    await sync.ready
    expect(requests.map((each) => each.atMs).slice(0, 2)).toEqual([0, 10_000])
    end.abort()
    await running
  })
})

describe('the state sync over real sockets', () => {
  let shop: StandInShop
  beforeEach(async () => {
    shop = await openStandInShop()
    shop.secret = 'tpn_x'
  })
  afterEach(() => shop.stop())

  test('sync becomes ready after answers that are cut off, 500, malformed or missing, and after a rejected cursor', async () => {
    shop.faults = ['cut', { status: 500 }, 'nonsense', 'silent']
    let isCursorBad = true
    shop.state = async (cursor) => {
      if (cursor === 'c1' && isCursorBad) {
        isCursorBad = false
        return { status: 400 }
      }
      if (cursor === undefined) return page('c1', true, 'a')
      if (cursor === 'c1') return page('c2', false, 'b')
      return page('c2', false)
    }
    const applied: string[] = []
    const end = new AbortController()
    const linkWithin = (state: number) => createShopLink({ url: shop.url, secret: 'tpn_x', limitsMs: { state } })
    const [longLink, shortLink] = [linkWithin(waitLimitMs), linkWithin(200)]
    let requests = 0
    const sync = new StateSync({
      link: {
        // The shop never answers the fourth request.
        state(...question) {
          requests += 1
          return (requests === 4 ? shortLink : longLink).state(...question)
        },
      },
      timing: { ...realTiming, pause: (ms, until) => realTiming.pause(ms / 50, until) },
      chance: () => 0,
      log: quietLog,
      onPage: (given) => void applied.push(...given.exits.map((each) => each.id)),
    })
    const running = sync.run(end.signal)
    await sync.ready
    expect(applied).toEqual(['a', 'a', 'b'])
    expect(await untilTrue(() => shop.requests.length > 9)).toBe(true)
    end.abort()
    await running
  })
})
