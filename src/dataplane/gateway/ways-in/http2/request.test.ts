import { describe, expect, test } from 'bun:test'
import { atMainPort, splitAt, toText } from '../../../../../test/harness/protocol.ts'
import type { Verdict } from '../request.ts'
import { extensions } from '../table.ts'
import { type Field, HpackDecoder } from './hpack.ts'
import { readStreamRequest, StreamParser } from './request.ts'

const connectTo = (authority: string, ...more: readonly Field[]): Field[] => [
  [':method', 'CONNECT'],
  [':authority', authority],
  ...more,
]
const get = (...more: readonly Field[]): Field[] => [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'example.com'],
  [':path', '/a?b'],
  ...more,
]
const read = (fields: readonly Field[], hasBody = false) => readStreamRequest(fields, hasBody, atMainPort, extensions)
const requestOf = (fields: readonly Field[], hasBody = false) => {
  const found = read(fields, hasBody)
  if (found.type !== 'request') throw new Error(`no request: ${JSON.stringify(found)}`)
  return found
}
const login: Field = ['proxy-authorization', 'Basic eDp5']
const claim = { kind: 'password', credentials: { username: 'x', password: 'y' } }

describe('readStreamRequest', () => {
  test('CONNECT asks for a tunnel with the credentials, or with a ticket', () => {
    expect(read(connectTo('example.com:443', ['user-agent', 'x'], login))).toMatchObject({
      request: { wayIn: 'http2', asks: 'tunnel', target: { host: 'example.com', port: 443 }, claim },
    })
    expect(read(connectTo('example.com:443', ['proxy-authorization', 'Turnpike-Hop t']))).toMatchObject({
      request: { claim: { kind: 'ticket', ticket: 't' } },
    })
    expect(read(connectTo('example.com:443'))).toMatchObject({ request: { claim: { kind: 'nothing' } } })
    expect(read(connectTo('example.com'))).toMatchObject({ type: 'refuse', status: 400, code: 'bad_request' })
    expect(read(connectTo('a:1', ['proxy-authorization', 'Digest x']))).toMatchObject({ status: 407 })
  })

  const udp = (...more: readonly Field[]): Field[] => [
    [':method', 'CONNECT'],
    [':protocol', 'connect-udp'],
    [':scheme', 'https'],
    [':authority', 'gateway.example'],
    [':path', '/.well-known/masque/udp/192.0.2.6/443/'],
    ...more,
  ]

  test('extended CONNECT with connect-udp asks for datagrams of one destination, also with Authorization', () => {
    const asked = { wayIn: 'connect-udp', asks: 'capsules', target: { host: '192.0.2.6', port: 443 }, claim }
    expect(read(udp(['capsule-protocol', '?1'], login))).toMatchObject({ request: asked })
    expect(read(udp(['authorization', 'Basic eDp5']))).toMatchObject({ request: asked })
  })

  test('extended CONNECT with another protocol is refused with 501, and one without a path is malformed', () => {
    const change = (name: string, value?: string) =>
      udp().flatMap((field): Field[] => (field[0] !== name ? [field] : value === undefined ? [] : [[name, value]]))
    expect(read(change(':protocol', 'websocket'), true)).toEqual({ type: 'refuse', status: 501 })
    expect(read(change(':path', '*'), true)).toEqual({ type: 'refuse', status: 400 })
    expect(read(change(':path', '/other'))).toMatchObject({ status: 400, code: 'not_a_proxy_request' })
    for (const name of [':path', ':scheme', ':authority']) expect(read(change(name))).toEqual({ type: 'malformed' })
  })

  test('a request is forwarded with one Cookie field and without credentials', () => {
    const { request } = requestOf(
      get(['accept', '*/*'], ['cookie', 'a=1'], ['te', 'trailers'], ['cookie', 'b=2'], login),
    )
    expect(request).toMatchObject({ asks: 'forward', target: { host: 'example.com', port: 80 }, claim })
    expect(request.asks === 'forward' && toText(request.head)).toBe(
      'GET /a?b HTTP/1.1\r\nHost: example.com\r\naccept: */*\r\ncookie: a=1; b=2\r\nConnection: close\r\n\r\n',
    )
  })

  test('a body without content-length is refused with 411', () => {
    expect(read(get(), true)).toEqual({ type: 'refuse', status: 411 })
    expect(read(get(['content-length', '3']), true)).toMatchObject({ type: 'request', bodyBytes: 3 })
  })

  const malformed: readonly (readonly [string, readonly Field[]])[] = [
    ['a line break in a value', connectTo('a:1', ['proxy-authorization', 'x\r\nHost: b'])],
    ['a NUL in a value', get(['accept', 'a\0b'])],
    ['a value with a leading space', get(['accept', ' a'])],
    ['a line break in :authority', connectTo('a:1\r\nX: y')],
    ['a space in :authority', connectTo('a:1 HTTP/1.1')],
    [
      'a space in :path',
      [
        [':method', 'GET'],
        [':scheme', 'http'],
        [':authority', 'a'],
        [':path', '/ HTTP/1.1'],
      ],
    ],
    [
      'a space in :method',
      [
        [':method', 'GET /'],
        [':scheme', 'http'],
        [':authority', 'a'],
        [':path', '/'],
      ],
    ],
    ['an upper-case name', get(['Accept', '*/*'])],
    ['a name with a colon', get(['a:b', 'c'])],
    ['a name with a line break', get(['a\r\nb', 'c'])],
    [
      'a pseudo field after a field',
      [
        [':method', 'CONNECT'],
        ['a', 'b'],
        [':authority', 'a:1'],
      ],
    ],
    ['a repeated pseudo field', connectTo('a:1', [':authority', 'b:1'])],
    ['an unknown pseudo field', connectTo('a:1', [':status', '200'])],
    ['CONNECT with :path', connectTo('a:1', [':path', '/'])],
    ['CONNECT without :authority', [[':method', 'CONNECT']]],
    ['no :method', [[':authority', 'a:1']]],
    ...['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade'].map(
      (name) => [`the field ${name}`, get([name, 'x'])] as const,
    ),
    ['te other than trailers', get(['te', 'gzip'])],
  ]
  for (const [name, fields] of malformed)
    test(`a request with ${name} is malformed`, () => {
      expect(read(fields)).toEqual({ type: 'malformed' })
    })

  test('20,000 random field lists throw nothing, and the head for an origin has one line per field', () => {
    const characters = ['a', 'Z', ':', ' ', '\t', '\r', '\n', '\0', '\x7f', 'é', '/', '-', '']
    const draw = (max: number): number => Math.floor(Math.random() * max)
    const text = (): string => Array.from({ length: draw(5) }, () => characters[draw(characters.length)] ?? '').join('')
    for (let round = 0; round < 20_000; round += 1) {
      const more = Array.from({ length: draw(4) }, (): Field => [text(), text()])
      const base = draw(2) === 0 ? connectTo(draw(2) === 0 ? 'a:1' : text()) : get()
      const found = read([...base, ...more])
      if (found.type !== 'request' || found.request.asks !== 'forward') continue
      const lines = toText(found.request.head).split('\r\n')
      expect(lines.length).toBeLessThanOrEqual(3 + more.length + 2)
      expect(lines.slice(0, -2).every((line) => /^[^\r\n\0]+$/.test(line))).toBe(true)
      expect(lines.slice(-2)).toEqual(['', ''])
    }
  })
})

