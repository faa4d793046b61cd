import { expect, test } from 'bun:test'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import { ReadAheadRoom, UploadConnection } from './upload-connection.ts'

const kilobytes = (count: number): Uint8Array => new Uint8Array(count * 1024)

function open(room = new ReadAheadRoom({ all: 8 * 1024, ofDevice: 4 * 1024 })) {
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
  const connection = new UploadConnection(tls, room)
  return { connection, seen, calls, room }
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
  for (const size of [3, 1]) connection.onSocketData(kilobytes(size))
  expect([calls, room.bytes]).toEqual([['pause', 'resume'], 4096])
  connection.onSocketData(kilobytes(1))
  expect([calls, room.bytes]).toEqual([['pause', 'resume', 'pause'], 4096])
  const other = open(room)
  other.connection.pause()
  other.connection.readAhead('two')
  other.connection.onSocketData(kilobytes(4))
  expect(room.bytes).toBe(8192)
  const third = open(room)
  third.connection.pause()
  third.connection.readAhead('three')
  third.connection.onSocketData(kilobytes(1))
  expect(third.calls).toEqual(['pause', 'resume', 'pause'])
  connection.resume()
  other.connection.terminate()
  expect([room.bytes, calls.at(-1), other.seen]).toEqual([0, 'resume', ['close']])
})

test('an upload connection that is terminated after its client’s reset closes at once', () => {
  const { connection, seen, calls } = open()
  connection.pause()
  connection.onSocketData(kilobytes(1))
  connection.onSocketClose()
  connection.terminate()
  expect([seen, calls]).toEqual([['drain', 'close'], ['pause']])
})
