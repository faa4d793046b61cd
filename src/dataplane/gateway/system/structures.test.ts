import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { formatAddress, readAddress } from '../../../core/address.ts'
import {
  eventLayoutOf,
  type Processor,
  readQuadAt,
  readSocketAddress,
  readTcpInfo,
  tcpInfoBytes,
  writeEvent,
  writeSocketAddress,
} from './structures.ts'

const readEvent = (from: DataView, at: number, { oursAt }: ReturnType<typeof eventLayoutOf>) => ({
  events: from.getUint32(at, true),
  descriptor: from.getInt32(at + oursAt, true),
  life: from.getInt32(at + oursAt + 4, true),
})

const hex = (view: DataView, bytes: number): string =>
  Buffer.from(view.buffer, view.byteOffset, bytes)
    .toString('hex')
    .replaceAll(/(..)(?=.)/g, '$1 ')
const blankView = (bytes = 256): DataView => new DataView(new ArrayBuffer(bytes))

describe('struct epoll_event', () => {
  const event = { events: 0x8000_2005, descriptor: 0x0a0b, life: 0x01020304 }
  // sizeof and offsetof: packed on x86-64, aligned to 8 bytes on arm64.
  test.each<[Processor, number, string]>([
    ['x64', 12, '05 20 00 80 0b 0a 00 00 04 03 02 01'],
    ['arm64', 16, '05 20 00 80 00 00 00 00 0b 0a 00 00 04 03 02 01'],
  ])('writeEvent writes struct epoll_event in the layout of %s', (processor, bytes, written) => {
    const layout = eventLayoutOf(processor)
    const view = blankView()
    writeEvent(view, 0, layout, event)
    expect({ bytes: layout.bytes, written: hex(view, layout.bytes) }).toEqual({ bytes, written })
    expect(readEvent(view, 0, layout)).toEqual(event)
  })

  test.each<Processor>(['x64', 'arm64'])('writeEvent on %s does not overwrite neighbouring events', (processor) => {
    const layout = eventLayoutOf(processor)
    const someEvent = fc.record({
      events: fc.nat(0xffff_ffff),
      descriptor: fc.integer({ min: 0, max: 2 ** 20 }),
      life: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    })
    fc.assert(
      fc.property(fc.array(someEvent, { minLength: 1, maxLength: 8 }), (events) => {
        const view = blankView()
        for (const [index, each] of events.entries()) writeEvent(view, index * layout.bytes, layout, each)
        expect(events.map((_, index) => readEvent(view, index * layout.bytes, layout))).toEqual(events)
      }),
    )
  })
})

describe('sockaddr_in and sockaddr_in6', () => {
  // Both processors are little-endian.
  test.each([
    ['192.0.2.1', 443, '02 00 01 bb c0 00 02 01 00 00 00 00 00 00 00 00'],
    ['127.0.0.1', 65535, '02 00 ff ff 7f 00 00 01 00 00 00 00 00 00 00 00'],
    ['2001:db8::1', 80, '0a 00 00 50 00 00 00 00 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00'],
    ['::', 0, '0a 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00'],
  ])('writeSocketAddress writes %s port %d in the layout of the kernel', (text, port, written) => {
    const address = readAddress(text)
    if (!address) throw new Error(`${text} is no address`)
    const view = blankView()
    for (let at = 0; at < view.byteLength; at += 1) view.setUint8(at, 0xee)
    const length = writeSocketAddress(view, 4, address, port)
    expect(hex(new DataView(view.buffer, 4), length)).toBe(written)
    expect([view.getUint8(3), view.getUint8(4 + length)]).toEqual([0xee, 0xee])
    const read = readSocketAddress(view, 4)
    expect({ text: read && formatAddress(read.address), port: read?.port }).toEqual({ text, port })
  })

  test('readSocketAddress and readQuadAt return an IPv4-mapped IPv6 address as IPv4', () => {
    const view = blankView()
    writeSocketAddress(
      view,
      0,
      { version: 6, bytes: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 7) },
      9,
    )
    const read = readSocketAddress(view, 0)
    expect(read && formatAddress(read.address)).toBe('192.0.2.7')
    expect(readQuadAt(view, 0)).toBe(0xc0_00_02_07)
  })

  test('readQuadAt returns one number for an IPv4 or IPv4-mapped address, and undefined for others', () => {
    const numbers = ['255.0.2.1', '::ffff:255.0.2.1', '::1', '::fffe:255.0.2.1', '1::ffff:1.2.3.4'].map((text) => {
      const view = blankView()
      const address = readAddress(text)
      if (address) writeSocketAddress(view, 0, address, 443)
      return readQuadAt(view, 0)
    })
    expect(numbers).toEqual([0xff_00_02_01, 0xff_00_02_01, undefined, undefined, undefined])
    expect(readQuadAt(blankView(), 0)).toBeUndefined()
  })

  test('readSocketAddress returns undefined for a family that is neither IPv4 nor IPv6', () => {
    const view = blankView()
    view.setUint16(0, 1, true)
    expect(readSocketAddress(view, 0)).toBeUndefined()
  })
})

