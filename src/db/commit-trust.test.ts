import { expect, test } from 'bun:test'
import { CommitTrust } from './commit-trust.ts'

const start = () => {
  const clock = { now: 0 }
  return { clock, trust: new CommitTrust(50, () => clock.now) }
}

test('a commit of 50 ms is trusted, and one of 51 ms and those of the 2 s after it are not', () => {
  const { clock, trust } = start()
  const quick = trust.sent()
  clock.now = 50
  expect(quick()).toBeTrue()
  const slow = trust.sent()
  clock.now = 101
  expect(slow()).toBeFalse()
  clock.now = 2_100
  expect(trust.sent()()).toBeFalse()
  clock.now = 2_101
  expect(trust.sent()()).toBeTrue()
})

test('a commit that is answered at once is not trusted while an older one has waited for 51 ms', () => {
  const { clock, trust } = start()
  const older = trust.sent()
  clock.now = 51
  expect(trust.sent()()).toBeFalse()
  expect(older()).toBeFalse()
})

test('a slow commit on a server without synchronous standbys is trusted for 10 s', () => {
  const { clock, trust } = start()
  trust.isPlain()
  const slow = trust.sent()
  clock.now = 9_999
  expect(slow()).toBeTrue()
  const later = trust.sent()
  clock.now = 10_051
  expect(later()).toBeFalse()
})
