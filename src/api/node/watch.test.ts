import { describe, expect, test } from 'bun:test'
import { HandTiming, settle } from '../../../test/harness/hand-timing.ts'
import type { NodeId } from '../../core/ids.ts'
import { ChangeWatch, ReadWait } from './watch.ts'

const never = new AbortController().signal

/** A ChangeWatch with a mark that the test sets and a clock that the test advances. */
function open(options: { readonly holdBackMs?: number } = {}) {
  const source = { mark: 'a', nowMs: 1_000_000, queries: 0, fails: false }
  const timing = new HandTiming()
  const watch = new ChangeWatch({
    mark: async (since) => {
      source.queries += 1
      if (source.fails) throw new Error('no database')
      return `${since} ${source.mark}`
    },
    clock: () => source.nowMs,
    timing,
    ...options,
  })
  /** Begins a wait, and returns how long it took. */
  const beginWaiting = async (limitMs = 5000): Promise<{ readonly tookMs: () => number | undefined }> => {
    await watch.ready()
    const startedAt = timing.now()
    let tookMs: number | undefined
    const wait = async (): Promise<void> => {
      await watch.wait(watch.wakeUps(), limitMs, never)
      tookMs = timing.now() - startedAt
    }
    void wait()
    await settle()
    return { tookMs: () => tookMs }
  }
  return { source, timing, watch, beginWaiting }
}

