import { describe, expect, test } from 'bun:test'
import { refusalOf } from '../../test/harness/failure.ts'
import { Refusal } from '../core/refusal.ts'
import { readBody, readBytes } from './body.ts'

const usualBytes = 64 * 1024

/** A JSON object of exactly so many bytes. */
const objectOf = (bytes: number) => `{"note":"${'x'.repeat(bytes - '{"note":""}'.length)}"}`

const withLength = (text: string, type = 'application/json') =>
  new Request('http://shop/', {
    method: 'POST',
    body: text,
    headers: { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(text)) },
  })

/** A chunked body, without Content-Length. */
const chunked = (text: string) => {
  const bytes = Buffer.from(text)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, index) =>
    bytes.subarray(index * 1000, (index + 1) * 1000),
  )
  return new Request('http://shop/', {
    method: 'POST',
    body: new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    }),
    headers: { 'Content-Type': 'application/json' },
  })
}

const codeOf = (request: Request, maxBytes?: number) =>
  readBody(request, maxBytes).then(
    () => 'taken',
    (error: unknown) => (error instanceof Refusal ? error.code : error),
  )

describe.each([
  ['with Content-Length', withLength],
  ['in chunks', chunked],
] as const)('readBody of a body %s', (_name, send) => {
  test('readBody accepts a body of 64 KiB and refuses one byte more with payload_too_large', async () => {
    expect(await readBody(send(objectOf(usualBytes)))).toHaveProperty('note')
    expect(await codeOf(send(objectOf(usualBytes + 1)))).toBe('payload_too_large')
  })

  test('readBody uses the limit of the operation if it has its own', async () => {
    expect(await codeOf(send(objectOf(usualBytes + 1)), usualBytes + 1)).toBe('taken')
    expect(await codeOf(send(objectOf(100)), 99)).toBe('payload_too_large')
  })

  test('readBody refuses a body that is not an object', async () => {
    for (const text of ['[]', 'null', '1', '"text"', 'true']) expect(await codeOf(send(text))).toBe('invalid_request')
  })
})

test('readBody reads an empty body as an empty object, whatever its Content-Type is', async () => {
  expect(await readBody(withLength('', 'text/plain'))).toEqual({})
  expect(await readBody(new Request('http://shop/', { method: 'POST' }))).toEqual({})
})

test('readBody accepts application/json in UTF-8 and refuses other content types', async () => {
  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
    expect(await codeOf(withLength('{}', type))).toBe('taken')
  }
  for (const type of ['', 'text/plain', 'application/jsonp', 'application/json; charset=latin1']) {
    expect(await codeOf(withLength('{}', type))).toBe('unsupported_media_type')
  }
})

const tickMs = 5
const ticks = 10

/** A request whose body the test sends later. */
function openRequest(headers: Record<string, string> = {}) {
  let send: (text: string) => void = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (text) => {
        controller.enqueue(new TextEncoder().encode(text))
        controller.close()
      }
    },
  })
  return { request: new Request('http://shop/', { method: 'POST', body, headers }), send: (text: string) => send(text) }
}

/** Blocks the event loop, as in a process that was stopped. */
function stall(ms: number): void {
  const startedAt = performance.now()
  while (performance.now() - startedAt < ms);
}

describe.each([
  ['in chunks', {}],
  ['with Content-Length', { 'Content-Length': '5' }],
] as const)('readBytes of a late body %s', (_name, headers) => {
  test('readBytes refuses a body that does not arrive within 10 ticks as too slow, with the limit of 10 seconds', async () => {
    const { request } = openRequest(headers)
    expect(await refusalOf(readBytes(request, 100, tickMs))).toMatchObject({
      code: 'invalid_request',
      message: 'The request is not valid. body: did not arrive within 10 seconds',
      details: [{ field: 'body', reason: 'too_slow', params: { seconds: 10 } }],
    })
  })

  test('readBytes accepts a body that arrives after the process was stalled for 20 ticks', async () => {
    const { request, send } = openRequest(headers)
    const read = readBytes(request, 100, tickMs)
    setTimeout(() => {
      stall(2 * ticks * tickMs)
      // The body is read after the timers that are due, as a socket may be.
      setTimeout(() => send('hello'), 0)
    }, 0)
    expect(new TextDecoder().decode(await read)).toBe('hello')
  })
})

describe('a compressed request body', () => {
  const packed = (bytes: Uint8Array, encoding = 'gzip') =>
    new Request('http://shop/', {
      method: 'POST',
      body: bytes,
      headers: {
        'Content-Type': 'application/json',
        'Content-Encoding': encoding,
        'Content-Length': String(bytes.length),
      },
    })
  const gzip = (text: string) => Bun.gzipSync(Buffer.from(text))

  test('readBody decompresses a gzip body up to 64 KiB, and refuses a larger one', async () => {
    for (const encoding of ['gzip', 'x-gzip', 'GZIP']) {
      expect(await readBody(packed(gzip('{"count":1}'), encoding))).toEqual({ count: 1 })
    }
    expect(await codeOf(packed(gzip(objectOf(usualBytes))))).toBe('taken')
    expect(await codeOf(packed(gzip(objectOf(usualBytes + 1))))).toBe('payload_too_large')
    // 20 MB in 20 KB: decompression stops at the limit.
    expect(await codeOf(packed(gzip(objectOf(20_000_000))))).toBe('payload_too_large')
  })

  test('readBody refuses an invalid or truncated gzip body with the reason not_gzip', async () => {
    for (const bytes of [Buffer.from('{"count":1}'), gzip('{"count":1}').subarray(0, -4)]) {
      const refusal = await refusalOf(readBody(packed(bytes)))
      expect([refusal.code, refusal.details]).toEqual([
        'invalid_request',
        [{ field: 'body', reason: 'not_gzip', params: {} }],
      ])
    }
  })

  test('readBody refuses the Content-Encodings br, deflate and "gzip, gzip", and reads identity as none', async () => {
    for (const encoding of ['br', 'deflate', 'gzip, gzip']) {
      const refusal = await refusalOf(readBody(packed(Buffer.from('{}'), encoding)))
      expect([refusal.code, refusal.message]).toEqual([
        'unsupported_media_type',
        'Send the body uncompressed or with Content-Encoding: gzip.',
      ])
    }
    expect(await readBody(packed(Buffer.from('{"count":1}'), 'identity'))).toEqual({ count: 1 })
  })
})
