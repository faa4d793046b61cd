import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { someExit } from '../../../../test/harness/desired.ts'
import { byteByByte, splitAt, toBytes, toHex, toText } from '../../../../test/harness/protocol.ts'
import { scaled } from '../../../../test/harness/scale.ts'
import { talkTo, tryOut } from './upstream.ts'

const credentials = { username: 'näme', password: 'a:b' }
const four = { host: '203.0.113.7', port: 443 }
const six = { host: '2001:db8::7', port: 8080 }
const exits = {
  http: someExit({ kind: 'http', port: 3128 }),
  httpLogin: someExit({ kind: 'http', port: 3128, credentials }),
  socks: someExit({ kind: 'socks5', port: 1080 }),
  socksLogin: someExit({ kind: 'socks5', port: 1080, credentials }),
}

/**
 * The steps for these pieces of an answer, one text each. Bytes after the last step belong to the tunnel.
 */
function stepsOf(exit: keyof typeof exits, pieces: readonly Uint8Array[], target = four): string[] {
  const talk = talkTo(exits[exit], target)
  const seen: string[] = []
  let rest: string | undefined
  for (const piece of pieces) {
    if (rest !== undefined) {
      rest += toText(piece)
      continue
    }
    for (const step of talk.feed(piece)) {
      if (step.type === 'write') seen.push(`write ${toHex(step.bytes)}`)
      else if (step.type === 'open') rest = toText(step.rest)
      else return [...seen, 'failed']
    }
  }
  return rest === undefined ? seen : [...seen, `open ${rest}`]
}

const bound = '\0\x01\x01\x02\x03\x04\x01\xbb'

