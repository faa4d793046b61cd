import { describe, expect, test } from 'bun:test'
import { createDice, type Dice, mutate, tokens } from '../../../../test/harness/dice.ts'
import {
  atMainPort,
  atOwnPort,
  splitAt,
  summarizeRequests,
  summarizeResponse,
  summarizeSocks,
  toBytes,
} from '../../../../test/harness/protocol.ts'
import { scaled } from '../../../../test/harness/scale.ts'
import { HttpRequestReader } from './http1/request.ts'
import { HttpResponseReader } from './http1/response.ts'
import { Socks5Reader } from './socks5/handshake.ts'

/** Largest buffer of a reader: pipelined bytes, a head and one piece of noise. */
const maxSilent = (256 + 64 + 4) * 1024

/** Seeds of the mutations. */
const requests = [
  'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic YTpi\r\n\r\n\x16\x03\x01',
  'GET http://a.example/b?c HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, X-A\r\nX-A: 1\r\n\r\n',
  'POST http://[2001:db8::1]:81/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nX: 1\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n',
  'PUT http://a.example/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello',
  'GET http://a.example/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81',
].map(toBytes)
const answers = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: 1\r\n\r\n',
  'HTTP/1.0 200 OK\nServer: x\n\nhello',
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81',
].map(toBytes)
const socks = [
  '\x05\x02\0\x02\x01\x01a\x01b\x05\x01\0\x03\x09a.example\x01\xbbGET /',
  '\x05\x01\0\x05\x01\0\x01\x01\x02\x03\x04\0\x50',
  `\x05\x01\x02\x01\x02ab\x03cde\x05\x01\0\x04\x20\x01${'\0'.repeat(14)}\x01\xbb`,
].map(toBytes)
/**
 * The reader must give the same events for mutated bytes in one piece and in several. The seed names a failing case.
 */
function fuzz(
  seeds: readonly Uint8Array[],
  summarize: (pieces: readonly Uint8Array[]) => string[],
  count: number,
): void {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= count; seed += 1) {
    const dice = createDice(seed)
    const bytes = mutate(seeds, dice)
    const whole = summarize([bytes])
    const cut = summarize(splitAt(bytes, [dice(bytes.length + 1), dice(bytes.length + 1), dice(bytes.length + 1)]))
    if (JSON.stringify(cut) !== JSON.stringify(whole)) expect({ seed, summary: cut }).toEqual({ seed, summary: whole })
    checkEnding(whole, seed)
    outcomes.add(whole.at(-1)?.split(' ', 2).join(' ') ?? 'waiting for more')
  }
  // More than 3 outcomes: mutations that always cause the same refusal would test one line of code.
  expect(outcomes.size).toBeGreaterThan(3)
}

/** Nothing follows a refusal. */
function checkEnding(summary: readonly string[], seed: number): void {
  const end = summary.findIndex((line) => /^(?:refuse|broken)/.test(line))
  if (end >= 0 && end !== summary.length - 1)
    expect({ seed, summary }).toEqual({ seed, summary: summary.slice(0, end + 1) })
}

/**
 * Feeds endless noise after a handshake. A reader may buffer at most `maxSilent` bytes for which it gives no event.
 */
function flood(
  reader: { feed: (chunk: Uint8Array) => readonly { type: string }[] },
  begin: Uint8Array,
  dice: Dice,
): void {
  const noise = tokens[dice(tokens.length)] ?? begin
  const piece = new Uint8Array(4096).map((_, index) => noise[index % noise.length] ?? 0)
  let types = reader.feed(begin).map((event) => event.type)
  for (let silent = 0; !types.some((type) => /^(?:refuse|broken|end)$/.test(type)) && silent >= 0; ) {
    types = reader.feed(piece).map((event) => event.type)
    silent = types.length > 0 ? (types.includes('body') ? -1 : 0) : silent + piece.length
    expect(silent).toBeLessThanOrEqual(maxSilent)
  }
}

describe('endless noise after a handshake', () => {
  const readers = [
    [requests, () => new HttpRequestReader()],
    [answers, () => new HttpResponseReader({ method: 'GET', clientKeepAlive: true, upgrade: false })],
    [socks, () => new Socks5Reader(atMainPort)],
    [socks, () => new Socks5Reader(atOwnPort)],
  ] as const
  test.each(readers)('reader %# buffers at most 324 KiB of endless noise', (seeds, create) => {
    for (let seed = 1; seed <= scaled(4000); seed += 1) {
      const dice = createDice(seed)
      const bytes = mutate(seeds, dice)
      flood(create(), bytes.slice(0, dice(bytes.length + 1)), dice)
    }
  })
})

describe('mutated handshakes', () => {
  test('mutated HTTP requests yield the same events for every split', () =>
    fuzz(requests, (pieces) => summarizeRequests(pieces), scaled(60_000)))
  test('mutated HTTP requests with refused tunnels yield the same events for every split', () =>
    fuzz(requests, (pieces) => summarizeRequests(pieces, true), scaled(40_000)))
  test('mutated SOCKS5 handshakes yield the same events for every split', () =>
    fuzz(socks, (pieces) => summarizeSocks(pieces), scaled(40_000)))
  test('mutated SOCKS5 handshakes from a known address yield the same events for every split', () =>
    fuzz(socks, (pieces) => summarizeSocks(pieces, atOwnPort), scaled(20_000)))
  test('mutated HTTP responses yield the same events for every split', () => {
    fuzz(
      answers,
      (pieces) => summarizeResponse({ method: 'GET', clientKeepAlive: true, upgrade: true }, pieces, true),
      scaled(40_000),
    )
  })
})
