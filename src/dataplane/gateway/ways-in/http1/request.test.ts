import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { splitAt, summarizeRequests, toBytes, toText } from '../../../../../test/harness/protocol.ts'
import type { ClientEvent } from '../request.ts'
import { readField } from './head.ts'
import { HttpRequestReader, readRequestHead, readRequestLine, toOriginHead } from './request.ts'

/** The head that the origin receives for this one. */
function forwarded(...lines: string[]): string {
  const events = new HttpRequestReader().feed(toBytes(`${lines.join('\r\n')}\r\n\r\n`))
  const [event] = events
  if (event?.type !== 'request' || event.request.asks !== 'forward')
    throw new Error(`no request: ${JSON.stringify(event)}`)
  return toText(event.request.head)
}

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`
const bodyOf = (events: readonly ClientEvent[]): string =>
  events.map((event) => (event.type === 'body' ? toText(event.bytes) : '')).join('')

describe('forwarded requests', () => {
  test('a forwarded request keeps its fields in order and spelling, without the hop-by-hop fields', () => {
    expect(
      forwarded(
        'GET http://a.example:8080/b?c=d HTTP/1.1',
        'user-AGENT: x',
        'Host: a.example:8080',
        'Proxy-Connection: keep-alive',
        'Proxy-Authorization: Basic YTpi',
        'Proxy-Foo: 1',
        'Connection: keep-alive, X-Hop',
        'Keep-Alive: timeout=5',
        'TE: trailers, deflate',
        'Trailer: X-Sum',
        'X-Hop: 1',
        'Upgrade: websocket',
        'Cookie: a=b',
        'Cookie: c=d',
        'X-Latin: \xe9',
      ),
    ).toBe(
      head(
        'GET /b?c=d HTTP/1.1',
        'user-AGENT: x',
        'Host: a.example:8080',
        'Connection: close',
        'Cookie: a=b',
        'Cookie: c=d',
        'X-Latin: \xe9',
      ),
    )
  })

  test('a forwarded request has the host of its URI as its Host field', () => {
    expect(forwarded('GET http://A.example:80 HTTP/1.1', 'HOST: internal:22')).toBe(
      head('GET / HTTP/1.1', 'Host: a.example', 'Connection: close'),
    )
    expect(forwarded('GET http://[2001:DB8::0:1]:81/ HTTP/1.0')).toBe(
      head('GET / HTTP/1.1', 'Host: [2001:db8::1]:81', 'Connection: close'),
    )
  })

  test('a Connection field cannot remove Host or Content-Length from a forwarded request', () => {
    expect(
      forwarded('POST http://a/ HTTP/1.1', 'Connection: Host, Content-Length', 'Host: a', 'Content-Length: 0'),
    ).toBe(head('POST / HTTP/1.1', 'Connection: close', 'Host: a', 'Content-Length: 0'))
  })

  test('toOriginHead writes one Host field and no length that readRequestHead did not accept', () => {
    const line = readRequestLine('GET http://a/ HTTP/1.1')
    const one = readField('Host: a')
    const other = readField('Host: b')
    const length = readField('Content-Length: 5')
    if ('type' in line || !one || !other || !length) throw new Error('not read')
    const read = readRequestHead(line, [one])
    if (read.type === 'refuse') throw new Error('refused')
    expect(toText(toOriginHead(line, read, [one, other, length]))).toBe(
      head('GET / HTTP/1.1', 'Host: a', 'Connection: close'),
    )
  })

  test('the gateway adds no Via or X-Forwarded-For field, and forwards those of the client', () => {
    const text = forwarded('GET http://a/ HTTP/1.1', 'Host: a', 'Via: 1.1 own', 'X-Forwarded-For: 10.0.0.1')
    expect(text).toBe(
      head('GET / HTTP/1.1', 'Host: a', 'Via: 1.1 own', 'X-Forwarded-For: 10.0.0.1', 'Connection: close'),
    )
  })

  test('OPTIONS without a path is forwarded as OPTIONS *, and Max-Forwards is decremented', () => {
    expect(forwarded('OPTIONS http://a HTTP/1.1', 'Host: a', 'Max-Forwards: 10')).toBe(
      head('OPTIONS * HTTP/1.1', 'Host: a', 'Max-Forwards: 9', 'Connection: close'),
    )
    expect(forwarded('OPTIONS http://a/ HTTP/1.1', 'Host: a')).toStartWith('OPTIONS / HTTP/1.1')
    expect(forwarded('OPTIONS http://a?b HTTP/1.1', 'Host: a')).toStartWith('OPTIONS /?b HTTP/1.1')
  })

  test('Upgrade is forwarded for websocket in HTTP/1.1 with Connection: upgrade, and otherwise removed', () => {
    const forward = (...fields: string[]) => forwarded('GET http://a/ HTTP/1.1', 'Host: a', ...fields)
    expect(forward('Connection: keep-alive, Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x')).toBe(
      head('GET / HTTP/1.1', 'Host: a', 'Connection: upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: x'),
    )
    const plain = head('GET / HTTP/1.1', 'Host: a', 'Connection: close')
    expect(forward('Upgrade: websocket')).toBe(plain)
    expect(forward('Connection: upgrade')).toBe(plain)
    expect(forward('Connection: upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: x')).toBe(plain)
    expect(forwarded('GET http://a/ HTTP/1.0', 'Host: a', 'Connection: upgrade', 'Upgrade: websocket')).toBe(plain)
  })

  test('Expect: 100-continue is forwarded only for HTTP/1.1 requests with a body', () => {
    const expects = (version: string, length: string) => {
      const fields = `Host: a\r\nExpect: 100-Continue\r\nContent-Length: ${length}`
      return forwarded(`PUT http://a/ HTTP/${version}\r\n${fields}`).includes('Expect: 100-Continue\r\n')
    }
    expect(expects('1.1', '5')).toBe(true)
    expect(expects('1.1', '0')).toBe(false)
    expect(expects('1.0', '5')).toBe(false)
  })
})

