import { describe, expect, test } from 'bun:test'
import { someProxy } from '../../../test/harness/desired.ts'
import { HandTiming, quietLog, recordingLog, settle } from '../../../test/harness/hand-timing.ts'
import type { FindBody, Found } from '../../node-protocol/state.ts'
import { askShop, CredentialLookup } from './ask.ts'
import { LinkError } from './shop-link.ts'
import { Snapshot } from './snapshot.ts'

const none: Found = { proxy: null, subuser: null }
const proxy: Found = {
  subuser: null,
  proxy: {
    id: 1,
    username: 'known',
    digest: 'a'.repeat(64),
    port_type: 'http',
    leave_from: '192.0.2.1',
    sources: [],
    entry_port: null,
    expires_at: 1,
    state: 'active',
    withdrawn: false,
    owner: 'a'.repeat(16),
  },
}

function open(find: (body: FindBody) => Promise<Found>) {
  const timing = new HandTiming()
  const requests: FindBody[] = []
  const lookup = new CredentialLookup({
    now: timing.now,
    log: quietLog,
    link: {
      find(body) {
        requests.push(body)
        return find(body)
      },
    },
  })
  return { timing, requests, lookup }
}

describe('credential lookups of the node', () => {
  test('the node repeats a lookup once when the shop is unreachable', async () => {
    let failures = 1
    const { lookup, requests } = open(async () => {
      if (failures-- > 0) throw new LinkError('unreachable', 'answered 502', 502)
      return proxy
    })
    expect(await lookup.find({ username: 'known' }, 'a')).toMatchObject({ outcome: 'found' })
    expect(requests).toHaveLength(2)
    failures = 10
    expect(await lookup.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unanswered', why: 'unreachable' })
    expect(requests).toHaveLength(4)
  })

  test('the node does not repeat a lookup that failed after more than 500 ms or was refused with 401', async () => {
    const { lookup, requests, timing } = open(async () => {
      timing.spend(2_000)
      throw new LinkError('unreachable', 'no answer in time')
    })
    expect(await lookup.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unanswered', why: 'unreachable' })
    expect(requests).toHaveLength(1)
    const refused = open(() => Promise.reject(new LinkError('refused', 'answered 401', 401)))
    await refused.lookup.find({ username: 'known' }, 'a')
    expect(refused.requests).toHaveLength(1)
  })

  test('100 equal lookups at the same time share one request to the shop and its answer', async () => {
    const { lookup, requests } = open(async () => proxy)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => lookup.find({ username: 'known' }, `${index}`)),
    )
    expect(requests).toHaveLength(1)
    expect(answers.every((each) => each.outcome === 'found')).toBe(true)
  })

  test('the node does not cache a found credential: a second lookup is a second request', async () => {
    const { lookup, requests } = open(async () => proxy)
    await lookup.find({ username: 'known' }, 'a')
    await lookup.find({ username: 'known' }, 'a')
    expect(requests).toHaveLength(2)
  })

  test('the node caches an unknown source address for 2 s', async () => {
    const { lookup, requests, timing } = open(async () => none)
    const question = { source: '192.0.2.1', port: 80 }
    expect(await lookup.find(question, 'a')).toEqual({ outcome: 'none' })
    await timing.advance(1_999)
    expect(await lookup.find(question, 'a')).toEqual({ outcome: 'none' })
    expect(requests).toHaveLength(1)
    await timing.advance(1)
    await lookup.find(question, 'a')
    expect(requests).toHaveLength(2)
  })

  test('300 lookups of one name send 200 requests to the shop, whether the name is known or unknown', async () => {
    for (const found of [none, proxy]) {
      const { lookup, requests } = open(async () => found)
      for (let index = 0; index < 300; index += 1) await lookup.find({ username: 'known' }, 'a')
      expect(requests).toHaveLength(200)
      expect(await lookup.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unanswered', why: 'limited' })
    }
  })

  test('a user name that looks like the cache key of a source address is a separate lookup', async () => {
    const { lookup, requests } = open(async () => none)
    await lookup.find({ source: '192.0.2.1', port: 80 }, 'a')
    await lookup.find({ source: '192.0.2.1', port: 81 }, 'a')
    await lookup.find({ username: '80 192.0.2.1' }, 'a')
    expect(requests).toHaveLength(3)
  })

  test('one source may send 200 lookups at once and then 100 a second, and other sources are not limited by it', async () => {
    const { lookup, requests, timing } = open(async () => none)
    for (let index = 0; index < 300; index += 1) await lookup.find({ username: `g${index}` }, 'guesser')
    expect(requests).toHaveLength(200)
    expect(await lookup.find({ username: 'more' }, 'guesser')).toEqual({ outcome: 'unanswered', why: 'limited' })
    expect(await lookup.find({ username: 'more' }, 'honest')).toEqual({ outcome: 'none' })
    await timing.advance(1_000)
    for (let index = 0; index < 300; index += 1) await lookup.find({ username: `h${index}` }, 'guesser')
    expect(requests).toHaveLength(301)
  })

  test('all sources together may send 2,000 lookups at once and then 1,000 a second', async () => {
    const { lookup, requests, timing } = open(async () => none)
    for (let index = 0; index < 30_000; index += 1) await lookup.find({ username: `g${index}` }, `s${index}`)
    expect(requests).toHaveLength(2000)
    await timing.advance(1_000)
    for (let index = 0; index < 3_000; index += 1) await lookup.find({ username: `h${index}` }, `s${index}`)
    expect(requests).toHaveLength(3000)
  })

  test('the node has at most 256 lookups in flight', async () => {
    const { lookup, requests } = open(() => new Promise<Found>(() => {}))
    const last = Array.from({ length: 300 }, (_, index) => lookup.find({ username: `g${index}` }, `s${index}`)).at(-1)
    expect(await last).toEqual({ outcome: 'unanswered', why: 'limited' })
    expect(requests).toHaveLength(256)
  })

  test('an unreachable shop is not cached as an unknown credential', async () => {
    let isUnreachable = true
    const { lookup } = open(async () => {
      if (isUnreachable) throw new LinkError('unreachable', 'away')
      return proxy
    })
    expect(await lookup.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unanswered', why: 'unreachable' })
    isUnreachable = false
    expect((await lookup.find({ username: 'known' }, 'a')).outcome).toBe('found')
  })

  test('a lookup that the schema rejects is answered with none and not sent to the shop', async () => {
    const { lookup, requests } = open(async () => proxy)
    for (const username of ['', 'x'.repeat(256)])
      expect(await lookup.find({ username }, 'a')).toEqual({ outcome: 'none' })
    expect(requests).toEqual([])
  })

  test('the node logs a failed lookup at most once a minute, with the number of suppressed entries', async () => {
    const { entries, log } = recordingLog()
    const timing = new HandTiming()
    const link = { find: async () => Promise.reject(new LinkError('unreachable', 'away')) }
    const lookup = new CredentialLookup({ now: timing.now, log, link })
    for (let index = 0; index < 30; index += 1) await lookup.find({ username: `u${index}` }, 'a')
    await timing.advance(60_000)
    await lookup.find({ username: 'u' }, 'a')
    await settle()
    expect(entries.map((each) => each.fields['times_unsaid'])).toEqual([undefined, 29])
  })
})

test('askShop repeats a lookup when a page arrives during it, because the page may be older than the answer', async () => {
  const snapshot = new Snapshot()
  const bought = someProxy({ username: 'tp7', port_type: 'http' })
  const changed = { ...bought, port_type: 'socks' as const }
  let lookups = 0
  const find = async () => {
    lookups += 1
    // The shop has read this page before the protocol was changed.
    if (lookups === 1) snapshot.apply({ proxies: [bought], subusers: [], exits: [] })
    return { outcome: 'found' as const, found: { proxy: changed, subuser: null } }
  }
  expect(await askShop(snapshot, { find })({ username: 'tp7' }, '192.0.2.1')).toBe('answered')
  expect([snapshot.proxies.get('tp7')?.port_type, lookups]).toEqual(['socks', 2])
})

test('askShop looks a credential up once when a page that says the same arrives during the lookup', async () => {
  const snapshot = new Snapshot()
  const bought = someProxy({ username: 'tp7' })
  let lookups = 0
  const find = async () => {
    lookups += 1
    snapshot.apply({ proxies: [bought], subusers: [], exits: [] })
    return { outcome: 'found' as const, found: { proxy: { ...bought }, subuser: null } }
  }
  expect(await askShop(snapshot, { find })({ username: 'tp7' }, '192.0.2.1')).toBe('answered')
  expect([snapshot.proxies.get('tp7'), lookups]).toEqual([bought, 1])
})

test('askShop stops after 3 lookups while pages keep arriving, and keeps the last page', async () => {
  const snapshot = new Snapshot()
  const bought = someProxy({ username: 'tp7' })
  let lookups = 0
  const find = async () => {
    lookups += 1
    snapshot.apply({ proxies: [{ ...bought, expires_at: lookups }], subusers: [], exits: [] })
    return { outcome: 'found' as const, found: { proxy: bought, subuser: null } }
  }
  expect(await askShop(snapshot, { find })({ username: 'tp7' }, '192.0.2.1')).toBe('answered')
  expect([snapshot.proxies.get('tp7')?.expires_at, lookups]).toEqual([3, 3])
})
