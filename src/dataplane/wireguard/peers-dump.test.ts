import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readDump } from './peers.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const secret = Buffer.alloc(32, 9).toString('base64')
const head = `${secret}\t${key}\t51820\toff`
const peer = (...fields: (string | number)[]) => [key, '(none)', '[2001:db8::9]:4500', ...fields].join('\t')
const allowed = '10.66.0.2/32,fd74::a42:2/128'

describe('readDump', () => {
  test('readDump returns the allowed blocks, the last handshake, the endpoint and the counters of each peer', () => {
    expect(readDump(`${head}\n${peer(allowed, 1_790_000_000, 5, 7, 25)}\n`)).toEqual({
      listenPort: 51_820,
      peers: [
        {
          publicKey: key,
          allowed: ['10.66.0.2/32', 'fd74::a42:2/128'],
          handshakeAt: 1_790_000_000_000,
          endpoint: '[2001:db8::9]:4500',
          // The bytes that the device received are those that the customer sent.
          sent: 5,
          received: 7,
        },
      ],
    })
    expect(readDump(`${head}\n${peer('(none)', 0, 0, 0, 'off')}\n`).peers[0]).toMatchObject({
      allowed: [],
      handshakeAt: null,
    })
    expect(readDump(`${head}\n`).peers).toEqual([])
  })

  test('readDump returns an allowed block in canonical form', () => {
    const [read] = readDump(`${head}\n${peer('FD74:0:0::0a42:2/128', 0, 0, 0, 'off')}\n`).peers
    expect(read?.allowed).toEqual(['fd74::a42:2/128'])
  })

  test('readDump throws for an incomplete or malformed dump, without the private key in the message', () => {
    const broken = [
      '',
      head,
      `${head}\n${peer(allowed, 0, 0, 0, 'off')}`,
      `${key}\n`,
      `${head}\n${peer(allowed, 0, 0, 'off')}\n`,
      `${head}\n${peer(allowed, 0, -1, 0, 'off')}\n`,
      `${head}\n${peer(allowed, 0, '1e3', 0, 'off')}\n`,
      `${head}\n${peer(allowed, 0, '9007199254740993', 0, 'off')}\n`,
      `${head}\n${peer('10.66.0.2/33', 0, 0, 0, 'off')}\n`,
      `${head}\n${peer(allowed, 0, 0, 0, 'off', 'more')}\n`,
      `${head}\n${peer(allowed, 0, 0, 0, 'off')}\n${peer(allowed, 0, 0, 0, 'off')}\n`,
      `${head}\nshort\t(none)\t(none)\t(none)\t0\t0\t0\toff\n`,
    ]
    for (const text of broken) {
      expect(() => readDump(text)).toThrow()
      expect(messageOf(text)).not.toContain(secret)
    }
  })

  test('readDump parses every line of a text or throws, without the private key in the message', () => {
    const bit = fc.constantFrom('\t', '\n', '0', '(none)', 'off', key, head, allowed, ',', '-', '18446744073709551616')
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 40 }), (bits) => {
        const text = bits.join('')
        const message = messageOf(text)
        if (message === undefined) expect(readDump(text).peers.length).toBe(text.split('\n').length - 2)
        else expect(message).not.toContain(secret)
      }),
      { numRuns: 500 },
    )
  })
})

function messageOf(text: string): string | undefined {
  try {
    readDump(text)
    return undefined
  } catch (error) {
    return String(error)
  }
}