describe('HttpRequestReader', () => {
  const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 })

  test('HttpRequestReader forwards every chunked body with canonical chunk sizes and without extensions', () => {
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(300), { maxLength: 10 }), (parts, cuts) => {
        const framed = (ext: string, pad: string) =>
          parts.map((part) => `${pad}${part.length.toString(16)}${ext}\r\n${toText(part)}\r\n`).join('')
        const sent = `POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n${framed(';x', '0')}00\r\n\r\n`
        const reader = new HttpRequestReader()
        const events = splitAt(toBytes(sent), cuts).flatMap((piece) => reader.feed(piece))
        expect(bodyOf(events)).toBe(`${framed('', '')}0\r\n\r\n`)
        expect(events.at(-1)).toEqual({ type: 'end' })
      }),
      { numRuns: 500 },
    )
  })

  test('HttpRequestReader reads up to 6 pipelined requests in order for every split', () => {
    const request = fc.constantFrom(
      'GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n',
      'POST http://b/ HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabc',
      'POST http://c/ HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n',
      '\r\nHEAD http://d/ HTTP/1.1\r\nHost: d\r\n\r\n',
    )
    fc.assert(
      fc.property(fc.array(request, { maxLength: 6 }), fc.array(fc.nat(400), { maxLength: 12 }), (requests, cuts) => {
        const bytes = toBytes(requests.join(''))
        const whole = requests.flatMap((text) => summarizeRequests([toBytes(text)]))
        expect(summarizeRequests([bytes])).toEqual(whole)
        expect(summarizeRequests(splitAt(bytes, cuts))).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })

  test('HttpRequestReader does not parse the next request before next()', () => {
    const reader = new HttpRequestReader()
    const get = toBytes('GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(reader.feed(get).map((event) => event.type)).toEqual(['request', 'end'])
    expect(reader.feed(get)).toEqual([])
    expect(reader.feed(toBytes('nonsense\r\n'))).toEqual([])
    expect(reader.next().map((event) => event.type)).toEqual(['request', 'end'])
    expect(reader.next().map((event) => event.type)).toEqual(['refuse'])
    expect(reader.next()).toEqual([])
  })

  test('next() of HttpRequestReader throws in the middle of a request body', () => {
    const reader = new HttpRequestReader()
    reader.feed(toBytes('PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf'))
    expect(reader.isWaiting).toBe(false)
    expect(() => reader.next()).toThrow()
  })

  test('HttpRequestReader drops the bytes after a request with Connection: close', () => {
    const reader = new HttpRequestReader(undefined, undefined, { heldBytes: 10 })
    const close = toBytes('GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(reader.feed(close).map((event) => event.type)).toEqual(['request', 'end'])
    expect(reader.feed(new Uint8Array(100))).toEqual([])
    expect(reader.next()).toEqual([])
    expect(reader.rest()).toHaveLength(0)
  })

  test('HttpRequestReader holds at most heldBytes=10 of early data, and refuses the request beyond', () => {
    const reader = new HttpRequestReader(undefined, undefined, { heldBytes: 10 })
    const connect = toBytes('CONNECT a:443 HTTP/1.1\r\n\r\n0123456789')
    expect(reader.feed(connect).map((event) => event.type)).toEqual(['request'])
    expect(reader.feed(Uint8Array.of(1)).map((event) => event.type)).toEqual(['refuse'])
    expect(reader.rest()).toHaveLength(0)
    expect(reader.feed(connect)).toEqual([])
  })

  test('rest() of HttpRequestReader returns the bytes after an upgrade once', () => {
    const reader = new HttpRequestReader()
    const upgrade = 'GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'
    const [request] = reader.feed(toBytes(`${upgrade}\x81\x00`))
    expect(request).toMatchObject({ request: { upgrade: true, keepAlive: true } })
    expect(toText(reader.rest())).toBe('\x81\x00')
    expect(reader.rest()).toHaveLength(0)
  })

  test('HttpRequestReader passes body bytes on without a copy', () => {
    const reader = new HttpRequestReader()
    reader.feed(toBytes('PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n'))
    const piece = new Uint8Array(65_536)
    const [event] = reader.feed(piece)
    expect(event?.type === 'body' && event.bytes.buffer === piece.buffer).toBe(true)
  })

  test('HttpRequestReader keeps its bytes when the caller overwrites the buffer', () => {
    const reader = new HttpRequestReader()
    const piece = toBytes('CONNECT a:443 HTTP/1.1\r\n\r\nearly')
    const half = toBytes('GET http://a/ HTTP/1.1\r\nHo')
    reader.feed(piece)
    piece.fill(0)
    expect(toText(reader.rest())).toBe('early')
    const second = new HttpRequestReader()
    second.feed(half)
    half.fill(0)
    expect(second.feed(toBytes('st: a\r\n\r\n')).map((event) => event.type)).toEqual(['request', 'end'])
  })
})
