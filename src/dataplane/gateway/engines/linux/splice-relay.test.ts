import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { isLong } from '../../../../../test/harness/scale.ts'
import { openModel } from '../../../../../test/harness/tunnel-model.ts'
import { maxUnsentBytes, shyUnsentBytes } from '../../sides/sockets.ts'
import { type FlowEvent, type FlowState, flowEvents, flowStates, flowSteps } from './splice-relay.ts'

/** The expected action and next state for each state and event, written by hand. */
const expected: Readonly<Record<FlowState, Readonly<Record<FlowEvent, string>>>> = {
  open: {
    readable: 'fill, open',
    writable: 'nothing, open',
    allowed: 'nothing, open',
    exhausted: 'nothing, open',
    blocked: 'nothing, held',
    drained: 'fault, open',
    dry: 'wait, starved',
    ended: 'halfClose, done',
  },
  held: {
    readable: 'nothing, held',
    writable: 'drain, held',
    allowed: 'nothing, held',
    exhausted: 'nothing, held',
    blocked: 'nothing, held',
    drained: 'fill, open',
    dry: 'fault, held',
    ended: 'nothing, last',
  },
  starved: {
    readable: 'nothing, starved',
    writable: 'nothing, starved',
    allowed: 'fill, open',
    exhausted: 'exhaust, starved',
    blocked: 'fault, starved',
    drained: 'fault, starved',
    dry: 'fault, starved',
    ended: 'fault, starved',
  },
  last: {
    readable: 'nothing, last',
    writable: 'drain, last',
    allowed: 'nothing, last',
    exhausted: 'nothing, last',
    blocked: 'nothing, last',
    drained: 'halfClose, done',
    dry: 'fault, last',
    ended: 'fault, last',
  },
  done: {
    readable: 'nothing, done',
    writable: 'nothing, done',
    allowed: 'nothing, done',
    exhausted: 'nothing, done',
    blocked: 'fault, done',
    drained: 'fault, done',
    dry: 'fault, done',
    ended: 'fault, done',
  },
}

describe('one direction of a tunnel', () => {
  const cells = flowStates.flatMap((state) => flowEvents.map((event) => [state, event] as const))
  test.each(cells)('one direction of a tunnel in state %s handles the event %s', (state, event) => {
    const { action, next } = flowSteps[state][event]
    expect(`${action}, ${next}`).toBe(expected[state][event])
  })
})

describe('a tunnel', () => {
  test('a tunnel relays early bytes first in both directions, and closes when both sides have finished', () => {
    const model = openModel({ fromClient: 'early ', fromOrigin: 'banner ' })
    model.client.say('hello')
    model.origin.say('welcome')
    model.run()
    model.client.finish()
    model.run()
    expect({ origin: model.origin.heard, hasEnded: model.origin.wasFinished }).toEqual({
      origin: 'early hello',
      hasEnded: true,
    })
    expect(model.origin.isGone).toBeFalse()
    model.origin.say(' and bye')
    model.origin.finish()
    model.run()
    expect(model.client.heard).toBe('banner welcome and bye')
    expect(model.calls).toEqual(['over', 'client released', 'origin released'])
  })

  test('a tunnel holds at most 256 KiB for a slow client, and reads no more of the origin until they are sent', () => {
    const model = openModel({})
    model.client.room = 3
    model.origin.say('x'.repeat(200_000))
    model.run()
    expect(model.client.heard).toHaveLength(3)
    expect(model.maxHeld).toBeLessThanOrEqual(256 * 1024)
    const left = model.origin.unread
    model.run()
    expect(model.origin.unread).toBe(left)
    model.client.room = Number.POSITIVE_INFINITY
    model.run()
    expect(model.client.heard).toHaveLength(200_000)
  })

  test('a tunnel holds at most 64 KiB for a client that has acknowledged less than 512 KiB, and then at most 256 KiB', () => {
    const model = openModel({})
    model.client.room = 500_000
    model.origin.say('x'.repeat(900_000))
    model.run()
    expect([model.client.heard.length, model.client.maxUnsent]).toEqual([500_000, shyUnsentBytes])
    expect(model.maxHeld).toBeLessThanOrEqual(64 * 1024)
    model.client.room = 200_000
    model.run()
    expect([model.client.heard.length, model.client.maxUnsent]).toEqual([700_000, maxUnsentBytes])
    expect(model.maxHeld).toBeWithin(64 * 1024, 256 * 1024 + 1)
    model.client.room = Number.POSITIVE_INFINITY
    model.run()
    expect(model.client.heard).toHaveLength(900_000)
  })

  test('a tunnel stops at the last allowed byte, resumes when more are allowed, and closes when exhausted', () => {
    const model = openModel({ traffic: 10 })
    model.origin.say('0123456789abcdef')
    model.run()
    expect(model.client.heard).toBe('0123456789')
    expect(model.requests).toBeGreaterThan(0)
    model.allow(12)
    model.run()
    expect(model.client.heard).toBe('0123456789ab')
    model.exhaust()
    model.run()
    expect(model.calls).toEqual(['over', 'origin aborted', 'client closed'])
    expect(model.client.heard).toBe('0123456789ab')
  })

  test('a tunnel without allowed bytes closes when both sides have finished', () => {
    const model = openModel({ traffic: 0 })
    model.client.finish()
    model.origin.finish()
    model.run()
    expect(model.calls).toEqual(['over', 'client released', 'origin released'])
  })

  test('a tunnel sends the client every byte that it has read before the origin reset, and closes', () => {
    const model = openModel({})
    model.client.room = 5
    model.origin.say('x'.repeat(300_000))
    model.run()
    const read = 300_000 - model.origin.unread
    model.origin.reset()
    model.run()
    expect(model.calls).toEqual(['over', 'origin aborted', 'client closed'])
    model.client.room = Number.POSITIVE_INFINITY
    model.flushSides()
    expect(model.client.heard).toHaveLength(read)
  })

  test('a client reset aborts both sides of a tunnel', () => {
    const model = openModel({})
    model.origin.say('x')
    model.client.reset()
    model.run()
    expect(model.calls).toEqual(['over', 'client aborted', 'origin aborted'])
  })

  test('a tunnel that is cut relays no more bytes', () => {
    const model = openModel({})
    model.client.room = 0
    model.origin.say('never')
    model.run()
    model.cut()
    model.client.room = 100
    model.run()
    expect({ heard: model.client.heard, calls: model.calls }).toEqual({
      heard: '',
      calls: ['cut', 'over', 'client aborted', 'origin aborted'],
    })
  })

  const side = fc.constantFrom('client' as const, 'origin' as const)
  const event = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('say' as const), side, bytes: fc.nat(400_000) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('room' as const), side, bytes: fc.nat(300_000) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('allow' as const), bytes: fc.nat(500_000) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('stir' as const), side, events: fc.nat(0x3fff) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('finish' as const), side }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reset' as const), side }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('cut' as const, 'exhaust' as const) }) },
  )

  test('a tunnel loses, repeats and reorders no byte and keeps its allowance, for any order of 60 events', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.nat(1_000_000), (events, traffic) => {
        const model = openModel({ traffic })
        for (const each of events) {
          model.apply(each)
          model.check()
        }
        model.settle()
        model.check()
      }),
      { numRuns: isLong ? 4000 : 100 },
    )
  })
})
