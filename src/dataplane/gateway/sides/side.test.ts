import { expect, test } from 'bun:test'
import { ignoringOwner, Side } from './side.ts'
import type { SideSocket } from './side-socket.ts'

test('a side copies the bytes that its socket did not take: the next read overwrites the buffer', () => {
  let room = 3
  let text = ''
  const socket = {
    localPort: 0,
    write(bytes: Uint8Array) {
      const taken = bytes.subarray(0, room)
      text += Buffer.from(taken).toString('latin1')
      return taken.length
    },
    shutdown() {},
    end() {},
    terminate() {},
    pause() {},
    resume() {},
    setNoDelay() {},
  } satisfies SideSocket
  const side = new Side(ignoringOwner, { after: () => () => {}, noteHeld() {} })
  side.attach(socket)
  const borrowed = Buffer.from('hello', 'latin1')
  expect(side.write(borrowed)).toBe(false)
  borrowed.fill(0)
  room = 10
  side.onSocketDrain()
  expect([text, side.heldBytes]).toEqual(['hello', 0])
})
