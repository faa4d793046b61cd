import { expect, test } from 'bun:test'
import { createMirror } from './counts.ts'

const told = (received: number, sent: number, moving = 0) => ({
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

test("counts continue after a reactor's death, and limits are converted for its successor", () => {
  const mirror = createMirror()
  mirror.take(told(100, 10))
  mirror.take(told(200, 20, 33))
  expect(mirror.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 200, sent: 20 }],
    subusers: [{ id: 'sub', pool: 'mobile', received: 200, sent: 20 }],
    hosts: [{ host: 'a.example', received: 200, sent: 20 }],
  })
  expect({ moving: mirror.movingOf('sub', 'mobile'), upto: mirror.uptoOf('sub', 'mobile', 1000) }).toEqual({
    moving: 33,
    upto: 1000,
  })
  mirror.restart()
  expect(mirror.takeChanged().proxies).toEqual([])
  expect({ moving: mirror.movingOf('sub', 'mobile'), upto: mirror.uptoOf('sub', 'mobile', 1000) }).toEqual({
    moving: 0,
    upto: 780,
  })
  mirror.take(told(1, 2))
  expect(mirror.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 201, sent: 22 }],
    subusers: [{ received: 201, sent: 22 }],
    hosts: [{ received: 201, sent: 22 }],
  })
})

test("counts reported just before a reactor's death are kept", () => {
  const mirror = createMirror()
  mirror.take(told(100, 10))
  mirror.restart()
  expect(mirror.takeChanged()).toMatchObject({
    proxies: [{ id: 7, received: 100, sent: 10 }],
    subusers: [{ received: 100, sent: 10 }],
  })
  expect(mirror.takeSources()).toEqual([{ id: 'sub', address: '192.0.2.1' }])
  expect(mirror.takeSources()).toEqual([])
})
