import { beforeEach, describe, expect, test } from 'bun:test'
import { ByteAllowance } from './allowance.ts'
import { CapsuleMeter, type CustomerEnd, Delivery, nothingShown, type Transmission } from './tunnel-meter.ts'

/** A socket whose acknowledged bytes the test sets. */
class FakeSocket {
  now: Transmission = { ...nothingShown, acknowledged: 400, sent: 900, segmentBytes: 100, isOver: false }
  readonly done: string[] = []
  transmission = (): Transmission => this.now
  shutdown = (): void => void this.done.push('shutdown')
  close = (reset: boolean): void => void this.done.push(reset ? 'reset' : 'closed')
}

describe('the delivery of bytes to a closed connection', () => {
  let socket: FakeSocket
  let delivery: Delivery
  beforeEach(() => {
    socket = new FakeSocket()
    const end: CustomerEnd = { written: 1000, heldBytes: 0, delivery: undefined }
    delivery = new Delivery(end, () => {})
    delivery.follow(() => socket)
  })

  test('a closed connection settles with all bytes when they are acknowledged within 30 s', () => {
    expect(delivery.settle(1000)).toBe(false)
    expect(delivery.settle(30_999)).toBe(false)
    socket.now = { ...socket.now, acknowledged: 1000, sent: 1000 }
    expect(delivery.settle(30_999)).toBe(true)
    expect([delivery.shown(), delivery.sent, socket.done]).toEqual([1000, 1000, ['shutdown', 'closed']])
  })

  test('a closed connection settles with the acknowledged bytes after 30 s, and is reset', () => {
    expect(delivery.settle(1000)).toBe(false)
    expect(delivery.settle(31_000)).toBe(true)
    expect([delivery.shown(), delivery.sent, socket.done]).toEqual([400, 900, ['shutdown', 'reset']])
  })

  test('a closed connection settles at once if everything is acknowledged', () => {
    socket.now = { ...socket.now, acknowledged: 1000, sent: 1000 }
    expect(delivery.settle(1000)).toBe(true)
    expect([delivery.shown(), delivery.sent, socket.done]).toEqual([1000, 1000, ['closed']])
  })

  test('a reset or cut connection settles at once', () => {
    socket.now = { ...socket.now, isOver: true }
    expect(delivery.settle(1000)).toBe(true)
    const other = new Delivery({ written: 1000, heldBytes: 0, delivery: undefined }, () => {})
    const cut = new FakeSocket()
    other.follow(() => cut)
    other.cut()
    expect(other.settle(1000)).toBe(true)
    expect(cut.done).toEqual(['reset'])
  })

  test('written bytes count as delivered without delivery tracking', () => {
    const blind = new Delivery({ written: 1000, heldBytes: 0, delivery: undefined }, () => {})
    expect([blind.settle(1000), blind.shown()]).toEqual([true, 1000])
  })
})

describe('datagrams in the connection of a client', () => {
  const subject = { kind: 'subuser', id: 'a', pool: 'p' } as const
  /** Five capsules of 90 bytes of payload, each 100 bytes of the connection, behind an answer of 50 bytes. */
  function open(acknowledged: number, sent: number) {
    const socket = new FakeSocket()
    socket.now = { ...socket.now, acknowledged, sent }
    const end = { written: 50, heldBytes: 0, delivery: undefined }
    const delivery = new Delivery(end, () => {})
    delivery.follow(() => socket)
    const allowance = new ByteAllowance(
      subject,
      () => {},
      () => 0,
    )
    allowance.allow(10_000)
    const meter = new CapsuleMeter(allowance, end, delivery, undefined, 'owner', () => {})
    for (let count = 0; count < 5; count += 1) {
      allowance.takeWhole(90)
      end.written += 100
      meter.noteWritten(90)
    }
    return { socket, delivery, meter, allowance }
  }

  test('a datagram is billed once its capsule is acknowledged whole, by its payload', () => {
    const { socket, meter, allowance } = open(349, 550)
    expect(meter.confirm()).toBe(180)
    socket.now = { ...socket.now, acknowledged: 350 }
    expect([meter.confirm(), meter.confirm(), allowance.counted.received]).toEqual([90, 0, 270])
  })

  test('datagrams that a client breaks off without acknowledging are lost, not billed', () => {
    const { socket, delivery, meter, allowance } = open(150, 450)
    socket.now = { ...socket.now, isOver: true }
    delivery.settle(0)
    expect([meter.confirm(), meter.lost, meter.undelivered]).toEqual([90, 270, 360])
    expect([meter.countLost(100), allowance.counted.received]).toEqual([100, 190])
  })
})
