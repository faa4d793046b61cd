import { expect, test } from 'bun:test'
import { createShopLink } from '../../src/dataplane/agent/shop-link.ts'
import { startService } from '../harness/service.ts'

test('one request of a node has one id in its own words, in the answer and in the shop’s log', async () => {
  const service = await startService('sqlite')
  const link = createShopLink({ url: service.url, secret: `tpn_${'a'.repeat(64)}` })
  const problem = await link.state(undefined, 0).then(String, String)
  const [, id] = /\(request ([0-9a-f]{24})\)/.exec(problem) ?? []
  expect(id).toBeDefined()
  expect(service.log.filter((line) => line.includes(`"id":"${id}"`))).toHaveLength(1)
  const ask = (given: string) =>
    fetch(`${service.url}/node/v1/state`, { headers: { 'x-request-id': given } }).then((answer) =>
      answer.headers.get('x-request-id'),
    )
  expect(await ask('0123456789abcdef01234567')).toBe('0123456789abcdef01234567')
  // Whatever else a stranger calls it does not get into the log.
  for (const odd of ['x', 'A'.repeat(24), '0123456789abcdef0123456789']) expect(await ask(odd)).not.toBe(odd)
  await service.stop()
})
