import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { admitted, atMainPort, byteByByte, splitAt, toBytes, toText } from '../../../../test/harness/protocol.ts'
import { readAuthority } from './authority.ts'
import { HttpRequestReader } from './http1/request.ts'
import { type ClientAddress, type ClientEvent, type ClientParser, claimOf } from './request.ts'
import { Socks5Reader } from './socks5/handshake.ts'
import { recognize, type WayIn, waysIn } from './table.ts'

test('the first byte of a connection chooses SOCKS5 for 5, SOCKS4 for 4, and HTTP for 52 letters', () => {
  const found = Array.from({ length: 256 }, (_, byte) => recognize(byte, atMainPort))
  expect(found[5]).toBeInstanceOf(Socks5Reader)
  expect(found[4]?.feed(Uint8Array.of(4)).map(({ type }) => type)).toEqual(['refuse'])
  const letters = found.flatMap((parser, byte) =>
    parser instanceof HttpRequestReader ? [String.fromCharCode(byte)] : [],
  )
  expect(letters.join('')).toBe('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
  expect(found.filter((parser) => parser === undefined)).toHaveLength(256 - 52 - 2)
})

/** A whole way in: `~host:port` and a line break ask for a tunnel, and the answer repeats the line. */
class EchoParser implements ClientParser {
  readonly taken = 0
  private text = ''
  private hasAsked = false

  constructor(private readonly client: ClientAddress) {}

  feed(bytes: Uint8Array): ClientEvent[] {
    this.text += toText(bytes)
    const target = this.hasAsked ? undefined : readAuthority(/^~(.*)\n/.exec(this.text)?.[1] ?? '')
    if (!target) return []
    this.hasAsked = true
    const claim = claimOf(this.client)
    return [{ type: 'request', request: { wayIn: 'http1', source: this.client.source, claim, asks: 'tunnel', target } }]
  }

  next = () => []
  answer = ({ refusal }: { readonly refusal?: string | undefined }) => ({
    bytes: toBytes(`${refusal ?? 'ok'} ${this.line}`),
    isLast: refusal !== undefined,
  })
  rest = () => toBytes(this.text.slice(this.line.length))

  private get line(): string {
    return this.text.slice(0, this.text.indexOf('\n') + 1)
  }
}

const echo: WayIn = { isFirst: (byte) => byte === 0x7e, open: (client) => new EchoParser(client) }

test('a toy protocol needs a parser and a line in the table, and asks the same for every split', () => {
  const bytes = toBytes('~a.example:443\nearly')
  const speak = (pieces: readonly Uint8Array[]) => {
    const parser = recognize(bytes[0] ?? 0, atMainPort, [...waysIn, echo])
    const events = pieces.flatMap((piece) => parser?.feed(piece) ?? [])
    const answer = parser?.answer(admitted, true)
    return { events, answer: toText(answer?.bytes ?? bytes), rest: toText(parser?.rest() ?? bytes) }
  }
  const asked = { asks: 'tunnel', target: { host: 'a.example', port: 443 }, claim: { kind: 'nothing' } }
  expect(speak([bytes])).toMatchObject({ events: [{ request: asked }], answer: 'ok ~a.example:443\n', rest: 'early' })
  expect(speak(byteByByte(bytes))).toEqual(speak([bytes]))
})

test('random bytes never throw in a parser, and give the same events for every split', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .string({
        unit: fc.constantFrom('GET', 'CONNECT', ' ', '/', 'a:1', ':', '\r\n', 'HTTP/1.1', '\x05', '\x01', '\0'),
      })
      .map(toBytes),
  )
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(200)), (sent, cuts) => {
      const eventsOf = (pieces: readonly Uint8Array[]): ClientEvent[] => {
        const parser = recognize(sent[0] ?? 0, atMainPort)
        const events = pieces.flatMap((piece) => [...(parser?.feed(piece) ?? [])])
        const end = events.findIndex(({ type }) => type === 'refuse')
        return end < 0 ? events : events.slice(0, end + 1)
      }
      const isBody = ({ type }: ClientEvent): boolean => type === 'body'
      const [whole, cut] = [eventsOf([sent]), eventsOf(splitAt(sent, cuts))]
      expect(cut.filter((event) => !isBody(event))).toEqual(whole.filter((event) => !isBody(event)))
    }),
    { numRuns: 5000 },
  )
})
