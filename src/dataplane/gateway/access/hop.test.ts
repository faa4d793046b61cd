import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { createSign, createVerify, type HopKey, makeHopKey } from '../../agent/hop-key.ts'
import { createHopAdmission, createNonces, createTicketWriter, maxSkewMs } from './hop.ts'

const target = { host: '203.0.113.7', port: 443 }
const [keyOfA, keyOfC] = [makeHopKey(), makeHopKey()]

/** Gateway B, which has the keys of A and C, and a ticket writer for any name and key. */
function openGateway() {
  let nowMs = 1_800_000_000_000
  let nonces = 0
  const known = new Map([
    ['nod_a', keyOfA.publicKey],
    ['nod_c', keyOfC.publicKey],
  ])
  const admit = createHopAdmission({
    self: 'nod_b',
    clock: () => nowMs,
    findGateway: (id) => {
      const key = known.get(id)
      return key === undefined ? undefined : { id, name: id, host: '192.0.2.1', port: 1, key, state: 'open' }
    },
    verify: createVerify(),
    claimNonce: createNonces(),
  })
  const writerOf = (self: string, key: HopKey) =>
    createTicketWriter({
      self,
      clock: () => nowMs,
      nonce: () => {
        nonces += 1
        return nonces.toString(16).padStart(32, '0')
      },
      sign: createSign(key.privateKey),
    })
  const judge = (ticket: string, to = target): string => {
    const verdict = admit(ticket, to)
    return 'refusal' in verdict ? verdict.refusal : verdict.access.kind
  }
  return {
    judge,
    writerOf,
    pass: (ms: number) => {
      nowMs += ms
    },
    revoke: (id: string) => known.delete(id),
    rekey: (id: string, key: HopKey) => known.set(id, key.publicKey),
  }
}

describe('hop tickets of other gateways', () => {
  test('a hop ticket is accepted once', () => {
    const { judge, writerOf } = openGateway()
    const ticket = writerOf('nod_a', keyOfA)('nod_b', 'ext_1', target)
    expect(judge(ticket)).toBe('hop')
    for (let turn = 0; turn < 3; turn += 1) expect(judge(ticket)).toBe('hop_refused')
  })

  test('a used hop ticket is refused as a replay until it expires', () => {
    const { judge, writerOf, pass } = openGateway()
    const write = writerOf('nod_a', keyOfA)
    pass(maxSkewMs)
    const ticket = write('nod_b', 'ext_1', target)
    pass(-maxSkewMs)
    expect(judge(ticket)).toBe('hop')
    for (const ms of [maxSkewMs, maxSkewMs - 1, 1]) {
      pass(ms)
      expect(judge(ticket)).toBe('hop_refused')
    }
    pass(1)
    expect(judge(ticket)).toBe('hop_late')
  })

  test('a hop ticket of an unknown gateway or with another key is rejected', () => {
    const { judge, writerOf } = openGateway()
    expect(judge(writerOf('nod_x', makeHopKey())('nod_b', 'ext_1', target))).toBe('hop_refused')
    expect(judge(writerOf('nod_a', makeHopKey())('nod_b', 'ext_1', target))).toBe('hop_refused')
    expect(judge(writerOf('nod_a', keyOfC)('nod_b', 'ext_1', target))).toBe('hop_refused')
    expect(judge(writerOf('nod_b', keyOfA)('nod_b', 'ext_1', target))).toBe('hop_refused')
  })

  test('a hop ticket is valid for one gateway and one destination', () => {
    const { judge, writerOf } = openGateway()
    const write = writerOf('nod_a', keyOfA)
    expect(judge(write('nod_c', 'ext_1', target))).toBe('hop_refused')
    expect(judge(write('nod_b', 'ext_1', target), { ...target, port: 80 })).toBe('hop_refused')
    expect(judge(write('nod_b', 'ext_1', target), { ...target, host: '203.0.113.8' })).toBe('hop_refused')
  })

  test('a hop ticket with clock skew is refused as late only if its signature is valid', () => {
    const { judge, writerOf, pass } = openGateway()
    for (const ms of [maxSkewMs + 1, -maxSkewMs - 1]) {
      const [right, forged] = [writerOf('nod_a', keyOfA), writerOf('nod_a', makeHopKey())].map((write) =>
        write('nod_b', 'ext_1', target),
      )
      pass(ms)
      expect(judge(right ?? '')).toBe('hop_late')
      expect(judge(forged ?? '')).toBe('hop_refused')
      pass(-ms)
    }
  })

  test('a hop ticket is rejected after its gateway is revoked or changes its key', () => {
    const { judge, writerOf, revoke, rekey } = openGateway()
    const fresh = makeHopKey()
    rekey('nod_c', fresh)
    expect(judge(writerOf('nod_c', keyOfC)('nod_b', 'ext_1', target))).toBe('hop_refused')
    expect(judge(writerOf('nod_c', fresh)('nod_b', 'ext_1', target))).toBe('hop')
    revoke('nod_a')
    expect(judge(writerOf('nod_a', keyOfA)('nod_b', 'ext_1', target))).toBe('hop_refused')
  })

  test('a hop ticket with any character but the last altered is refused', () => {
    const { judge, writerOf } = openGateway()
    const write = writerOf('nod_a', keyOfA)
    fc.assert(
      fc.property(fc.nat(250), fc.constantFrom('0', '9', 'a', 'z', '_', ';', '=', ' ', '\n'), (at, letter) => {
        const ticket = write('nod_b', 'ext_1', target)
        const position = at % ticket.length
        if (ticket[position] === letter) return
        // The last letter of a signature has unused bits, so a change of it may decode to the same signature.
        const altered = ticket.slice(0, position) + letter + ticket.slice(position + 1)
        if (position === ticket.length - 1) return
        expect(judge(altered)).toBe('hop_refused')
      }),
      { numRuns: 500 },
    )
    for (const junk of ['', 'x', write('nod_b', 'ext_1', target).repeat(5)]) expect(judge(junk)).toBe('hop_refused')
  })
})
