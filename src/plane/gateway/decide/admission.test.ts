import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Found } from '../../../wire/node/state.ts'
import { createSnapshot } from '../../agent/snapshot.ts'
import { createAdmission } from './admission.ts'

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
    owner: 'a'.repeat(16),
  },
}

/** Knows one name, as the shop does; what is asked and waited for is written down. */
function open() {
  const snapshot = createSnapshot()
  if (known.proxy) snapshot.apply({ proxies: [known.proxy], subusers: [], exits: [] })
  const notes: string[] = []
  let nowMs = 1_000_000
  let canAsk = true
  const admission = createAdmission({
    snapshot,
    async ask(question) {
      notes.push('asked')
      if (!canAsk) return 'unasked'
      snapshot.learn('username' in question && question.username === 'known' ? known : none)
      return 'asked'
    },
    moment: () => ({ nowMs, lastContactAt: nowMs }),
    sha256,
    mainPort: () => 1,
    noteSource() {},
    after(ms, act) {
      notes.push(`waited ${ms > 200 && ms <= 250 ? 'as always' : ms}`)
      act()
      return () => {}
    },
  })
  return {
    notes,
    pass: (ms: number) => void (nowMs += ms),
    setBudget: (yes: boolean) => void (canAsk = yes),
    async guess(username: string, password: string): Promise<string> {
      const credentials = { username, password }
      const verdict = await admission.admit({ credentials, protocol: 'http', source: '192.0.2.9', port: 1 })
      return 'refusal' in verdict ? verdict.refusal : 'let in'
    },
  }
}

const step = fc.oneof(
  fc.record({ type: fc.constant('guess' as const), password: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ type: fc.constant('budget' as const), yes: fc.boolean() }),
  fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 500, 1999, 2000) }),
)

describe('admission', () => {
  test('a name that exists and one that does not take the same way, whatever was guessed before and may be asked', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const traces = await Promise.all(
          ['known', 'nobody'].map(async (name) => {
            const gate = open()
            for (const each of steps) {
              if (each.type === 'guess') gate.notes.push(await gate.guess(name, each.password))
              else if (each.type === 'budget') gate.setBudget(each.yes)
              else gate.pass(each.ms)
            }
            return gate.notes
          }),
        )
        expect(traces[0]).toEqual(traces[1] ?? [])
      }),
    )
  })

  test('who shows the right password is let in at once, however often a wrong one was tried', async () => {
    const gate = open()
    for (let count = 0; count < 50; count += 1) await gate.guess('known', 'wrong')
    gate.setBudget(false)
    gate.notes.length = 0
    expect(await gate.guess('known', 'right')).toBe('let in')
    expect(gate.notes).toEqual([])
  })

  test('the same wrong guess is asked about once in two seconds', async () => {
    const gate = open()
    for (const username of ['known', 'nobody']) {
      gate.notes.length = 0
      for (let count = 0; count < 5; count += 1) expect(await gate.guess(username, 'wrong')).toBe('bad_credentials')
      expect(gate.notes.filter((note) => note === 'asked')).toHaveLength(1)
      gate.pass(2000)
      await gate.guess(username, 'wrong')
      expect(gate.notes.filter((note) => note === 'asked')).toHaveLength(2)
    }
  })

  test('nobody is told that a password is wrong when the shop cannot be asked', async () => {
    const gate = open()
    gate.setBudget(false)
    expect(await gate.guess('known', 'wrong')).toBe('shop_unreachable')
    expect(await gate.guess('nobody', 'wrong')).toBe('shop_unreachable')
    expect(gate.notes.filter((note) => note === 'waited as always')).toHaveLength(2)
  })
})