describe('StreamParser', () => {
  /** Fields and body of bytes for the client, and the verdicts that were noted. */
  function speak(fields: readonly Field[], verdict: Verdict) {
    const verdicts: Verdict[] = []
    const parser = new StreamParser(requestOf(fields).request, 0, (noted) => verdicts.push(noted))
    const { bytes, isLast } = parser.answer(verdict)
    const { blockBytes } = parser
    return {
      fields: new HpackDecoder().decode(bytes.subarray(0, blockBytes), 16_384),
      body: toText(bytes.subarray(blockBytes)),
      isLast,
      verdicts,
    }
  }
  const refused: Verdict = { isAdmitted: false, refusal: 'expired' }

  test('a refusal is a header block with the code and a body, and its verdict is noted', () => {
    const answer = speak(connectTo('a:1'), refused)
    expect(answer.fields.slice(0, 2)).toEqual([
      [':status', '402'],
      ['x-turnpike-error', 'expired'],
    ])
    expect(answer.fields).toContainEqual(['content-length', String(answer.body.length)])
    expect(answer).toMatchObject({ isLast: true, verdicts: [refused] })
    const head = get().map((field): Field => (field[0] === ':method' ? [':method', 'HEAD'] : field))
    expect(speak(head, refused).body).toBe('')
  })

  test('an admitted tunnel is a header block with 200 and the address that it leaves from', () => {
    expect(speak(connectTo('a:1'), { isAdmitted: true, leftFrom: '::1' })).toMatchObject({
      fields: [
        [':status', '200'],
        ['x-turnpike-left-from', '::1'],
      ],
      body: '',
      isLast: false,
    })
  })

  test('a body has the bytes of content-length for every split, and later bytes are dropped', () => {
    const bytes = Buffer.from('hello, and more')
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const { request, bodyBytes } = requestOf(get(['content-length', '5']), true)
      const parser = new StreamParser(request, bodyBytes, () => {})
      const events = [new Uint8Array(0), ...splitAt(bytes, [cut])].flatMap((piece) => parser.feed(piece))
      const body = events.flatMap((event) => (event.type === 'body' ? [toText(event.bytes)] : [])).join('')
      expect([events[0]?.type, body, events.at(-1)?.type]).toEqual(['request', 'hello', 'end'])
    }
  })

  test('a response becomes a header block with names in lower case and without fields of the connection', () => {
    const parser = new StreamParser(requestOf(get()).request, 0, () => {})
    const fields = [
      ['Server', 'x'],
      ['Keep-Alive', '1'],
      ['A', 'b'],
    ] as const
    const block = parser.toHead({ status: 207, reason: 'Multi', fields, connection: 'close' })
    expect(new HpackDecoder().decode(block, 16_384)).toEqual([
      [':status', '207'],
      ['server', 'x'],
      ['a', 'b'],
    ])
    expect(parser.blockBytes).toBe(block.length)
  })
})
