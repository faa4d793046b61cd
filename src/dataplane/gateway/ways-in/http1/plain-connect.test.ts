import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { scaled } from '../../../../../test/harness/scale.ts'
import type { ClientEvent } from '../request.ts'
import { readPlainConnect } from './plain-connect.ts'
import { HttpRequestReader } from './request.ts'

const toBytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'))

const pair = `Basic ${Buffer.from('bench:secret').toString('base64')}`

/** Valid and invalid targets of a CONNECT request. */
const targets = ['192.0.2.1:443', 'example.com:8443', '[2001:db8::1]:443', '127.1:80', 'a:0443', 'a', '', 'ex ample:1']
const lines = [
  'Host: 192.0.2.1:443',
  'host:192.0.2.1:443',
  'Host: example.com:8443',
  'Host:  192.0.2.1:443',
  'Host: 192.0.2.1:443 ',
  `Proxy-Authorization: ${pair}`,
  `proxy-authorization:${pair}`,
  `Proxy-Authorization: ${pair}=`,
  'Proxy-Authorization: Digest x',
  'User-Agent: curl/8.1',
  'User-Agent:',
  'User-Agent: \u00e9',
  'User-Agent: a\tb',
  'User-Agent: a\u0001b',
  'User-Agent : a',
  ' folded',
  'Proxy-Connection: Keep-Alive',
  'Connection: close',
  'Content-Length: 0',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Accept: */*',
  ':',
  'nothing',
]
/** Mostly good values, so that many heads are valid and many have one error. */
const mostly = <Value>(good: readonly Value[], other: readonly Value[]) =>
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...other) })
const good = [...lines.slice(0, 1), ...lines.slice(5, 6), 'User-Agent: curl/8.1', 'Accept: */*']
const heads = fc
  .record({
    start: mostly(['CONNECT'], ['connect', 'GET', '\r\nCONNECT']),
    target: mostly(['192.0.2.1:443'], targets),
    version: mostly(['HTTP/1.1'], ['HTTP/1.0', 'HTTP/2.0']),
    fields: fc.array(mostly(good, lines), { maxLength: 5 }),
    end: mostly(['\r\n'], ['\n', '\r', '']),
    rest: fc.constantFrom('', 'early', '\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n'),
  })
  .map(({ start, target, version, fields, end, rest }) =>
    toBytes(`${start} ${target} ${version}\r\n${fields.map((field) => `${field}\r\n`).join('')}${end}${rest}`),
  )

/** Feeds one byte at a time, which never uses the fast path. */
function readSlowly(bytes: Uint8Array): { events: ClientEvent[]; rest: string } {
  const reader = new HttpRequestReader()
  const events = Array.from(bytes).flatMap((byte) => reader.feed(Uint8Array.of(byte)))
  return { events, rest: Buffer.from(reader.rest()).toString('latin1') }
}

function readAtOnce(bytes: Uint8Array): { events: ClientEvent[]; rest: string } {
  const reader = new HttpRequestReader()
  return { events: reader.feed(bytes), rest: Buffer.from(reader.rest()).toString('latin1') }
}

test('readPlainConnect returns the same tunnel as HttpRequestReader, or undefined', () => {
  fc.assert(
    fc.property(heads, (bytes) => {
      const plain = readPlainConnect(bytes)
      const slow = readSlowly(bytes)
      const [first] = slow.events
      if (plain) expect(first).toMatchObject({ request: { asks: 'tunnel', target: plain.target } })
      const isTunnel = first?.type === 'request' && first.request.asks === 'tunnel'
      if (isTunnel) expect(readAtOnce(bytes)).toEqual(slow)
      else expect(plain).toBeUndefined()
    }),
    { numRuns: scaled(20_000) },
  )
})

test('readPlainConnect parses the CONNECT head of curl', () => {
  const curl = `CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\nProxy-Authorization: ${pair}\r\n`
  const head = `${curl}User-Agent: curl/8.1\r\nProxy-Connection: Keep-Alive\r\n\r\n`
  expect(readPlainConnect(toBytes(`${head}early`))).toEqual({
    target: { host: '192.0.2.1', port: 443 },
    credentials: { username: 'bench', password: 'secret' },
    next: head.length,
  })
})

test('readPlainConnect leaves a head of 101 fields to HttpRequestReader, which refuses it with 431', () => {
  const many = `CONNECT a:1 HTTP/1.1\r\n${'accept:\r\n'.repeat(101)}\r\n`
  expect(readPlainConnect(toBytes(many))).toBeUndefined()
  expect(readAtOnce(toBytes(many)).events).toMatchObject([{ type: 'refuse', code: 'head_too_large' }])
})