describe('ChangeWatch', () => {
  test('ChangeWatch ends a wait 200 ms after a change by another process', async () => {
    const { source, timing, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    source.mark = 'b'
    await timing.advance(199)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect(tookMs()).toBe(200)
  })

  test('ChangeWatch ends a wait of 500 ms without a change after 500 ms', async () => {
    const { timing, beginWaiting } = open()
    const { tookMs } = await beginWaiting(500)
    await timing.advance(499)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect(tookMs()).toBe(500)
  })

  test('ChangeWatch.poke() ends a wait at once, without a query of the database', async () => {
    const { source, timing, watch, beginWaiting } = open()
    await watch.ready()
    // The first wake-up is followed by a pause of 5 ms, like any other.
    await timing.advance(5)
    const { tookMs } = await beginWaiting()
    watch.poke()
    await settle()
    expect([tookMs(), source.queries]).toEqual([0, 1])
  })

  test('ChangeWatch with holdBackMs of 100 wakes a node once for two changes, after 100 ms', async () => {
    const { timing, watch, beginWaiting } = open({ holdBackMs: 100 })
    const { tookMs } = await beginWaiting()
    const before = watch.wakeUps()
    watch.poke()
    watch.poke()
    await timing.advance(99)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect([tookMs(), watch.wakeUps()]).toEqual([100, before + 1])
  })

  test('ChangeWatch ends a wait at once if a change happened between the read and the wait', async () => {
    const { timing, watch } = open()
    await watch.ready()
    await timing.advance(5)
    const seen = watch.wakeUps()
    watch.poke()
    await watch.wait(seen, 5000, never)
    expect(timing.now()).toBe(5)
  })

  test('ChangeWatch sends one database query every 200 ms for 100 nodes that wait 650 ms', async () => {
    const { source, timing, beginWaiting } = open()
    const waits = await Promise.all(Array.from({ length: 100 }, () => beginWaiting(650)))
    await timing.advance(650)
    expect(waits.every((wait) => wait.tookMs() === 650)).toBeTrue()
    expect(source.queries).toBe(4)
  })

  test('ChangeWatch wakes a node 7 times in 500 ms for a change every 1 ms if an answer takes 20 ms', async () => {
    const { timing, watch } = open()
    await watch.ready()
    const before = watch.wakeUps()
    let answered = before
    for (let ms = 0; ms < 500; ms += 1) {
      await timing.advance(1)
      watch.poke()
      if (watch.wakeUps() === answered) continue
      answered = watch.wakeUps()
      watch.spent(20)
    }
    // One wake-up after 5 ms, then a pause of four times the duration of the answer.
    expect(watch.wakeUps() - before).toBe(7)
  })

  test('ChangeWatch ends a wait after 200 ms when the database fails, and ready() rejects for the next node', async () => {
    const { source, timing, watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    source.fails = true
    await timing.advance(200)
    expect(tookMs()).toBe(200)
    expect(await watch.ready().catch((error: unknown) => String(error))).toContain('no database')
  })

  test('ChangeWatch continues its queries for 30 s after a wait, and then stops', async () => {
    const { source, timing, watch } = open()
    await watch.ready()
    const seen = watch.wakeUps()
    await timing.advance(29_000)
    source.mark = 'b'
    await timing.advance(200)
    expect(watch.wakeUps()).toBe(seen + 1)
    await timing.advance(2000)
    const { queries } = source
    await timing.advance(60_000)
    expect(source.queries).toBe(queries)
  })

  test('ChangeWatch.stop() ends a wait at once', async () => {
    const { timing, watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    watch.stop()
    await settle()
    expect([tookMs(), timing.now()]).toEqual([0, 0])
  })
})

describe('ReadWait', () => {
  /** Gateways whose cursors the test moves. Nothing follows `head`; everything else is behind. */
  function openReadWait(...nodes: string[]) {
    let lookMs = 0
    const timing = new HandTiming()
    const cursors = new Map(nodes.map((node) => [node, 'head']))
    const source = { looks: 0, fails: false }
    const readWait = new ReadWait({
      acknowledgements: async () => {
        source.looks += 1
        if (lookMs > 0) await new Promise<void>((resolve) => timing.after(lookMs, resolve))
        if (source.fails) throw new Error('no database')
        return [...cursors].map(([node, cursor]) => ({ node: node as NodeId, cursor }))
      },
      isCurrent: async (cursor) => cursor === 'head',
      isRoundEnd: (cursor) => !cursor.startsWith('page'),
      timing,
    })
    const begin = async () => {
      const state = { isOver: false }
      const wait = async (): Promise<void> => {
        await readWait.wait()
        state.isOver = true
      }
      void wait()
      await settle()
      return state
    }
    const setLookMs = (ms: number): void => {
      lookMs = ms
    }
    return { timing, cursors, source, readWait, begin, setLookMs }
  }

  test('ReadWait ends a wait at its first look if every gateway has read everything', async () => {
    const { begin, source } = openReadWait('a', 'b')
    expect((await begin()).isOver).toBe(true)
    expect(source.looks).toBe(1)
  })

  test('ReadWait waits for a new gateway when recheck() resolves, although there was none a moment before', async () => {
    const { begin, cursors, timing, readWait } = openReadWait()
    expect((await begin()).isOver).toBe(true)
    cursors.set('a', '')
    expect((await begin()).isOver).toBe(true)
    const rechecked = readWait.recheck().then(begin)
    await timing.advance(200)
    const wait = await rechecked
    expect(wait.isOver).toBe(false)
    cursors.set('a', 'head')
    await timing.advance(20)
    expect(wait.isOver).toBe(true)
  })

  test('ReadWait ends a wait when the last gateway has read everything', async () => {
    const { begin, cursors, timing } = openReadWait('a', 'b')
    cursors.set('a', 'old').set('b', 'old')
    const wait = await begin()
    cursors.set('a', 'head')
    await timing.advance(100)
    expect(wait.isOver).toBe(false)
    cursors.set('b', 'head')
    await timing.advance(20)
    expect(wait.isOver).toBe(true)
  })

  test('ReadWait ends a wait after two rounds of a gateway although later changes follow its cursor', async () => {
    const { begin, cursors, timing } = openReadWait('a')
    cursors.set('a', '1')
    const wait = await begin()
    cursors.set('a', '2')
    await timing.advance(20)
    expect(wait.isOver).toBe(false)
    cursors.set('a', '3')
    await timing.advance(20)
    expect(wait.isOver).toBe(true)
  })

  test('ReadWait counts the ends of rounds, not the pages before them', async () => {
    const { begin, cursors, timing } = openReadWait('a')
    cursors.set('a', '')
    const wait = await begin()
    for (const cursor of ['page 1', 'page 2', 'page 3', '1', 'page 4', 'page 5']) {
      cursors.set('a', cursor)
      await timing.advance(20)
      expect(wait.isOver).toBe(false)
    }
    cursors.set('a', '2')
    await timing.advance(20)
    expect(wait.isOver).toBe(true)
  })

  test('ReadWait does not count rounds from before a wait', async () => {
    const { begin, cursors, timing } = openReadWait('a')
    cursors.set('a', '1')
    await begin()
    cursors.set('a', '2')
    await timing.advance(20)
    const later = await begin()
    cursors.set('a', '3')
    await timing.advance(20)
    cursors.set('a', '4')
    await timing.advance(20)
    expect(later.isOver).toBe(false)
    cursors.set('a', '5')
    await timing.advance(20)
    expect(later.isOver).toBe(true)
  })

  test('ReadWait ends a wait after 2 s, and at once when the database fails or it is stopped', async () => {
    const { begin, cursors, timing, source, readWait } = openReadWait('a')
    cursors.set('a', 'old')
    const bounded = await begin()
    await timing.advance(1_980)
    expect(bounded.isOver).toBe(false)
    await timing.advance(40)
    expect(bounded.isOver).toBe(true)
    source.fails = true
    expect((await begin()).isOver).toBe(true)
    source.fails = false
    const stopped = await begin()
    expect(stopped.isOver).toBe(false)
    readWait.stop()
    await settle()
    expect(stopped.isOver).toBe(true)
  })

  test('ReadWait asks the database every 200 ms while no gateway acknowledges', async () => {
    const { begin, source, timing } = openReadWait()
    for (let count = 0; count < 5; count += 1) expect((await begin()).isOver).toBe(true)
    expect(source.looks).toBe(1)
    await timing.advance(200)
    await begin()
    expect(source.looks).toBe(2)
  })

  test('ReadWait looks for at most a fifth of the time if a look takes 100 ms', async () => {
    const { begin, source, timing, setLookMs } = openReadWait('a')
    setLookMs(100)
    for (let round = 0; round < 100; round += 1) {
      await begin()
      await timing.advance(100)
    }
    expect(source.looks).toBeGreaterThan(15)
    expect(source.looks).toBeLessThanOrEqual(21)
  })
})
