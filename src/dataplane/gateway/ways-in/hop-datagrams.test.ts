import { expect, test } from 'bun:test'
import { readAddress } from '../../../core/address.ts'
import { datagramsTarget, HopDatagrams, hopTargetOf, withHopDatagrams } from './hop-datagrams.ts'
import type { Claim, ProxyRequest } from './request.ts'

const ask = (claim: Claim, host = datagramsTarget.host): ProxyRequest => ({
  wayIn: 'http2',
  source: '192.0.2.1',
  claim,
  asks: 'tunnel',
  target: { host, port: 1 },
})
const ticket: Claim = { kind: 'ticket', ticket: 'from=…' }

test('a CONNECT with a ticket to the name of datagrams is a hop for datagrams, and the ticket signs that name', () => {
  const request = withHopDatagrams(ask(ticket))
  expect(request).toMatchObject({ asks: 'capsules', claim: ticket, target: undefined })
  expect(hopTargetOf(request)).toEqual(datagramsTarget)
})

test('a customer’s CONNECT to that name, and a hop to any other, are tunnels', () => {
  const own = ask({ kind: 'nothing' })
  const other = ask(ticket, 'origin.example')
  expect([withHopDatagrams(own), withHopDatagrams(other)]).toEqual([own, other])
  expect(hopTargetOf(other)).toEqual({ host: 'origin.example', port: 1 })
})

test('datagrams of 0 to 65,535 bytes pass a hop whole, in any parts', () => {
  const [writer, reader] = [new HopDatagrams(), new HopDatagrams()]
  const source = readAddress('2001:db8::7') ?? expect.unreachable()
  const sizes = [0, 1, 1400, 65_535]
  const bytes = Buffer.concat(sizes.map((size) => writer.toCapsule(new Uint8Array(size).fill(size & 255), source, 53)))
  const got: [number, number | undefined, string | undefined][] = []
  for (let at = 0; at < bytes.length; at += 977)
    expect(
      reader.feed(bytes.subarray(at, at + 977), (payload, of) => got.push([payload.length, payload.at(-1), of?.host])),
    ).toBe(true)
  expect(got).toEqual(sizes.map((size) => [size, size === 0 ? undefined : size & 255, '2001:db8::7']))
})
