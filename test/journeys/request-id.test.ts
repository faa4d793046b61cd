import { expect, test } from 'bun:test'
import { createShopLink } from '../../src/dataplane/agent/shop-link.ts'
import { startService } from '../harness/service.ts'

test('a node’s request has one id in the node’s message, the answer and the shop’s log', async () => {
  const service = await startService('sqlite')
  const link = createShopLink({ url: service.url, secret: `tpn_${'a'.repeat(64)}` })
  const problem = await link.state(undefined, 0).then(String, String)
  const [, id] = /\(request ([0-9a-f]{24})\)/.exec(problem) ?? []
  expect(id).toBeDefined()
  expect(service.log.filter((line) => line.includes(`"id":"${id}"`))).toHaveLength(1)
  const idFor = (given: string) =>
    fetch(`${service.url}/node/v1/state`, { headers: { 'x-request-id': given } }).then((answer) =>
      answer.headers.get('x-request-id'),
    )
  expect(await idFor('0123456789abcdef01234567')).toBe('0123456789abcdef01234567')
  // A malformed id from the client is replaced, so that it does not reach the log.
  for (const malformed of ['x', 'A'.repeat(24), '0123456789abcdef0123456789'])
    expect(await idFor(malformed)).not.toBe(malformed)
  await service.stop()
})
