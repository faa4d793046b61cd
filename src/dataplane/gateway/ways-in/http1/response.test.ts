import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { byteByByte, splitAt, summarizeResponse, toBytes, toText } from '../../../../../test/harness/protocol.ts'
import { scaled } from '../../../../../test/harness/scale.ts'
import { HttpResponseReader, type ResponseContext } from './response.ts'

const context: ResponseContext = { method: 'GET', clientKeepAlive: true, upgrade: false }
const old: ResponseContext = { method: 'GET', clientKeepAlive: false, upgrade: false, clientVersion: '1.0' }
const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`

type Case = readonly [name: string, of: ResponseContext, sent: string, closes: boolean, ...expected: string[]]

const ok = 'HTTP/1.1 200 OK'
const kept = 'Connection: keep-alive'
const chunked = head(ok, 'Transfer-Encoding: chunked')
const chunkedHead = `head\n${head(ok, 'Transfer-Encoding: chunked', kept)}`
const noLength = 'broken: the answer has no clear length'
const notHttp = 'broken: the origin did not answer in HTTP/1.1'
const badHead = 'broken: the head of the answer is malformed or too large'
const cutOff = 'broken: the origin closed within its answer'

const cases: readonly Case[] = [
  [
    'a length',
    context,
    `${head(ok, 'Content-Length: 2', 'X: 1')}hi`,
    false,
    `head\n${head(ok, 'X: 1', 'Content-Length: 2', kept)}`,
    'body hi',
    'end, kept alive',
  ],
  [
    'a length of 0',
    context,
    head(ok, 'Content-Length: 0'),
    false,
    `head\n${head(ok, 'Content-Length: 0', kept)}`,
    'end, kept alive',
  ],
  [
    'bytes past the length',
    context,
    `${head(ok, 'Content-Length: 2')}hi there`,
    false,
    `head\n${head(ok, 'Content-Length: 2', kept)}`,
    'body hi',
    'end, kept alive',
  ],
  [
    'the same length twice',
    context,
    `${head(ok, 'Content-Length: 2', 'Content-Length: 2')}hi`,
    false,
    `head\n${head(ok, 'Content-Length: 2', kept)}`,
    'body hi',
    'end, kept alive',
  ],
  ['two lengths', context, head(ok, 'Content-Length: 2', 'Content-Length: 3'), false, noLength],
  ['a length with a sign', context, head(ok, 'Content-Length: +2'), false, noLength],
  [
    'chunks',
    context,
    `${chunked}2;x\r\nhi\r\n00\r\nX-Sum: 1\r\n\r\n`,
    false,
    chunkedHead,
    'body 2\r\nhi\r\n0\r\n\r\n',
    'end, kept alive',
  ],
  [
    'a padded size',
    context,
    `${chunked}2  \r\nhi\r\n0\r\n\r\n`,
    false,
    chunkedHead,
    'body 2\r\nhi\r\n0\r\n\r\n',
    'end, kept alive',
  ],
  [
    'chunks and a length: the chunks count',
    context,
    `${head(ok, 'Content-Length: 9', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    false,
    chunkedHead,
    'body 0\r\n\r\n',
    'end, kept alive',
  ],
  [
    'chunks for a client of HTTP/1.0',
    old,
    `${chunked}2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n`,
    false,
    `head\n${head(ok, 'Connection: close')}`,
    'body hi!',
    'end, close',
  ],
  ['chunks in HTTP/1.0', context, chunked.replace('1.1', '1.0'), false, noLength],
  ['a coding that was not requested', context, head(ok, 'Transfer-Encoding: gzip, chunked'), false, noLength],
  ['a wrong size', context, `${chunked}xyz\r\n`, false, chunkedHead, 'broken: malformed chunk size'],
  ['a cut chunk', context, `${chunked}5\r\nhi`, true, chunkedHead, 'body 5\r\nhi', cutOff],
  [
    'a cut body',
    context,
    `${head(ok, 'Content-Length: 5')}hi`,
    true,
    `head\n${head(ok, 'Content-Length: 5', kept)}`,
    'body hi',
    cutOff,
  ],
  [
    'a body until close',
    context,
    `${head('HTTP/1.0 200 OK')}hi`,
    true,
    `head\n${head(ok, 'Connection: close')}`,
    'body hi',
    'end, close',
  ],
  [
    'an answer to HEAD',
    { ...context, method: 'HEAD' },
    head(ok, 'Content-Length: 99'),
    false,
    `head\n${head(ok, 'Content-Length: 99', kept)}`,
    'end, kept alive',
  ],
  [
    'an answer to HEAD in chunks',
    { ...context, method: 'HEAD' },
    head(ok, 'Transfer-Encoding: chunked'),
    false,
    `head\n${head(ok, kept)}`,
    'end, kept alive',
  ],
  [
    '204 with a length',
    context,
    head('HTTP/1.1 204 No Content', 'Content-Length: 5'),
    false,
    `head\n${head('HTTP/1.1 204 No Content', kept)}`,
    'end, kept alive',
  ],
  [
    '304 with a length',
    context,
    head('HTTP/1.1 304 Not Modified', 'Content-Length: 5'),
    false,
    `head\n${head('HTTP/1.1 304 Not Modified', 'Content-Length: 5', kept)}`,
    'end, kept alive',
  ],
  [
    'a client that closes',
    { ...context, clientKeepAlive: false },
    head(ok, 'Content-Length: 0'),
    false,
    `head\n${head(ok, 'Content-Length: 0', 'Connection: close')}`,
    'end, close',
  ],
  [
    'no reason',
    context,
    head('HTTP/1.1 200', 'Content-Length: 0'),
    false,
    `head\n${head('HTTP/1.1 200 ', 'Content-Length: 0', kept)}`,
    'end, kept alive',
  ],
  [
    'lines ended by LF',
    context,
    'HTTP/1.1 200 OK\nX : 1\nContent-Length: 0\n\n',
    false,
    `head\n${head(ok, 'X: 1', 'Content-Length: 0', kept)}`,
    'end, kept alive',
  ],
  ['a folded line', context, head(ok, 'X: 1', ' 2'), false, badHead],
  ['a NUL', context, head(ok, 'X: \0'), false, badHead],
  ['a CR in a value', context, head(ok, 'X: 1\rSet-Cookie: a'), false, badHead],
  ['a head past 64 KiB', context, head(ok, `X: ${'a'.repeat(70_000)}`), false, badHead],
  ['257 fields', context, head(ok, ...Array.from({ length: 257 }, () => 'X: 1')), false, badHead],
  ['HTTP/2', context, head('HTTP/2 200'), false, notHttp],
  ['SSH', context, 'SSH-2.0-OpenSSH_9.2\r\n', false, notHttp],
  ['status 600', context, head('HTTP/1.1 600 Odd'), false, notHttp],
  ['status 99', context, head('HTTP/1.1 099 Odd'), false, notHttp],
  ['nothing before the close', context, '', true, 'broken: the origin closed before it had answered'],
  [
    'half a head before the close',
    context,
    'HTTP/1.1 200 OK\r\n',
    true,
    'broken: the origin closed before it had answered',
  ],
  [
    'hop-by-hop fields',
    context,
    head(
      ok,
      'Connection: X-Hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=5',
      'Proxy-Authenticate: Basic',
      'Proxy-Connection: close',
      'Upgrade: h2c',
      'Trailer: X',
      'X-Turnpike-Error: forged',
      'Content-Length: 0',
    ),
    false,
    `head\n${head(ok, 'Content-Length: 0', kept)}`,
    'end, kept alive',
  ],
  [
    'a malformed Connection',
    context,
    head(ok, 'Connection: "x"', 'Content-Length: 0'),
    false,
    'broken: malformed Connection field',
  ],
  [
    'a 407 of the origin',
    context,
    head('HTTP/1.1 407 No', 'Content-Length: 0'),
    false,
    'broken: the origin asked for proxy credentials',
  ],
  [
    '100 and then 200',
    context,
    head('HTTP/1.1 100 Continue') + head(ok, 'Content-Length: 0'),
    false,
    `interim\n${head('HTTP/1.1 100 Continue')}`,
    `head\n${head(ok, 'Content-Length: 0', kept)}`,
    'end, kept alive',
  ],
  [
    '103 with a field',
    context,
    head('HTTP/1.1 103 Early Hints', 'Link: x', 'Content-Length: 5'),
    false,
    `interim\n${head('HTTP/1.1 103 Early Hints', 'Link: x')}`,
  ],
  [
    '100 for HTTP/1.0',
    old,
    head('HTTP/1.1 100 Continue') + head(ok, 'Content-Length: 0'),
    false,
    `head\n${head(ok, 'Content-Length: 0', 'Connection: close')}`,
    'end, close',
  ],
  [
    '17 interim answers',
    context,
    head('HTTP/1.1 100 Continue').repeat(17),
    false,
    ...Array.from({ length: 16 }, () => `interim\n${head('HTTP/1.1 100 Continue')}`),
    'broken: malformed or too many interim answers',
  ],
  [
    '101 that was requested',
    { ...context, upgrade: true },
    `${head('HTTP/1.1 101 Switching Protocols', 'Connection: upgrade', 'Upgrade: websocket')}\x81\x00`,
    false,
    `switch\n${head('HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: upgrade')}`,
    'rest \x81\x00',
  ],
  [
    '101 that was not requested',
    context,
    head('HTTP/1.1 101 Switching Protocols'),
    false,
    'broken: the origin switched protocols unasked',
  ],
  [
    'an upgrade that is declined',
    { ...context, upgrade: true },
    head('HTTP/1.1 403 No', 'Content-Length: 0'),
    false,
    `head\n${head('HTTP/1.1 403 No', 'Content-Length: 0', kept)}`,
    'end, kept alive',
  ],
]

