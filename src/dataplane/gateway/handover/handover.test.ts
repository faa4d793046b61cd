import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { refusalOf } from '../../../../test/harness/failure.ts'
import { HandTiming } from '../../../../test/harness/hand-timing.ts'
import { untilTrue } from '../../../../test/harness/turnpike.ts'
import { realTiming } from '../../agent/runtime.ts'
import { makeTicketKey } from '../../tls/openssl/ticket-keys.ts'
import { countDrainingTunnels, findPredecessor, HandoverOffer, type Predecessor } from './handover.ts'

describe('the handover offer of a gateway', () => {
  let folder: string
  let listener: Bun.TCPSocketListener
  let offer: HandoverOffer | undefined
  let leaves = 0
  let givenUp = 0
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-offer-'))
    listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    leaves = 0
    givenUp = 0
  })
  afterEach(() => {
    offer?.close()
    listener.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })

  const tickets = { keys: [makeTicketKey(), makeTicketKey()], rotatedAt: 1_000 }

  /** The test advances the time. */
  const timing = new HandTiming()

  function openOffer(draining = false): void {
    const { port, fd } = listener as unknown as { port: number; fd: number }
    offer = new HandoverOffer({
      folder,
      boot: '2027-0001',
      who: () => ({ pid: process.pid, version: '0', hostname: '127.0.0.1', port, draining, tunnels: 7 }),
      findObstacle: () => undefined,
      listeners: () => [{ port, descriptor: fd }],
      ticketKeys: () => tickets,
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
  async function findOld(): Promise<Predecessor> {
    const found = await findPredecessor(folder, realTiming)
    if (!found) throw new Error('no predecessor was found')
    return found
  }

  test('the new process gets the 2 keys of session tickets of the old one', async () => {
    if (process.platform !== 'linux') return
    openOffer()
    const old = await findOld()
    expect(await old.ticketKeys()).toEqual(tickets)
    old.close()
  })

  test('countDrainingTunnels counts the tunnels of a replaced process, and none of one that serves or is this one', async () => {
    if (process.platform !== 'linux') return
    const count = (ownBoot: string) => countDrainingTunnels(folder, ownBoot, realTiming)
    openOffer()
    expect(await count('2027-0002')).toBe(0)
    offer?.close()
    openOffer(true)
    expect([await count('2027-0002'), await count('2027-0001')]).toEqual([7, 0])
    offer?.close()
    expect(await count('2027-0002')).toBe(0)
  })

  test('the old process drops a new process that stalls for 30 s, and the next one takes over', async () => {
    if (process.platform !== 'linux') return
    openOffer()
    const [stalled, next] = [await findOld(), await findOld()]
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

  test('a new process that takes over after 29,999 ms is not dropped afterwards', async () => {
    if (process.platform !== 'linux') return
    openOffer()
    const successor = await findOld()
    expect((await successor.listeners()).size).toBe(1)
    await timing.advance(29_999)
    await successor.leave()
    await timing.advance(30_000)
    offer?.close()
    expect([leaves, givenUp]).toEqual([1, 0])
    successor.close()
  })
})
