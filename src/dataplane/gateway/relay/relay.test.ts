import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { HandTime } from '../../../../test/harness/hand-time.ts'
import { ByteAllowance } from '../metering/allowance.ts'
import { SpeedLimit } from '../metering/speed-limit.ts'
import type { Side } from '../sides/side.ts'
import { Pipe } from './relay.ts'
import type { ProxyTunnel } from './tunnel.ts'

/** One end of a tunnel: it takes `room` bytes and holds the rest. */
class FakeSide {
  text = ''
  heldBytes = 0
  isPaused = false
  room = Number.POSITIVE_INFINITY
  onWrite: () => void = () => {}

  write(bytes: Uint8Array): boolean {
    this.onWrite()
    this.text += Buffer.from(bytes).toString('latin1')
    this.heldBytes = Math.max(0, this.text.length - this.room)
    return this.heldBytes === 0
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }
}

function openPipe(owner: { wantsMore?: () => boolean } = {}, speed?: SpeedLimit) {
  const [client, origin] = [new FakeSide(), new FakeSide()]
  const allowance = new ByteAllowance(
    { kind: 'subuser', id: 'sub', pool: 'pool' },
    () => {},
    () => 0,
    speed,
  )
  const tunnel = {
    origin: origin as unknown as Side,
    meter: { allowance, takeSent: (bytes: number) => allowance.take(bytes) },
    sockets: { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {}, limitUnsent() {} },
    activeAt: 0,
  } as unknown as ProxyTunnel
  const events: string[] = []
  const pipe = new Pipe('up', client as unknown as Side, tunnel, () => 7, {
    ...owner,
    onExhausted: () => {
      events.push('exhausted')
      pipe.close()
    },
    onCleared: () => events.push('cleared'),
  })
  let allowed = 0
  return {
    client,
    origin,
    allowance,
    tunnel,
    pipe,
    events,
    /** The shop allows this many more bytes; 0 when the traffic is used up. */
    allow: (bytes: number): void => {
      allowance.noteRequest()
      allowed += bytes
      allowance.allow(allowed)
    },
  }
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('a pipe', () => {
  test('a pipe relays bytes in order and once, never more than were leased, and copies what it keeps', () => {
    const step = fc.oneof(
      fc.record({ relay: fc.string({ minLength: 1, maxLength: 20 }) }),
      fc.record({ allow: fc.integer({ min: 1, max: 25 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { pipe, client, origin, tunnel, events, allow } = openPipe()
        let [sent, leased] = ['', 0]
        const passed: number[] = []
        for (const each of steps) {
          if ('allow' in each) {
            leased += each.allow
            allow(each.allow)
          } else {
            sent += each.relay
            const end = sent.length
            const borrowed = bytesOf(each.relay)
            pipe.relay(borrowed, () => passed.push(end, origin.text.length))
            // The next read overwrites the buffer.
            borrowed.fill(0)
          }
          expect(origin.text).toBe(sent.slice(0, leased))
          expect(pipe.isClear).toBe(sent.length <= leased)
          if (!pipe.isClear) expect(client.isPaused).toBe(true)
        }
        // The callback of each write runs when its last byte was sent, and not before.
        for (let index = 0; index < passed.length; index += 2) expect(passed[index]).toBe(passed[index + 1])
        expect(tunnel.activeAt).toBe(sent === '' ? 0 : 7)
        expect(events).not.toContain('exhausted')
      }),
      { numRuns: 500 },
    )
  })

  test('a pipe resumes reading only after all waiting bytes were sent and the other side has room', () => {
    const { pipe, client, origin, events, allow } = openPipe()
    pipe.relay(bytesOf('hello'))
    expect(client.isPaused).toBe(true)
    pipe.resume()
    expect(client.isPaused).toBe(true)
    origin.room = 3
    allow(5)
    expect({ isPaused: client.isPaused, text: origin.text, events }).toEqual({
      isPaused: true,
      text: 'hello',
      events: ['cleared'],
    })
    origin.heldBytes = 0
    pipe.resume()
    expect(client.isPaused).toBe(false)
  })

  test('a pipe does not resume reading if wantsMore() is false', () => {
    let wantsMore = false
    const { pipe, client, allow } = openPipe({ wantsMore: () => wantsMore })
    pipe.relay(bytesOf('hello'))
    allow(5)
    expect(client.isPaused).toBe(true)
    wantsMore = true
    pipe.resume()
    expect(client.isPaused).toBe(false)
  })

  test('a pipe runs the callbacks of after() in order once pay(10) has its 10 bytes', () => {
    const { pipe, origin, allow } = openPipe()
    const calls: string[] = []
    expect(pipe.pay(10)).toBe(false)
    pipe.after(() => calls.push('first'))
    expect(pipe.pay(0)).toBe(false)
    pipe.after(() => calls.push('second'))
    allow(9)
    expect(calls).toEqual([])
    allow(1)
    expect(calls).toEqual(['first', 'second'])
    pipe.after(() => calls.push('at once'))
    pipe.send(bytesOf('in another form'))
    expect(calls).toEqual(['first', 'second', 'at once'])
    expect(origin.text).toBe('in another form')
  })

  test('a pipe ends when the traffic is used up, after it has sent every leased byte and no other', () => {
    const { pipe, origin, events, allow, allowance } = openPipe()
    const calls: string[] = []
    allow(3)
    pipe.relay(bytesOf('hello'), () => calls.push('passed'))
    pipe.after(() => calls.push('after'))
    expect(events).toEqual([])
    allow(0)
    expect(events).toEqual(['exhausted'])
    pipe.relay(bytesOf('more'))
    pipe.after(() => calls.push('too late'))
    allow(100)
    expect({ text: origin.text, calls, hasSome: allowance.hasSome }).toEqual({ text: 'hel', calls: [], hasSome: true })
    expect(pipe.pay(1)).toBe(false)
  })

  test('two pipes that wait for one allowance take leases alternately', () => {
    const { pipe, tunnel, origin, allow, client } = openPipe()
    const other = new Pipe('up', client as unknown as Side, tunnel, () => 7, { onExhausted() {} })
    pipe.relay(bytesOf('aaaa'))
    other.relay(bytesOf('bbbb'))
    for (let lease = 0; lease < 4; lease += 1) allow(2)
    expect(origin.text).toBe('aabbaabb')
  })

  test('three pipes under one speed limit pass every byte, however long each write takes', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 })
    const writesMs = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(lengths, writesMs, fc.integer({ min: 1000, max: 20_000 }), (all, slownessMs, rate) => {
        const time = new HandTime()
        const { pipe, tunnel, origin, client, allow } = openPipe({}, new SpeedLimit(() => rate, time.clock, time.after))
        const other = () => new Pipe('up', client as unknown as Side, tunnel, () => 7, { onExhausted() {} })
        const pipes = [pipe, other(), other()]
        const fromMs = time.clock()
        let writes = 0
        origin.onWrite = () => time.spend(slownessMs[writes++ % slownessMs.length] ?? 0)
        const bytes = all.reduce((sum, each) => sum + each, 0)
        allow(bytes)
        for (const [index, length] of all.entries()) pipes[index % 3]?.relay(bytesOf('x'.repeat(length)))
        // Each step of 25 ms passes at least 25 bytes, so as many steps as bytes are enough.
        for (let step = 0; step < bytes; step += 1) time.pass(25)
        expect(origin.text).toHaveLength(bytes)
        expect(bytes).toBeLessThanOrEqual((rate * (time.clock() - fromMs + 25)) / 1000)
        expect(time.timers).toBe(0)
      }),
      { numRuns: 200 },
    )
  })
})