describe('struct tcp_info', () => {
  test.each([
    [0, 1, 0, false],
    [5_000_000_000, 1, 5_000_000_000, false],
    [2 ** 40 + 3, 7, 2 ** 40 + 3, true],
  ])('readTcpInfo reads %d acknowledged bytes in state %d', (bytes, state, acknowledged, isOver) => {
    const view = blankView(tcpInfoBytes)
    view.setUint8(0, state)
    view.setBigUint64(120, BigInt(bytes), true)
    expect(readTcpInfo(view, 0)).toMatchObject({ acknowledged, isOver })
  })

  /** Values of Linux 6.18 for a client that selectively acknowledged all but 1,460 of 1,077,480 bytes. */
  function silentClient(state: number, unacknowledged: number): DataView {
    const view = blankView(tcpInfoBytes)
    view.setUint8(0, state)
    view.setUint8(5, 6)
    const shorts = { 16: 1460, 24: unacknowledged, 28: 737, 100: 12, 156: 750, 192: 738 }
    for (const [at, value] of Object.entries(shorts)) view.setUint32(Number(at), value, true)
    view.setBigUint64(200, 1_095_000n, true)
    view.setBigUint64(208, 17_520n, true)
    return view
  }

  test('readTcpInfo excludes retransmissions from the sent bytes', () => {
    expect(readTcpInfo(silentClient(1, 738), 0)).toEqual({
      acknowledged: 0,
      sent: 1_077_480,
      selectedSegments: 737,
      unknownSegments: 1,
      segmentBytes: 1460,
      isOver: false,
    })
  })

  test('readTcpInfo adds one unknown segment after a reset', () => {
    expect(readTcpInfo(silentClient(7, 0), 0)).toMatchObject({
      selectedSegments: 737,
      unknownSegments: 2,
      isOver: true,
    })
  })

  test('readTcpInfo adds one unknown segment when the reset happens between state and counters', () => {
    expect(readTcpInfo(silentClient(1, 0), 0)).toMatchObject({ selectedSegments: 737, unknownSegments: 2 })
  })

  test('readTcpInfo does not subtract retransmitted SYN-ACKs from the unknown segments', () => {
    const view = silentClient(7, 0)
    // `tcpi_total_retrans`: 12 data segments, and a SYN-ACK that was retransmitted twice.
    view.setUint32(100, 14, true)
    expect(readTcpInfo(view, 0).unknownSegments).toBe(2)
  })

  test('readTcpInfo computes unknown segments from counters that have overflowed 32 bits', () => {
    const view = silentClient(7, 0)
    view.setUint32(156, 5, true)
    view.setUint32(192, 2 ** 32 - 7, true)
    expect(readTcpInfo(view, 0).unknownSegments).toBe(2)
  })

  test('readTcpInfo counts no selected segments for a client without selective acknowledgements', () => {
    const view = silentClient(1, 738)
    view.setUint8(5, 4)
    expect(readTcpInfo(view, 0).selectedSegments).toBe(0)
  })
})
