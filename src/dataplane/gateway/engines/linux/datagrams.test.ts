import { beforeEach, describe, expect, test } from 'bun:test'
import { until } from '../../../../../test/harness/until.ts'
import { type Address, readAddress } from '../../../../core/address.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import { Kernel } from '../../system/kernel.ts'
import { type Libc, openLibc } from '../../system/libc.ts'
import { EAGAIN, EINTR, EMSGSIZE, ENOBUFS } from '../../system/numbers.ts'
import type { Processor } from '../../system/structures.ts'
import { DatagramBatch } from './datagrams.ts'

const loopback = readAddress('127.0.0.1') as Address
const nothing = new Uint8Array(0)
const real = openLibc()

describe('batches of datagrams', () => {
  /** Outcomes of the next calls of sendmmsg: a number of datagrams, or a negative errno. */
  let outcomes: number[]
  let asked: number[]
  let settled: string[]
  let libc: Libc

  beforeEach(() => {
    outcomes = []
    asked = []
    settled = []
    const errno = new Int32Array(1)
    libc = {
      ...real,
      errno,
      sendmmsg(_descriptor, _messages, count = 0) {
        asked.push(count)
        const outcome = outcomes.shift() ?? count
        errno[0] = Math.max(0, -outcome)
        return outcome < 0 ? -1 : outcome
      },
    }
  })
  const receiptOf = (name: string): DatagramReceipt => ({
    settle: (bytes, isTaken) => void settled.push(`${name} ${bytes} ${isTaken ? 'taken' : 'not taken'}`),
  })

  /** Sends `count` datagrams of 1, 2, 3… bytes within one batch: while a received datagram is handled. */
  async function sendBatch(count: number): Promise<void> {
    const kernel = new Kernel(real, process.arch as Processor)
    const descriptor = kernel.openDatagrams(loopback, 0)
    const batch = new DatagramBatch(libc)
    const sender = await Bun.udpSocket({ hostname: '127.0.0.1' })
    sender.send('go', kernel.portOf(descriptor), '127.0.0.1')
    let isRead = false
    const take = (): void => {
      isRead = true
      for (let index = 1; index <= count; index += 1)
        batch.send(descriptor, nothing, new Uint8Array(index), loopback, 9, receiptOf(String(index)))
      expect(asked).toEqual([])
    }
    await until(() => {
      batch.read(descriptor, take, () => true)
      return isRead
    })
    kernel.close(descriptor)
    sender.close()
  }

  test('DatagramBatch sends a batch of 5 datagrams with one call, and settles each', async () => {
    await sendBatch(5)
    expect(asked).toEqual([5])
    expect(settled).toEqual([1, 2, 3, 4, 5].map((index) => `${index} ${index} taken`))
  })

  test('DatagramBatch tries the rest again after a partial call', async () => {
    outcomes = [2, -EINTR, 1]
    await sendBatch(5)
    expect(asked).toEqual([5, 3, 3, 2])
    expect(settled.filter((each) => each.endsWith(' taken') && !each.includes('not'))).toHaveLength(5)
  })

  test.each([EAGAIN, ENOBUFS])(
    'DatagramBatch settles the rest of a batch as not taken at errno %d, a full buffer',
    async (errno) => {
      outcomes = [2, -errno]
      await sendBatch(4)
      expect(asked).toEqual([4, 2])
      expect(settled).toEqual(['1 1 taken', '2 2 taken', '3 3 not taken', '4 4 not taken'])
    },
  )

  test('DatagramBatch drops one datagram only at another error', async () => {
    outcomes = [1, -EMSGSIZE]
    await sendBatch(3)
    expect(asked).toEqual([3, 2, 1])
    expect(settled).toEqual(['1 1 taken', '2 2 not taken', '3 3 taken'])
  })

  test('DatagramBatch sends a datagram at once while no batch is read', () => {
    new DatagramBatch(libc).send(0, Uint8Array.of(1), nothing, loopback, 9, receiptOf('one'))
    expect([asked, settled]).toEqual([[1], ['one 0 taken']])
  })
})
