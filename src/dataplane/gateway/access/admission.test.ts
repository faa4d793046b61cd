import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { HandTiming } from '../../../../test/harness/hand-timing.ts'
import type { Found } from '../../../node-protocol/state.ts'
import { Snapshot } from '../../agent/snapshot.ts'
import type { Credentials } from '../ways-in/http1/basic-auth.ts'
import type { Asker } from '../ways-in/request.ts'
import { Admission, OwnWrongLogins, refusalDelayMs } from './admission.ts'

const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array
const none: Found = { proxy: null, subuser: null }
const known: Found = {
  subuser: null,
  proxy: {
    id: 1,
    username: 'known',
    digest: Buffer.from(sha256('right')).toString('hex'),
    port_type: 'http',
    leave_from: '192.0.2.1',
    sources: [],
    entry_port: null,
    expires_at: Number.MAX_SAFE_INTEGER,
    state: 'active',
    withdrawn: false,
    owner: 'a'.repeat(16),
  },
}

const toAsker = (credentials: Credentials): Asker => ({
  wayIn: 'http1',
  source: '192.0.2.9',
  claim: { kind: 'password', credentials },
})

/** An admission whose shop has one proxy. It records lookups and waits in `notes`. */
function open() {
  const snapshot = new Snapshot()
  if (known.proxy) snapshot.apply({ proxies: [known.proxy], subusers: [], exits: [] })
  const notes: string[] = []
  let nowMs = 1_000_000
  let canAsk = true
  const admission = new Admission({
    snapshot,
    async ask(question) {
      notes.push('lookup')
      if (!canAsk) return 'unanswered'
      snapshot.learn('username' in question && question.username === 'known' ? known : none)
      return 'answered'
    },
    moment: () => ({ nowMs, lastContactAt: nowMs }),
    sha256,
    noteSource() {},
    after(ms, act) {
      notes.push(`waited ${ms} ms`)
      act()
      return () => {}
    },
    now: () => 0,
    refusalDelayMs,
    wrongLogins: new OwnWrongLogins(),
  })
  return {
    notes,
    pass: (ms: number) => void (nowMs += ms),
    setBudget: (yes: boolean) => void (canAsk = yes),
    async guess(username: string, password: string): Promise<string> {
      const credentials = { username, password }
      const verdict = await admission.admit(toAsker(credentials))
      return 'refusal' in verdict ? verdict.refusal : 'admitted'
    },
  }
}

/** An admission with a hand clock, whose shop needs these milliseconds to look up a known and an unknown name. */
function openTimed(lookup: { readonly known: number; readonly unknown: number; readonly canAsk?: boolean }) {
  const timing = new HandTiming()
  const snapshot = new Snapshot()
  if (known.proxy) snapshot.apply({ proxies: [known.proxy], subusers: [], exits: [] })
  const admission = new Admission({
    snapshot,
    async ask(question) {
      const isKnown = 'username' in question && question.username === 'known'
      await timing.pause(isKnown ? lookup.known : lookup.unknown)
      return lookup.canAsk === false ? 'unanswered' : 'answered'
    },
    moment: () => ({ nowMs: timing.now(), lastContactAt: timing.now() }),
    sha256,
    noteSource() {},
    after(ms, act) {
      void timing.pause(ms).then(act)
      return () => {}
    },
    now: timing.now,
    refusalDelayMs,
    wrongLogins: new OwnWrongLogins(),
  })
  /** Milliseconds of the hand clock until the refusal. */
  async function timeOf(username: string, password: string): Promise<number> {
    const startedAt = timing.now()
    const took: number[] = []
    const credentials = { username, password }
    const judged = Promise.resolve(admission.admit(toAsker(credentials)))
    void judged.then(() => took.push(timing.now() - startedAt))
    for (let passedMs = 0; passedMs < 5000 && took.length === 0; passedMs += 1) await timing.advance(1)
    return took[0] ?? Number.NaN
  }
  return { timeOf }
}

const step = fc.oneof(
  fc.record({ type: fc.constant('guess' as const), password: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ type: fc.constant('budget' as const), yes: fc.boolean() }),
  fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 500, 1999, 2000) }),
)

describe('admission', () => {
  test('a known and an unknown name cause the same lookups, delays and refusals for any history of guesses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const traces = await Promise.all(
          ['known', 'nobody'].map(async (name) => {
            const admission = open()
            for (const each of steps) {
              if (each.type === 'guess') admission.notes.push(await admission.guess(name, each.password))
              else if (each.type === 'budget') admission.setBudget(each.yes)
              else admission.pass(each.ms)
            }
            return admission.notes
          }),
        )
        expect(traces[0]).toEqual(traces[1] ?? [])
      }),
    )
  })

  test.each([
    ['that answers at once', { known: 0, unknown: 0 }, 250],
    ['that takes 40 ms for a known name and 10 ms for an unknown one', { known: 40, unknown: 10 }, 250],
    ['that takes 320 ms for a known name and 270 ms for an unknown one', { known: 320, unknown: 270 }, 500],
    ['that takes 499 ms for a known name and 251 ms for an unknown one', { known: 499, unknown: 251 }, 500],
    ['that is unreachable', { known: 30, unknown: 0, canAsk: false }, 250],
  ] as const)(
    'a wrong password and an unknown name are refused after the same time with a shop %s',
    async (_, lookup, ms) => {
      const admission = openTimed(lookup)
      expect([await admission.timeOf('known', 'wrong'), await admission.timeOf('nobody', 'wrong')]).toEqual([ms, ms])
      // A repeated guess that the shop has answered is not looked up again.
      const again = 'canAsk' in lookup ? ms : 250
      expect([await admission.timeOf('known', 'wrong'), await admission.timeOf('nobody', 'wrong')]).toEqual([
        again,
        again,
      ])
    },
  )

  test('the right password is admitted without a lookup or a delay after 50 wrong guesses', async () => {
    const admission = open()
    for (let count = 0; count < 50; count += 1) await admission.guess('known', 'wrong')
    admission.setBudget(false)
    admission.notes.length = 0
    expect(await admission.guess('known', 'right')).toBe('admitted')
    expect(admission.notes).toEqual([])
  })

  test('the gateway looks the same wrong credentials up at the shop once in 2 s', async () => {
    const admission = open()
    for (const username of ['known', 'nobody']) {
      admission.notes.length = 0
      for (let count = 0; count < 5; count += 1)
        expect(await admission.guess(username, 'wrong')).toBe('bad_credentials')
      expect(admission.notes.filter((note) => note === 'lookup')).toHaveLength(1)
      admission.pass(2000)
      await admission.guess(username, 'wrong')
      expect(admission.notes.filter((note) => note === 'lookup')).toHaveLength(2)
    }
  })

  test('wrong credentials are refused with shop_unreachable, not bad_credentials, while the shop is unreachable', async () => {
    const admission = open()
    admission.setBudget(false)
    expect(await admission.guess('known', 'wrong')).toBe('shop_unreachable')
    expect(await admission.guess('nobody', 'wrong')).toBe('shop_unreachable')
    expect(admission.notes.filter((note) => note === 'waited 250 ms')).toHaveLength(2)
  })
})
