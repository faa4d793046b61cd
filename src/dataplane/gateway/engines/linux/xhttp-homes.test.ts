import { expect, test } from 'bun:test'
import { XhttpHomes } from './xhttp-homes.ts'
import type { PassedUpload, ToSessions } from './xhttp-uploads.ts'

function open() {
  const said: unknown[] = []
  const closed: number[] = []
  const running = new Set([0, 1, 2])
  const homes = new XhttpHomes({
    post: (reactor, { name, type }: ToSessions) =>
      void said.push(type === 'session-ended' ? [reactor, name, 'ended'] : [reactor, name]),
    give(reactor, upload: PassedUpload) {
      said.push([reactor, upload.descriptor])
      return running.has(reactor)
    },
    close: (descriptor) => void closed.push(descriptor),
  })
  const tell = (reactor: number, is: 'open' | 'sought' | 'left' | 'ended', name = 'a'): void =>
    homes.take(reactor, { type: 'session', name, is })
  const pass = (descriptor: number): void => homes.take(1, { type: 'upload', name: 'a', seq: 0, descriptor })
  return { homes, said, closed, running, tell, pass }
}

test('a reactor with waiting uploads gets a message when another opens the session, and at once if it is open', () => {
  const { homes, said, tell } = open()
  tell(1, 'sought')
  tell(2, 'sought')
  tell(2, 'left')
  expect(said).toEqual([])
  tell(0, 'open')
  tell(2, 'sought')
  tell(0, 'sought')
  expect(said).toEqual([
    [1, 'a'],
    [2, 'a'],
  ])
  tell(0, 'left')
  expect(homes.size).toBe(0)
})

test('an upload goes to the reactor of its session, and is closed if the session or the reactor has ended', () => {
  const { said, closed, running, tell, pass } = open()
  tell(0, 'open')
  pass(50)
  running.delete(0)
  pass(51)
  tell(0, 'left')
  pass(52)
  expect([said, closed]).toEqual([
    [
      [0, 50],
      [0, 51],
    ],
    [51, 52],
  ])
})

test('a reactor whose uploads come after the end of their session learns of the end at once', () => {
  const { homes, said, tell } = open()
  tell(0, 'open')
  tell(0, 'ended')
  tell(1, 'sought')
  expect(said).toEqual([[1, 'a', 'ended']])
  expect(homes.size).toBe(0)
  tell(2, 'open')
  tell(1, 'sought')
  expect(said.at(-1)).toEqual([1, 'a'])
})

test('the first of two reactors with a session of one name keeps it, and a reactor that dies leaves no entry', () => {
  const { homes, said, tell } = open()
  tell(0, 'open')
  tell(1, 'open')
  tell(1, 'left')
  tell(2, 'sought')
  expect(said).toEqual([[2, 'a']])
  tell(1, 'sought', 'b')
  homes.died(0)
  homes.died(1)
  expect(homes.size).toBe(0)
})