describe('HTTP upstreams', () => {
  test('an HTTP upstream receives CONNECT with a literal address and the login', () => {
    expect(toText(talkTo(exits.http, four).begin())).toBe(
      'CONNECT 203.0.113.7:443 HTTP/1.1\r\nHost: 203.0.113.7:443\r\n\r\n',
    )
    const basic = Buffer.from('näme:a:b').toString('base64')
    expect(toText(talkTo(exits.httpLogin, six).begin())).toBe(
      `CONNECT [2001:db8::7]:8080 HTTP/1.1\r\nHost: [2001:db8::7]:8080\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
    )
  })

  test('an HTTP upstream is open after any 2xx, and later bytes come from the destination', () => {
    expect(stepsOf('http', [toBytes('HTTP/1.1 200 Connection established\r\nX: y\r\n\r\nhello')])).toEqual([
      'open hello',
    ])
    expect(stepsOf('http', [toBytes('HTTP/1.0 204\r\n\r\n')])).toEqual(['open '])
  })

  test.each([
    'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
    'HTTP/1.1 502 Bad Gateway\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 2000 OK\r\n\r\n',
    'HTTP/2 200\r\n\r\n',
    'SSH-2.0-OpenSSH_9\r\n\r\n',
    ' HTTP/1.1 200 OK\r\n\r\n',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
    'x'.repeat(17_000),
  ])('an HTTP upstream has failed after any other answer: %p', (text) => {
    expect(stepsOf('http', [toBytes(text)])).toEqual(['failed'])
    expect(stepsOf('http', byteByByte(toBytes(text)))).toEqual(['failed'])
  })
})

describe('SOCKS5 upstreams', () => {
  test('a SOCKS5 upstream is offered a login only if there is one', () => {
    expect(toHex(talkTo(exits.socks, four).begin())).toBe('050100')
    expect(toHex(talkTo(exits.socksLogin, four).begin())).toBe('05020002')
  })

  test('a SOCKS5 upstream receives an address, never a name', () => {
    expect(stepsOf('socks', [toBytes('\x05\0')])).toEqual(['write 05010001cb00710701bb'])
    const [written] = stepsOf('socks', [toBytes('\x05\0')], six)
    expect(written).toBe('write 0501000420010db80000000000000000000000071f90')
    expect(() => stepsOf('socks', [toBytes('\x05\0')], { host: 'example.com', port: 1 })).toThrow()
  })

  test('a SOCKS5 upstream is open after login and reply, with any bound address in the reply', () => {
    const login = `write 01056ec3a46d6503613a62`
    const request = 'write 05010001cb00710701bb'
    for (const reply of [bound, `\0\x04${'\x01'.repeat(18)}`, '\0\x03\x04name\x01\xbb', '\0\x03\0\x01\xbb']) {
      const response = toBytes(`\x05\x02\x01\0\x05\0${reply}early`)
      expect(stepsOf('socksLogin', byteByByte(response))).toEqual([login, request, 'open early'])
      expect(stepsOf('socksLogin', [response])).toEqual([login, request, 'open early'])
    }
  })

  test.each([
    ['socks', '\x04\0'],
    ['socks', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['socks', '\x05\xff'],
    ['socks', '\x05\x02'],
    ['socksLogin', '\x05\x01'],
    ['socksLogin', '\x05\x02\x01\x01'],
    ['socks', `\x05\0\x05\x05${bound}`],
    ['socks', `\x05\0\x04\0${bound}`],
    ['socks', '\x05\0\x05\0\0\x02\0\0\0\0\0\0'],
    ['socks', '\x05\0\x05\0\0\0\0\0\0\0\0\0'],
  ] as const)('a SOCKS5 upstream has failed after a refusal or a malformed answer: %s %p', (exit, text) => {
    expect(stepsOf(exit, [toBytes(text)]).at(-1)).toBe('failed')
    expect(stepsOf(exit, byteByByte(toBytes(text))).at(-1)).toBe('failed')
  })
})

/** `exit` if the exit failed, the customer's refusal if the destination failed, `none` without a failure. */
function blame(exit: keyof typeof exits, response: string): string {
  const talk = talkTo(exits[exit], four)
  const failure = talk.feed(toBytes(response)).find((step) => step.type === 'failed')
  if (failure?.type !== 'failed') return 'none'
  return failure.problem === undefined ? failure.refusal : 'exit'
}

test.each([
  ['http', 'HTTP/1.1 407 No\r\n\r\n', 'exit'],
  ['http', 'HTTP/1.1 402 Pay\r\n\r\n', 'exit'],
  ['http', 'SSH-2.0-OpenSSH_9\r\n\r\n', 'exit'],
  ['http', 'HTTP/1.1 502 Bad\r\n\r\n', 'unreachable'],
  ['http', 'HTTP/1.1 504 Late\r\n\r\n', 'connect_timeout'],
  ['http', 'HTTP/1.1 403 No\r\n\r\n', 'exit_failed'],
  ['socksLogin', '\x05\xff', 'exit'],
  ['socksLogin', '\x05\x02\x01\x01', 'exit'],
  ['socks', `\x05\0\x05\x05${bound}`, 'connect_refused'],
  ['socks', `\x05\0\x05\x04${bound}`, 'unreachable'],
  ['socks', `\x05\0\x05\x06${bound}`, 'connect_timeout'],
  ['socks', `\x05\0\x05\x01${bound}`, 'exit_failed'],
] as const)('the answer of %s %p is a failure of: %s', (exit, response, whose) => {
  expect(blame(exit, response)).toBe(whose)
})

test.each([
  ['http', ['HTTP/1.1 502 Bad\r\n\r\n'], 'open'],
  ['httpLogin', ['HTTP/1.1 407 No\r\n\r\n'], 'failed'],
  ['socks', ['\x05\0'], 'open'],
  ['socksLogin', ['\x05\x02', '\x01\0'], 'open'],
  ['socksLogin', ['\x05\x02', '\x01\x01'], 'failed'],
] as const)(
  'a check of %s with the answer %p ends as %s, and sends no customer destination',
  (kind, response, outcome) => {
    const talk = tryOut(exits[kind])
    const written = [toText(talk.begin())]
    const steps = response.flatMap((text) => [...talk.feed(toBytes(text))])
    for (const step of steps) if (step.type === 'write') written.push(toText(step.bytes))
    expect(steps.at(-1)?.type).toBe(outcome)
    expect(written.join('')).not.toContain('203.0.113.7')
  },
)

test('talkTo returns the same steps for every split of an upstream’s answer', () => {
  const openings = [
    'HTTP/1.1 200 OK\r\nServer: x\r\n\r\n',
    'HTTP/1.1 403 No\r\n\r\n',
    `\x05\0\x05\0${bound}`,
    `\x05\x02\x01\0\x05\0\0\x03\x09localhost\0\x50`,
    '\x05\x02\x01\x01',
  ]
  const answers = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .tuple(fc.constantFrom(...openings), fc.uint8Array({ maxLength: 40 }), fc.nat(40), fc.boolean())
      .map(([opening, noise, at, isDamaged]) => {
        const bytes = Buffer.concat([toBytes(opening), noise])
        if (isDamaged) bytes[at % bytes.length] = noise[0] ?? 0
        return new Uint8Array(bytes)
      }),
  )
  const kinds = fc.constantFrom('http', 'httpLogin', 'socks', 'socksLogin')
  const splits = fc.array(fc.nat(80), { maxLength: 12 })
  fc.assert(
    fc.property(kinds, answers, splits, (kind, bytes, cuts) => {
      const whole = stepsOf(kind, [bytes])
      expect(stepsOf(kind, splitAt(bytes, cuts))).toEqual(whole)
      expect(stepsOf(kind, byteByByte(bytes))).toEqual(whole)
    }),
    { numRuns: scaled(5000) },
  )
})
