import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { idRandomBytes, makeId, readId } from './ids.ts'

const moment = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const chance = fc.uint8Array({ minLength: idRandomBytes, maxLength: idRandomBytes })

describe('ids', () => {
  test('makeId makes ids that sort by time, whatever their random bytes are', () => {
    fc.assert(
      fc.property(moment, moment, chance, chance, (a, b, x, y) => {
        fc.pre(a < b)
        return makeId('order', a, () => x) < makeId('order', b, () => y)
      }),
    )
  })

  test('makeId makes equal ids only from equal times and equal random bytes', () => {
    fc.assert(
      fc.property(moment, chance, moment, chance, (a, x, b, y) => {
        const same = a === b && Buffer.compare(x, y) === 0
        return (makeId('token', a, () => x) === makeId('token', b, () => y)) === same
      }),
    )
  })

  test('each random bit changes the id that makeId returns', () => {
    const blank = makeId('order', 0, () => new Uint8Array(idRandomBytes))
    const seen = new Set<string>([blank])
    for (let bit = 0; bit < idRandomBytes * 8; bit += 1) {
      const one = new Uint8Array(idRandomBytes)
      one[bit >> 3] = 1 << (bit & 7)
      seen.add(makeId('order', 0, () => one))
    }
    expect(seen.size).toBe(idRandomBytes * 8 + 1)
  })

  test('readId accepts an id of its own kind only', () => {
    fc.assert(
      fc.property(moment, chance, (nowMs, random) => {
        const id = makeId('order', nowMs, () => random)
        expect(readId('order', id)).toBe(id)
        expect(readId('customer', id)).toBeUndefined()
      }),
    )
  })

  const good = makeId('order', 1_760_000_000_000, () => new Uint8Array(idRandomBytes))
  test.each([
    '',
    'ord_',
    good.slice(0, -1),
    `${good}0`,
    good.toUpperCase(),
    good.replace('ord_', 'ORD_'),
    ` ${good}`,
    `${good} `,
    `${good.slice(0, -1)}i`,
    `${good.slice(0, -1)}l`,
    `${good.slice(0, -1)}o`,
    `${good.slice(0, -1)}u`,
    `${good.slice(0, -1)}%`,
    `${good.slice(0, -1)}\0`,
    `${good.slice(0, -1)}é`,
    `${good.slice(0, -2)}😀`,
  ])('readId refuses %j as the id of an order', (text) => {
    expect(readId('order', text)).toBeUndefined()
  })
})