describe('HttpResponseReader', () => {
  test.each(cases.map(([name, of, sent, closes, ...expected]) => [name, of, sent, closes, expected] as const))(
    'HttpResponseReader yields the expected events for every split of the answer: %s',
    (_, of, sent, closes, expected) => {
      const bytes = toBytes(sent)
      expect(summarizeResponse(of, [bytes], closes)).toEqual([...expected])
      expect(summarizeResponse(of, byteByByte(bytes), closes)).toEqual([...expected])
      fc.assert(
        fc.property(fc.array(fc.nat(Math.min(bytes.length, 1000)), { maxLength: 8 }), (cuts) => {
          expect(summarizeResponse(of, splitAt(bytes, cuts), closes)).toEqual([...expected])
        }),
        { numRuns: scaled(200) },
      )
    },
  )

  test('HttpResponseReader.close() after a complete answer yields no event', () => {
    const reader = new HttpResponseReader(context)
    reader.feed(toBytes(head(ok, 'Content-Length: 0')))
    expect(reader.close()).toEqual([])
  })

  test('HttpResponseReader passes body bytes on without a copy', () => {
    const reader = new HttpResponseReader(context)
    reader.feed(toBytes(head(ok, 'Content-Length: 1000000')))
    const piece = new Uint8Array(65_536)
    const [event] = reader.feed(piece)
    expect(event?.type === 'body' && event.bytes.buffer === piece.buffer).toBe(true)
  })

  test('HttpResponseReader removes the chunk framing of every body for an HTTP/1.0 client', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 30 })), fc.array(fc.nat(300)), (parts, cuts) => {
        const framed = parts.map((part) => `${part.length.toString(16)}\r\n${toText(part)}\r\n`).join('')
        const lines = summarizeResponse(old, splitAt(toBytes(`${chunked}${framed}0\r\n\r\n`), cuts))
        const body = parts.map(toText).join('')
        expect(lines.slice(1)).toEqual([...(body === '' ? [] : [`body ${body}`]), 'end, close'])
      }),
      { numRuns: 500 },
    )
  })
})
