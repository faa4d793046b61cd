import { expect, test } from 'bun:test'
import { ReactorCounts } from './counts.ts'
import { makeMemory, viewMemory } from './shared-memory.ts'

const openCounts = (threads = 1) =>
  new ReactorCounts(
    Array.from({ length: threads }, () => ({ memory: viewMemory(makeMemory()) })),
    () => {},
  )

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

test('ReactorCounts adds counts after the death of a reactor to those that it had reported', () => {
  const counts = openCounts()
  counts.take(0, countsMessage(100, 10))
  counts.take(0, countsMessage(200, 20, 33))
  expect(counts.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 200, sent: 20 }],
    subusers: [{ id: 'sub', pool: 'mobile', received: 200, sent: 20 }],
    hosts: [{ host: 'a.example', received: 200, sent: 20 }],
  })
  expect(counts.noteRequest('sub', 'mobile')).toBe(33)
  expect(counts.countedBefore('sub', 'mobile')).toBe(0)
  counts.noteDeath(0)
  expect(counts.takeChanged().proxies).toEqual([])
  expect(counts.noteRequest('sub', 'mobile')).toBe(0)
  expect(counts.countedBefore('sub', 'mobile')).toBe(220)
  counts.take(0, countsMessage(1, 2))
  expect(counts.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 201, sent: 22 }],
    subusers: [{ received: 201, sent: 22 }],
    hosts: [{ received: 201, sent: 22 }],
  })
})

test('ReactorCounts keeps counts that a reactor reported just before its death', () => {
  const counts = openCounts()
  counts.take(0, countsMessage(100, 10))
  counts.noteDeath(0)
  expect(counts.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 100, sent: 10 }],
    subusers: [{ received: 100, sent: 10 }],
  })
  expect(counts.takeSources()).toEqual([{ id: 'sub', address: '192.0.2.1' }])
  expect(counts.takeSources()).toEqual([])
})

test('ReactorCounts sums the counts of 3 reactors, and a death changes no sum', () => {
  const counts = openCounts(3)
  counts.take(0, countsMessage(100, 1, 10))
  counts.take(1, countsMessage(200, 2, 20))
  counts.take(2, countsMessage(400, 4, 40))
  expect(counts.takeChanged().proxies).toEqual([{ id: 7, received: 700, sent: 7 }])
  expect(counts.noteRequest('sub', 'mobile')).toBe(70)
  expect(counts.paceOf('sub', 'mobile')).toBe(15)
  counts.noteDeath(1)
  expect(counts.noteRequest('sub', 'mobile')).toBe(50)
  counts.take(1, countsMessage(1000, 0))
  counts.take(2, countsMessage(500, 5))
  expect(counts.takeChanged().subusers).toMatchObject([{ received: 1800, sent: 8 }])
})
