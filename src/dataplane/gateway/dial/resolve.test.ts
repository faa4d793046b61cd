import { expect, test } from 'bun:test'
import { HandTiming, settle } from '../../../../test/harness/hand-timing.ts'
import { formatAddress } from '../../../core/address.ts'
import { createTokenBuckets } from '../../../core/token-buckets.ts'
import { rateOf } from '../access/limits.ts'
import { createResolve, type Lookup, type Resolve } from './resolve.ts'

/** A resolver with a hand clock. It records each lookup and returns the given answer. */
function byHand(answer: Lookup, namesPerSecond = 1000) {
  const clock = { nowMs: 0 }
  const timing = new HandTiming()
  const lookups: string[] = []
  const resolve = createResolve({
    clock: () => clock.nowMs,
    after(ms, act) {
      const end = new AbortController()
      void timing.pause(ms, end.signal).then(() => end.signal.aborted || act())
      return () => end.abort()
    },
    questions: createTokenBuckets(rateOf(namesPerSecond), () => clock.nowMs),
    lookup: (name, version) => {
      lookups.push(`${name} ${version}`)
      return answer(name, version)
    },
  })
  return { clock, timing, lookups, resolve }
}

const failing = (code: string) => Object.assign(new Error('no'), { code })
const resolveText = async (resolve: Resolve, name: string, version: 4 | 6 = 4, owner = 'anna'): Promise<string> => {
  const resolved = await resolve(name, version, owner)
  return 'refusal' in resolved ? resolved.refusal : resolved.addresses.map((each) => formatAddress(each)).join(' ')
}
const one =
  (address: string, ttl = 60): Lookup =>
  async () => [{ address, ttl }]

test('the resolver caches an answer for its TTL, at least 5 s and at most 300 s', async () => {
  for (const [ttl, seconds] of [
    [60, 60],
    [0, 5],
    [1, 5],
    [86_400, 300],
  ] as const) {
    const { clock, lookups, resolve } = byHand(one('192.0.2.1', ttl))
    await resolveText(resolve, 'a.example')
    clock.nowMs = seconds * 1000 - 1
    expect(await resolveText(resolve, 'a.example')).toBe('192.0.2.1')
    expect(lookups).toHaveLength(1)
    clock.nowMs = seconds * 1000
    await resolveText(resolve, 'a.example')
    expect(lookups).toHaveLength(2)
  }
})

test('the resolver caches a name with several addresses for the shortest TTL', async () => {
  const { clock, lookups, resolve } = byHand(async () => [
    { address: '192.0.2.1', ttl: 100 },
    { address: '192.0.2.2', ttl: 10 },
  ])
  expect(await resolveText(resolve, 'a.example')).toBe('192.0.2.1 192.0.2.2')
  clock.nowMs = 10_000
  await resolveText(resolve, 'a.example')
  expect(lookups).toHaveLength(2)
})

test('the resolver looks up the IPv4 and the IPv6 addresses of a name separately', async () => {
  const { lookups, resolve } = byHand(async (_, version) => [
    { address: version === 4 ? '192.0.2.1' : '2001:db8::1', ttl: 9 },
  ])
  expect(await resolveText(resolve, 'a.example', 4)).toBe('192.0.2.1')
  expect(await resolveText(resolve, 'a.example', 6)).toBe('2001:db8::1')
  expect(lookups).toEqual(['a.example 4', 'a.example 6'])
})

