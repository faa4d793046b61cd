import { describe, expect, test } from 'bun:test'
import { HandTiming, quietLog, recordingLog, settle } from '../../../test/harness/hand-timing.ts'
import type { FindBody, Found } from '../../node-protocol/state.ts'
import { CredentialLookup } from './ask.ts'
import { LinkError } from './shop-link.ts'

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
    owner: 'a'.repeat(16),
  },
}

function open(find: (body: FindBody) => Promise<Found>) {
  const timing = new HandTiming()
  const requests: FindBody[] = []
  const ask = new CredentialLookup({
    now: timing.now,
    log: quietLog,
    link: {
      find(body) {
        requests.push(body)
        return find(body)
      },
    },
  })
  return { timing, requests, ask }
}

describe('asking about a credential', () => {
  test('the node repeats a lookup once when the shop is unreachable', async () => {
    let failures = 1
    const { ask, requests } = open(async () => {
      if (failures-- > 0) throw new LinkError('unreachable', 'answered 502', 502)
      return proxy
    })
    expect(await ask.find({ username: 'known' }, 'a')).toMatchObject({ outcome: 'found' })
    expect(requests).toHaveLength(2)
    failures = 10
    expect(await ask.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unasked', why: 'unreachable' })
    expect(requests).toHaveLength(4)
  })

  test('a lookup is not repeated after 500 ms or after a refusal', async () => {
    const { ask, requests, timing } = open(async () => {
      timing.spend(2_000)
      throw new LinkError('unreachable', 'no answer in time')
    })
    expect(await ask.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unasked', why: 'unreachable' })
    expect(requests).toHaveLength(1)
    const refused = open(() => Promise.reject(new LinkError('refused', 'answered 401', 401)))
    await refused.ask.find({ username: 'known' }, 'a')
    expect(refused.requests).toHaveLength(1)
  })

  test('the same question asked at once is one request, and everybody hears the answer', async () => {
    const { ask, requests } = open(async () => proxy)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => ask.find({ username: 'known' }, `${index}`)),
    )
    expect(requests).toHaveLength(1)
    expect(answers.every((each) => each.outcome === 'found')).toBe(true)
  })

  test('a finding is not remembered, so looking afresh is possible', async () => {
    const { ask, requests } = open(async () => proxy)
    await ask.find({ username: 'known' }, 'a')
    await ask.find({ username: 'known' }, 'a')
    expect(requests).toHaveLength(2)
  })

  test('an unknown address is cached for 2 s', async () => {
    const { ask, requests, timing } = open(async () => none)
    const question = { source: '192.0.2.1', port: 80 }
    expect(await ask.find(question, 'a')).toEqual({ outcome: 'none' })
    await timing.advance(1_999)
    expect(await ask.find(question, 'a')).toEqual({ outcome: 'none' })
    expect(requests).toHaveLength(1)
    await timing.advance(1)
    await ask.find(question, 'a')
    expect(requests).toHaveLength(2)
  })

  test('an unknown name causes as many lookups as a known one', async () => {
    for (const found of [none, proxy]) {
      const { ask, requests } = open(async () => found)
      for (let index = 0; index < 300; index += 1) await ask.find({ username: 'known' }, 'a')
      expect(requests).toHaveLength(200)
      expect(await ask.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unasked', why: 'limited' })
    }
  })

  test('a name and an address that read alike are different questions', async () => {
    const { ask, requests } = open(async () => none)
    await ask.find({ source: '192.0.2.1', port: 80 }, 'a')
    await ask.find({ source: '192.0.2.1', port: 81 }, 'a')
    await ask.find({ username: '80 192.0.2.1' }, 'a')
    expect(requests).toHaveLength(3)
  })

  test('one source that guesses is limited, and others are not', async () => {
    const { ask, requests, timing } = open(async () => none)
    for (let index = 0; index < 300; index += 1) await ask.find({ username: `g${index}` }, 'guesser')
    expect(requests).toHaveLength(200)
    expect(await ask.find({ username: 'more' }, 'guesser')).toEqual({ outcome: 'unasked', why: 'limited' })
    expect(await ask.find({ username: 'more' }, 'honest')).toEqual({ outcome: 'none' })
    await timing.advance(1_000)
    for (let index = 0; index < 300; index += 1) await ask.find({ username: `h${index}` }, 'guesser')
    expect(requests).toHaveLength(301)
  })

  test('all sources together are limited, however many there are', async () => {
    const { ask, requests, timing } = open(async () => none)
    for (let index = 0; index < 30_000; index += 1) await ask.find({ username: `g${index}` }, `s${index}`)
    expect(requests).toHaveLength(2000)
    await timing.advance(1_000)
    for (let index = 0; index < 3_000; index += 1) await ask.find({ username: `h${index}` }, `s${index}`)
    expect(requests).toHaveLength(3000)
  })

  test('the node has at most 256 lookups in flight', async () => {
    const { ask, requests } = open(() => new Promise<Found>(() => {}))
    const last = Array.from({ length: 300 }, (_, index) => ask.find({ username: `g${index}` }, `s${index}`)).at(-1)
    expect(await last).toEqual({ outcome: 'unasked', why: 'limited' })
    expect(requests).toHaveLength(256)
  })

  test('a shop that is away is no miss', async () => {
    let isAway = true
    const { ask } = open(async () => {
      if (isAway) throw new LinkError('unreachable', 'away')
      return proxy
    })
    expect(await ask.find({ username: 'known' }, 'a')).toEqual({ outcome: 'unasked', why: 'unreachable' })
    isAway = false
    expect((await ask.find({ username: 'known' }, 'a')).outcome).toBe('found')
  })

  test('a question that the schema rejects is not sent', async () => {
    const { ask, requests } = open(async () => proxy)
    for (const username of ['', 'x'.repeat(256)]) expect(await ask.find({ username }, 'a')).toEqual({ outcome: 'none' })
    expect(requests).toEqual([])
  })

  test('an error of the shop is logged at most once a minute, with the number of skipped lines', async () => {
    const { entries, log } = recordingLog()
    const timing = new HandTiming()
    const link = { find: async () => Promise.reject(new LinkError('unreachable', 'away')) }
    const ask = new CredentialLookup({ now: timing.now, log, link })
    for (let index = 0; index < 30; index += 1) await ask.find({ username: `u${index}` }, 'a')
    await timing.advance(60_000)
    await ask.find({ username: 'u' }, 'a')
    await settle()
    expect(entries.map((each) => each.fields['times_unsaid'])).toEqual([undefined, 29])
  })
})
