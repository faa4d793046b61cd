import { expect, test } from 'bun:test'
import { ReactorCounts } from './counts.ts'
import type { ToReactor } from './messages.ts'
import { makeMemory, viewMemory } from './shared-memory.ts'

function openCounts() {
  const posted: ToReactor[] = []
  const counts = new ReactorCounts({ memory: viewMemory(makeMemory()), post: (message) => void posted.push(message) })
  const leaseOf = () => {
    counts.allow('sub', 'mobile', 1000)
    return { moving: counts.noteRequest('sub', 'mobile'), posted: posted.at(-1) }
  }
  return { counts, leaseOf }
}

const countsMessage = (received: number, sent: number, moving = 0) => ({
  type: 'counts' as const,
  counts: {
    proxies: [{ id: 7, received, sent }],
    subusers: [{ id: 'sub', pool: 'mobile', received, sent }],
    hosts: [{ id: 'sub', pool: 'mobile', host: 'a.example', received, sent }],
    peers: [],
  },
  leased: [{ id: 'sub', pool: 'mobile', moving, pace: 5 }],
  sources: [{ id: 'sub', address: '192.0.2.1' }],
  isUrgent: false,
})

test('ReactorCounts adds counts after the death of a reactor, and reduces leases by the bytes it had counted', () => {
  const { counts, leaseOf } = openCounts()
  counts.take(countsMessage(100, 10))
  counts.take(countsMessage(200, 20, 33))
  expect(counts.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 200, sent: 20 }],
    subusers: [{ id: 'sub', pool: 'mobile', received: 200, sent: 20 }],
    hosts: [{ host: 'a.example', received: 200, sent: 20 }],
  })
  expect(leaseOf()).toEqual({
    moving: 33,
    posted: { type: 'allow', id: 'sub', pool: 'mobile', upto: 1000 },
  })
  counts.noteDeath()
  expect(counts.takeChanged().proxies).toEqual([])
  expect(leaseOf()).toEqual({
    moving: 0,
    posted: { type: 'allow', id: 'sub', pool: 'mobile', upto: 780 },
  })
  counts.take(countsMessage(1, 2))
  expect(counts.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 201, sent: 22 }],
    subusers: [{ received: 201, sent: 22 }],
    hosts: [{ received: 201, sent: 22 }],
  })
})

test('ReactorCounts keeps counts that a reactor reported just before its death', () => {
  const { counts } = openCounts()
  counts.take(countsMessage(100, 10))
  counts.noteDeath()
  expect(counts.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 100, sent: 10 }],
    subusers: [{ received: 100, sent: 10 }],
  })
  expect(counts.takeSources()).toEqual([{ id: 'sub', address: '192.0.2.1' }])
  expect(counts.takeSources()).toEqual([])
})
