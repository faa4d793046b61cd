import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { refusalOf } from '../../../test/harness/failure.ts'
import { HandTiming } from '../../../test/harness/hand-timing.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { realTiming } from '../agent/runtime.ts'
import { findPredecessor, HandoverOffer, type Predecessor } from './handover.ts'

describe('a gateway that is being taken over from', () => {
  let folder: string
  let door: Bun.TCPSocketListener
  let offer: HandoverOffer | undefined
  let leaves = 0
  let givenUp = 0
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-offer-'))
    door = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    leaves = 0
    givenUp = 0
  })
  afterEach(() => {
    offer?.close()
    door.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })

  /** Time passes when the test says so. */
  const timing = new HandTiming()

  function offering(): void {
    const { port, fd } = door as unknown as { port: number; fd: number }
    offer = new HandoverOffer({
      folder,
      boot: '2027-0001',
      who: () => ({ pid: process.pid, version: '0', hostname: '127.0.0.1', port, draining: false }),
      findObstacle: () => undefined,
      listeners: () => [{ port, descriptor: fd }],
      leave: async () => void (leaves += 1),
      onGivenUp: () => void (givenUp += 1),
      onFault: (fault) => {
        throw fault
      },
      after(ms, act) {
        const end = new AbortController()
        void timing.pause(ms, end.signal).then(() => end.signal.aborted || act())
        return () => end.abort()
      },
    })
  }
  async function meet(): Promise<Predecessor> {
    const found = await findPredecessor(folder, realTiming)
    if (!found) throw new Error('nobody is there')
    return found
  }

  test('the old process drops a new one that stalls for 30 s, and the next one can take over', async () => {
    if (process.platform !== 'linux') return
    offering()
    const [stalled, next] = [await meet(), await meet()]
    expect((await stalled.listeners()).size).toBe(1)
    expect((await refusalOf(next.listeners())).message).toBe('Another process takes over already.')
    await timing.advance(29_999)
    expect(givenUp).toBe(0)
    await timing.advance(1)
    expect(givenUp).toBe(1)
    expect((await refusalOf(stalled.leave())).kind).toBe('unavailable')
    expect(leaves).toBe(0)
    expect(await untilTrue(async () => (await next.listeners().catch(() => new Map())).size === 1)).toBeTrue()
    await next.leave()
    expect([leaves, givenUp]).toEqual([1, 1])
    for (const each of [stalled, next]) each.close()
  })

  test('waits 30 s for one that takes its time, and gives none up that has taken over', async () => {
    if (process.platform !== 'linux') return
    offering()
    const heir = await meet()
    expect((await heir.listeners()).size).toBe(1)
    await timing.advance(29_999)
    await heir.leave()
    await timing.advance(30_000)
    offer?.close()
    expect([leaves, givenUp]).toEqual([1, 0])
    heir.close()
  })
})
