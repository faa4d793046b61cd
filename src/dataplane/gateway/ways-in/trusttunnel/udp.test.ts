import { expect, test } from 'bun:test'
import { createDice, mutate } from '../../../../../test/harness/dice.ts'
import { byteByByte, splitAt, toBytes, toText } from '../../../../../test/harness/protocol.ts'
import { isLong } from '../../../../../test/harness/scale.ts'
import { readAddress } from '../../../../core/address.ts'
import { formatAuthority } from '../authority.ts'
import { TrustTunnelDatagrams } from './udp.ts'

/** Mutated inputs. */
const inputs = isLong ? 1_000_000 : 25_000

const zeros = '\0'.repeat(12)
const source = `${zeros}\x0a\x00\x00\x01\x04\xd2`
const datagram = `\0\0\0\x2b${source}${zeros}\xc0\x00\x02\x07\x00\x35\x04appAhi`
const toSix = `\0\0\0\x25${source}\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01\x01\xbb\0`

function summarize(pieces: readonly Uint8Array[]): string[] {
  const codec = new TrustTunnelDatagrams()
  const lines: string[] = []
  for (const piece of pieces) {
    // The reader must not keep the memory of a chunk.
    const chunk = new Uint8Array(piece)
    const isValid = codec.feed(chunk, (payload, target) => {
      lines.push(`${target ? formatAuthority(target) : '*'} "${toText(payload)}"`)
    })
    if (!isValid) return [...lines, 'refuse']
    chunk.fill(0xee)
  }
  return lines
}

test.each([
  [
    'a datagram with the name of an app, and an empty one',
    datagram + toSix,
    ['192.0.2.7:53 "hi"', '[2001:db8::1]:443 ""'],
  ],
  ['a length below 37', '\0\0\0\x24', ['refuse']],
  ['a name beyond the length', `\0\0\0\x25${source}${source}\x05`, ['refuse']],
  ['a length of 2 GB', '\x80\0\0\0', ['refuse']],
])('TrustTunnel’s UDP gives the same datagrams for every split of %s', (_, sent, expected) => {
  expect(summarize([toBytes(sent)])).toEqual(expected)
  expect(summarize(byteByByte(toBytes(sent)))).toEqual(expected)
})

test('an answer goes to the client’s socket that sent to its source', () => {
  const codec = new TrustTunnelDatagrams()
  codec.feed(toBytes(datagram), () => {})
  const from = readAddress('192.0.2.7')
  if (!from) throw new Error('no address')
  expect(toText(codec.toCapsule(toBytes('yes'), from, 53))).toBe(
    `\0\0\0\x27${zeros}\xc0\x00\x02\x07\x00\x35${source}yes`,
  )
})

test('mutated datagrams of TrustTunnel give the same events for every split', () => {
  const seeds = [datagram, toSix].map(toBytes)
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= inputs; seed += 1) {
    const dice = createDice(seed)
    const bytes = mutate(seeds, dice)
    const whole = summarize([bytes])
    const cut = summarize(splitAt(bytes, [dice(bytes.length + 1), dice(bytes.length + 1)]))
    if (JSON.stringify(cut) !== JSON.stringify(whole)) expect({ seed, events: cut }).toEqual({ seed, events: whole })
    outcomes.add(whole.at(-1)?.slice(0, 6) ?? 'nothing')
  }
  expect(outcomes.size).toBeGreaterThan(3)
})
