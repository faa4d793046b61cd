import { expect, test } from 'bun:test'
import type { SiteContent, SiteRequest } from './content.ts'
import { SiteServer } from './server.ts'

const request: SiteRequest = {
  method: 'GET',
  path: '/',
  host: 'example.com',
  fields: [],
  body: new Uint8Array(),
  source: '203.0.113.1',
}

test('the site reports one fault in 10 s, and none for 100 visitors that left before their answer', async () => {
  const faults: unknown[] = []
  const timers: (() => void)[] = []
  const content: SiteContent = (_, signal) =>
    Promise.reject(new Error(signal.aborted ? 'the client has gone' : 'no shop'))
  const site = new SiteServer({
    content,
    isCustomer: () => false,
    challengeHost: undefined,
    handOver: () => {},
    sockets: { watch: () => undefined, acknowledged: () => undefined, narrow() {}, widen() {}, limitUnsent() {} },
    after: (ms, act) => {
      expect(ms).toBe(10_000)
      timers.push(act)
      return () => {}
    },
    onFault: (fault) => faults.push(fault),
  })
  const statusOf = async (signal: AbortSignal) => (await site.answer(request, signal)).status
  const left = Array.from({ length: 100 }, () => AbortSignal.abort())
  expect(new Set(await Promise.all(left.map(statusOf)))).toEqual(new Set([500]))
  expect(faults).toEqual([])
  const waiting = () => new AbortController().signal
  for (let round = 0; round < 3; round += 1) expect(await statusOf(waiting())).toBe(500)
  expect(faults).toEqual([new Error('no shop')])
  timers.shift()?.()
  await statusOf(waiting())
  expect(faults).toHaveLength(2)
})