test.each([
  ['name_not_found', async () => Promise.reject(failing('ENOTFOUND'))],
  ['name_not_found', async () => Promise.reject(failing('DNS_ENODATA'))],
  ['name_not_found', async () => []],
  ['name_not_found', one('not an address')],
  ['resolver_failed', async () => Promise.reject(failing('ESERVFAIL'))],
  ['resolver_failed', async () => Promise.reject(failing('ECONNREFUSED'))],
] as [string, Lookup][])(
  'the resolver answers %s to a failed lookup and caches it for 5 s',
  async (refusal, answer) => {
    const { clock, lookups, resolve } = byHand(answer)
    expect(await resolveText(resolve, 'a.example')).toBe(refusal)
    clock.nowMs = 4999
    expect(await resolveText(resolve, 'a.example')).toBe(refusal)
    expect(lookups).toHaveLength(1)
    clock.nowMs = 5000
    await resolveText(resolve, 'a.example')
    expect(lookups).toHaveLength(2)
  },
)

test('50 requests for one name at the same time are one lookup, and count once for the rate limit', async () => {
  const { promise, resolve: answer } = Promise.withResolvers<{ address: string; ttl: number }[]>()
  const { lookups, resolve } = byHand(() => promise, 1)
  const all = Array.from({ length: 50 }, () => resolveText(resolve, 'a.example'))
  await settle()
  answer([{ address: '192.0.2.1', ttl: 1 }])
  expect(new Set(await Promise.all(all))).toEqual(new Set(['192.0.2.1']))
  expect(lookups).toHaveLength(1)
})

test('namesPerSecond=2 limits each customer to 4 lookups at once, then one per 500 ms, without cached names', async () => {
  const { clock, resolve } = byHand(one('192.0.2.1', 300), 2)
  for (const name of ['a', 'b', 'c', 'd']) expect(await resolveText(resolve, `${name}.example`)).toBe('192.0.2.1')
  expect(await resolveText(resolve, 'e.example')).toBe('too_many_names')
  expect(await resolveText(resolve, 'a.example')).toBe('192.0.2.1')
  expect(await resolveText(resolve, 'e.example', 4, 'boris')).toBe('192.0.2.1')
  expect(await resolveText(resolve, 'f.example')).toBe('too_many_names')
  clock.nowMs = 500
  expect(await resolveText(resolve, 'f.example')).toBe('192.0.2.1')
})

test('the resolver answers localhost and .invalid names without a lookup', async () => {
  const { lookups, resolve } = byHand(one('192.0.2.66'), 1)
  for (let index = 0; index < 5; index += 1) {
    expect(await resolveText(resolve, 'localhost', 4)).toBe('127.0.0.1')
    expect(await resolveText(resolve, `n${index}.localhost`, 6)).toBe('::1')
    expect(await resolveText(resolve, `n${index}.invalid`)).toBe('name_not_found')
  }
  expect(lookups).toEqual([])
  expect(await resolveText(resolve, 'notlocalhost')).toBe('192.0.2.66')
  expect(await resolveText(resolve, 'localhost.example')).toBe('192.0.2.66')
})

test('a lookup without an answer fails after 2 s and delays no other name', async () => {
  const { resolve, timing } = byHand((name) =>
    name === 'slow.example' ? new Promise(() => {}) : one('192.0.2.1')(name, 4),
  )
  let seen = ''
  const slow = resolveText(resolve, 'slow.example').then((answer) => (seen = answer))
  expect(await resolveText(resolve, 'fast.example')).toBe('192.0.2.1')
  await timing.advance(1999)
  expect(seen).toBe('')
  await timing.advance(1)
  expect(await slow).toBe('resolver_failed')
})

test('the resolver has at most 500 lookups in flight and refuses further ones with resolver_failed', async () => {
  const { promise, resolve: answer } = Promise.withResolvers<{ address: string; ttl: number }[]>()
  const { lookups, resolve } = byHand(() => promise)
  const all = Array.from({ length: 510 }, (_, index) => resolveText(resolve, `n${index}.example`))
  await settle()
  answer([{ address: '192.0.2.1', ttl: 60 }])
  const seen = await Promise.all(all)
  expect(seen.filter((each) => each === 'resolver_failed')).toHaveLength(10)
  expect(lookups).toHaveLength(500)
  expect(await resolveText(resolve, 'n509.example')).toBe('192.0.2.1')
})
