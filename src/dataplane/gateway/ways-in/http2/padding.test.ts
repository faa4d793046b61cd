import { expect, test } from 'bun:test'
import { createDice } from '../../../../../test/harness/dice.ts'
import { splitAt, toBytes, toText } from '../../../../../test/harness/protocol.ts'
import { scaled } from '../../../../../test/harness/scale.ts'
import { PaddedWrites, PaddingReader, readPadding } from './padding.ts'

const answerTo = (fields: Readonly<Record<string, string>>, random = 0) =>
  readPadding(
    (name) => (fields[name] === undefined ? [] : [fields[name]]),
    () => random,
  )

test('a client that sends padding gets 30 to 62 characters of it, and the type that it asked for', () => {
  expect(answerTo({ padding: '~' })).toEqual([['padding', '~'.repeat(30)]])
  expect(answerTo({ padding: '~' }, 0.999)?.[0]?.[1].length).toBe(62)
  expect(answerTo({ padding: '~', 'padding-type-request': '1, 0' })?.[1]).toEqual(['padding-type-reply', '1'])
  expect(answerTo({ padding: '~', 'padding-type-request': '0' })).toBeUndefined()
  expect(answerTo({})).toBeUndefined()
})

test('PaddingReader removes the padding of 8 frames, and passes later bytes on', () => {
  const frame = (text: string): string => `\0${String.fromCharCode(text.length)}\x02${text}\0\0`
  const sent = toBytes(`${['a', 'bc', '', 'd', 'e', 'f', 'g', 'h'].map(frame).join('')}${frame('raw')}`)
  const reader = new PaddingReader()
  expect(reader.feed(sent).map(toText).join('|')).toBe(`a|bc|d|e|f|g|h|${frame('raw')}`)
})

test('PaddingReader reads in any parts the bytes that PaddedWrites wrote in any parts', () => {
  for (let seed = 1; seed <= scaled(20_000); seed += 1) {
    const dice = createDice(seed)
    const wire: Uint8Array[] = []
    let noted = 0
    const write = (bytes: Uint8Array): number => {
      const taken = dice(3) === 0 ? dice(bytes.length + 1) : bytes.length
      wire.push(bytes.slice(0, taken))
      return taken
    }
    const writes = new PaddedWrites(
      () => dice(256) / 256,
      write,
      (bytes) => void (noted += bytes),
    )
    const payload = Uint8Array.from({ length: dice(400) }, () => dice(256))
    for (let at = 0; at < payload.length || !writes.flush(); ) {
      if (!writes.flush()) continue
      at += writes.take(payload.subarray(at, at + 1 + dice(40)))
    }
    const reader = new PaddingReader()
    const sent = Buffer.concat(wire)
    const pieces = splitAt(new Uint8Array(sent), [dice(sent.length + 1), dice(sent.length + 1)])
    const read = Buffer.concat(pieces.flatMap((piece) => reader.feed(piece).map((part) => new Uint8Array(part))))
    if (!read.equals(payload) || noted !== payload.length) expect({ seed, noted }).toEqual({ seed, noted: -1 })
  }
})
