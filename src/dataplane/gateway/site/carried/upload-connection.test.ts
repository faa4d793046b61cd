import { expect, test } from 'bun:test'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import { FairBudget } from '../fair-budget.ts'
import { UploadConnection } from './upload-connection.ts'

const kilobytes = (count: number): Uint8Array => new Uint8Array(count * 1024)

function open(room = new FairBudget({ all: 8 * 1024, ofPrefix: 4 * 1024 })) {
  const turns: (() => void)[] = []
  const takeTurn = (): void => turns.shift()?.()
  const seen: string[] = []
  const owner: TlsOwner = {
    onSocketData: (bytes) => void seen.push(`${bytes.length}`),
    onSocketDrain: () => void seen.push('drain'),
    onSocketEnd: () => void seen.push('end'),
    onSocketClose: () => void seen.push('close'),
  }
  const calls: string[] = []
  const tls: TlsSocket = {
    owner,
    isClosed: false,
    source: '203.0.113.1',
    fd: -1,
    protocol: 'http/1.1',
    serverName: undefined,
    handshakeBytes: 0,
    overhead: 0,
    write: (bytes) => bytes.length,
    shutdown() {},
    end() {},
    terminate() {
      calls.push('terminate')
      connection.onSocketClose()
    },
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    setNoDelay() {},
  }
  const connection = new UploadConnection(tls, room, (_, act) => {
    turns.push(act)
    return () => void turns.splice(turns.indexOf(act), 1)
  })
  return { connection, seen, calls, room, turns, takeTurn }
}

test('an upload connection passes on what came before a reset, and the close after it', () => {
  const { connection, seen } = open()
  connection.pause()
  connection.readAhead('one')
  connection.onSocketData(kilobytes(1))
  connection.onSocketEnd()
  connection.onSocketClose()
  expect([seen, connection.isClosed, connection.write(kilobytes(1))]).toEqual([['drain'], false, 1024])
  connection.resume()
  expect([seen, connection.isClosed]).toEqual([['drain', '1024', 'end', 'close'], true])
})

test('an upload connection that its owner pauses within the bytes keeps the rest until it is resumed', () => {
  const { connection, seen } = open()
  connection.owner = {
    onSocketData: (bytes) => {
      seen.push(`${bytes.length}`)
      connection.pause()
    },
    onSocketDrain() {},
    onSocketEnd() {},
    onSocketClose: () => void seen.push('close'),
  }
  connection.pause()
  connection.readAhead('one')
  for (const size of [1, 2]) connection.onSocketData(kilobytes(size))
  connection.onSocketClose()
  connection.resume()
  expect(seen).toEqual(['1024'])
  connection.resume()
  expect(seen).toEqual(['1024', '2048', 'close'])
})

test('a paused upload connection reads only for a customer, and at most 4 KiB of one and 8 KiB of all', () => {
  const { connection, calls, room } = open()
  connection.pause()
  expect(calls).toEqual(['pause'])
  connection.readAhead('one')
  for (const size of [2, 2]) connection.onSocketData(kilobytes(size))
  expect([calls, room.bytes]).toEqual([['pause', 'resume'], 4096])
  connection.onSocketData(kilobytes(1))
  expect([calls, room.bytes]).toEqual([['pause', 'resume', 'pause'], 4096])
  const other = open(room)
  other.connection.pause()
  other.connection.readAhead('two')
  other.connection.onSocketData(kilobytes(4))
  expect(room.bytes).toBe(8192)
  connection.resume()
  other.connection.terminate()
  expect([room.bytes, calls.at(-1), other.seen]).toEqual([0, 'resume', ['close']])
})

test('the device that holds most of a full room loses its oldest connection for a newcomer', () => {
  const { room, seen, ...first } = open(new FairBudget({ all: 8 * 1024, ofPrefix: 6 * 1024 }))
  const [second, newcomer] = [open(room), open(room)]
  for (const { connection } of [first, second]) {
    connection.pause()
    connection.readAhead('one')
    connection.onSocketData(kilobytes(3))
  }
  newcomer.connection.pause()
  newcomer.connection.readAhead('two')
  newcomer.connection.onSocketData(kilobytes(4))
  expect([seen, second.seen, newcomer.seen, room.bytes]).toEqual([['close'], [], [], 7 * 1024])
  expect(newcomer.calls).toEqual(['pause', 'resume'])
})

test('100,000 parts of one byte take at most two bytes each, and come in joined parts, 64 KiB in a turn, before the close', () => {
  const { connection, seen, room, turns, takeTurn } = open(new FairBudget({ all: 1 << 20, ofPrefix: 1 << 20 }))
  let received = 0
  connection.owner = {
    onSocketData: (bytes) => {
      if (bytes.some((byte, at) => byte !== (received + at) % 251)) throw new Error('another order')
      received += bytes.length
    },
    onSocketDrain() {},
    onSocketEnd: () => void seen.push(`end after ${received}`),
    onSocketClose: () => void seen.push('close'),
  }
  connection.pause()
  connection.readAhead('one')
  for (let at = 0; at < 100_000; at += 1) connection.onSocketData(Uint8Array.of(at % 251))
  expect(room.bytes).toBeLessThan(200_000)
  connection.onSocketEnd()
  connection.onSocketClose()
  connection.resume()
  expect([received < 90_000, turns.length, seen]).toEqual([true, 1, []])
  takeTurn()
  expect([received, turns.length, seen, room.bytes]).toEqual([100_000, 0, ['end after 100000', 'close'], 0])
})

test('an upload connection without room reads no more while it delivers in turns', () => {
  const { connection, calls, turns, takeTurn, seen } = open()
  connection.pause()
  connection.onSocketData(kilobytes(70))
  connection.onSocketData(kilobytes(10))
  connection.resume()
  expect([seen, turns.length, calls]).toEqual([['71680'], 1, ['pause']])
  takeTurn()
  expect([seen, calls]).toEqual([
    ['71680', '10240'],
    ['pause', 'resume'],
  ])
})

test('an upload connection that is terminated after its client’s reset closes at once', () => {
  const { connection, seen, calls } = open()
  connection.pause()
  connection.onSocketData(kilobytes(1))
  connection.onSocketClose()
  connection.terminate()
  expect([seen, calls]).toEqual([['drain', 'close'], ['pause']])
})
