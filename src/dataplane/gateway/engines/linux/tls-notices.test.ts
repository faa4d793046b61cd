import { expect, test } from 'bun:test'
import { HandTime } from '../../../../../test/harness/hand-time.ts'
import { NoticeBatch, noticeMs, type TlsNotices } from './tls-notices.ts'

function openBatch() {
  const time = new HandTime()
  const posted: TlsNotices[] = []
  const batch = new NoticeBatch({ after: time.after, now: time.clock, post: (notices) => posted.push(notices) })
  return { time, posted, batch }
}

test('notices of 25 ms are one message, and a timer ends the wait of a thread without other work', () => {
  const { time, posted, batch } = openBatch()
  const begun = { id: 1, descriptor: 7, source: '127.0.0.1' }
  batch.noteBegun(begun)
  batch.noteShaken(1)
  batch.noteAdmitted('127.0.0.1')
  batch.flush()
  time.pass(noticeMs - 1)
  batch.noteShaken(2)
  batch.noteGone(1)
  batch.flush()
  expect([posted, time.timers]).toEqual([[], 1])
  time.pass(1)
  expect(time.timers).toBe(0)
  batch.flush()
  expect(posted).toEqual([{ type: 'notices', begun: [begun], shaken: [1, 2], gone: [1], admitted: ['127.0.0.1'] }])
  batch.flush()
  expect([posted.length, time.timers]).toEqual([1, 0])
})

test('256 notices are posted at the end of their turn, and none twice', () => {
  const { time, posted, batch } = openBatch()
  for (let id = 0; id < 128; id += 1) {
    batch.noteShaken(id)
    batch.noteGone(id)
  }
  batch.flush()
  batch.noteGone(128)
  time.pass(noticeMs)
  batch.flush()
  expect(posted.map(({ shaken, gone }) => [shaken.length, gone.length])).toEqual([
    [128, 128],
    [0, 1],
  ])
})
