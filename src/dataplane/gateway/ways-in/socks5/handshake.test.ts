import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  admitted,
  atMainPort,
  atOwnPort,
  splitAt,
  summarizeSocks,
  toBytes,
  toHex,
  toText,
  wrongLogin,
} from '../../../../../test/harness/protocol.ts'
import type { Verdict } from '../request.ts'
import { refuseSocks4, Socks5Reader } from './handshake.ts'

describe('SOCKS5', () => {
  test('Socks5Reader reads every name, password, target and early byte for every split', () => {
    const text = fc.stringMatching(/^[a-z0-9:_-]{0,60}$/)
    const early = fc.uint8Array({ maxLength: 50 })
    const address = fc.constantFrom(
      ['\x01\x01\x02\x03\x04', '1.2.3.4'],
      ['\x03\x09a.EXAMPLE', 'a.example'],
      [`\x04\x20\x01\x0d\xb8${'\0'.repeat(11)}\x07`, '[2001:db8::7]'],
    )
    const port = fc.integer({ min: 1, max: 65_535 })
    fc.assert(
      fc.property(
        text,
        text,
        address,
        port,
        early,
        fc.array(fc.nat(250)),
        (name, password, [sent, host], number, rest, cuts) => {
          const user = `\x01${String.fromCharCode(name.length)}${name}${String.fromCharCode(password.length)}${password}`
          const portBytes = String.fromCharCode(number >> 8, number & 255)
          const bytes = toBytes(`\x05\x02\0\x02${user}\x05\x01\0${sent}${portBytes}${toText(rest)}`)
          expect(summarizeSocks(splitAt(bytes, cuts))).toEqual([
            'reply 0502',
            `credentials ${name}:${password}`,
            'accept 0100',
            `connect ${host}:${number}`,
            ...(rest.length > 0 ? [`rest ${toText(rest)}`] : []),
          ])
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('Socks5Reader reads no request before the credentials are accepted, and none after a refusal of them', () => {
    const reader = new Socks5Reader(atMainPort)
    const events = reader.feed(toBytes('\x05\x01\x02\x01\x01a\x01b\x05\x01\0\x01\x01\x01\x01\x01\0\x50'))
    expect(events.map((event) => event.type)).toEqual(['reply', 'login'])
    const { bytes, isLast } = reader.answer(wrongLogin)
    expect([toHex(bytes), isLast]).toEqual(['0101', true])
    expect(reader.next()).toEqual([])
    expect(reader.feed(toBytes('\x05\x01\0\x01\x01\x01\x01\x01\0\x50'))).toEqual([])
  })

  test('Socks5Reader holds at most heldBytes=10 of early data, and refuses the request beyond', () => {
    const reader = new Socks5Reader(atOwnPort, 10)
    const sent = toBytes('\x05\x01\0\x05\x01\0\x01\x01\x01\x01\x01\0\x500123456789')
    expect(reader.feed(sent).map((event) => event.type)).toEqual(['reply', 'request'])
    expect(reader.feed(Uint8Array.of(1)).map((event) => event.type)).toEqual(['refuse'])
    expect(reader.rest()).toHaveLength(0)
  })

  test('SOCKS replies contain no address of the gateway', () => {
    const reply = (verdict: Verdict): string => {
      const reader = new Socks5Reader(atOwnPort)
      reader.feed(toBytes('\x05\x01\0\x05\x01\0\x01\x01\x01\x01\x01\0\x50'))
      return toHex(reader.answer(verdict).bytes)
    }
    expect(reply(admitted)).toBe('05000001000000000000')
    expect(reply({ isAdmitted: true, refusal: 'connect_refused' })).toBe('05050001000000000000')
    expect(refuseSocks4.feed(Uint8Array.of(4))).toMatchObject([{ bytes: toBytes('\0\x5b\0\0\0\0\0\0') }])
  })

  test('a refusal other than wrong credentials is reported in the reply to the request', () => {
    const reader = new Socks5Reader(atMainPort)
    reader.feed(toBytes('\x05\x01\x02\x01\x01a\x01b'))
    const blocked: Verdict = { isAdmitted: false, refusal: 'blocked' }
    expect(reader.answer(blocked)).toEqual({ bytes: toBytes('\x01\0'), isLast: false })
    reader.feed(toBytes('\x05\x01\0\x01\x01\x01\x01\x01\0\x50'))
    expect(reader.answer(blocked)).toEqual({ bytes: toBytes('\x05\x02\0\x01\0\0\0\0\0\0'), isLast: true })
  })
})
