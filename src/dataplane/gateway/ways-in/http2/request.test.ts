import { describe, expect, test } from 'bun:test'
import type { Field } from './hpack.ts'
import { translateRequest, translateResponse } from './request.ts'

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
const textOf = (fields: readonly Field[], hasBody = false): string => {
  const translated = translateRequest(fields, hasBody)
  return 'head' in translated ? Buffer.from(translated.head).toString('latin1') : JSON.stringify(translated)
}

describe('translateRequest', () => {
  test('CONNECT becomes a request line, Host and the credentials', () => {
    expect(textOf(connectTo('example.com:443', ['user-agent', 'x'], ['proxy-authorization', 'Basic eDp5']))).toBe(
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nConnection: close\r\nproxy-authorization: Basic eDp5\r\n\r\n',
    )
  })

  const udp = (...more: readonly Field[]): Field[] => [
    [':method', 'CONNECT'],
    [':protocol', 'connect-udp'],
    [':scheme', 'https'],
    [':authority', 'gateway.example'],
    [':path', '/.well-known/masque/udp/192.0.2.6/443/'],
    ...more,
  ]

  test('extended CONNECT with connect-udp becomes an upgrade with the credentials and no other field', () => {
    const login: Field[] = [
      ['proxy-authorization', 'Basic eDp5'],
      ['authorization', 'Basic eDp5'],
    ]
    expect(textOf(udp(['capsule-protocol', '?1'], ...login))).toBe(
      'GET /.well-known/masque/udp/192.0.2.6/443/ HTTP/1.1\r\nHost: gateway.example\r\n' +
        'Connection: upgrade, close\r\nUpgrade: connect-udp\r\n' +
        'proxy-authorization: Basic eDp5\r\nauthorization: Basic eDp5\r\n\r\n',
    )
  })

  test('extended CONNECT with another protocol is refused with 501, and one without a path is malformed', () => {
    const change = (name: string, value?: string) =>
      udp().flatMap((field): Field[] => (field[0] !== name ? [field] : value === undefined ? [] : [[name, value]]))
    expect(translateRequest(change(':protocol', 'websocket'), true)).toEqual({ type: 'refuse', status: 501 })
    expect(translateRequest(change(':path', '*'), true)).toEqual({ type: 'refuse', status: 400 })
    for (const name of [':path', ':scheme', ':authority']) expect(textOf(change(name))).toBe('{"type":"malformed"}')
  })

  test('a request becomes HTTP/1.0 in absolute form with one Cookie field', () => {
    expect(textOf(get(['accept', '*/*'], ['cookie', 'a=1'], ['te', 'trailers'], ['cookie', 'b=2']))).toBe(
      'GET http://example.com/a?b HTTP/1.0\r\nHost: example.com\r\naccept: */*\r\ncookie: a=1; b=2\r\n\r\n',
    )
  })

  test('a body without content-length is refused with 411', () => {
    expect(translateRequest(get(), true)).toEqual({ type: 'refuse', status: 411 })
    expect(translateRequest(get(['content-length', '3']), true).type).toBe('request')
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
      expect(translateRequest(fields, false)).toEqual({ type: 'malformed' })
    })

  test('20,000 random field lists become a head with one line per field, or no head', () => {
    const characters = ['a', 'Z', ':', ' ', '\t', '\r', '\n', '\0', '\x7f', 'é', '/', '-', '']
    const draw = (max: number): number => Math.floor(Math.random() * max)
    const text = (): string => Array.from({ length: draw(5) }, () => characters[draw(characters.length)] ?? '').join('')
    for (let round = 0; round < 20_000; round += 1) {
      const more = Array.from({ length: draw(4) }, (): Field => [text(), text()])
      const base = draw(2) === 0 ? connectTo(draw(2) === 0 ? 'a:1' : text()) : get()
      const translated = translateRequest([...base, ...more], false)
      if (!('head' in translated)) continue
      const head = Buffer.from(translated.head).toString('latin1')
      const lines = head.split('\r\n')
      expect(head.endsWith('\r\n\r\n')).toBe(true)
      expect(lines.length).toBeLessThanOrEqual(3 + more.length + 2)
      expect(lines.slice(0, -2).every((line) => /^[^\r\n\0]+$/.test(line))).toBe(true)
    }
  })
})

describe('translateResponse', () => {
  test('names become lower case, and fields of the connection are left out', () => {
    expect(translateResponse('HTTP/1.1 407 Denied\r\nX-Turnpike-Error: bad\r\nConnection: close\r\nA:b')).toEqual({
      status: 407,
      fields: [
        [':status', '407'],
        ['x-turnpike-error', 'bad'],
        ['a', 'b'],
      ],
    })
  })

  test('a line that is no status line is not translated', () => {
    expect(translateResponse('SSH-2.0-x')).toBeUndefined()
  })

  test('101 of an upgrade becomes 200', () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nCapsule-Protocol: ?1'
    const fields: Field[] = [
      [':status', '200'],
      ['capsule-protocol', '?1'],
    ]
    expect(translateResponse(head)).toEqual({ status: 200, fields })
  })
})
