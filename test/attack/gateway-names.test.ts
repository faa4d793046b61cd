import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { CredentialLookup } from '../../src/dataplane/agent/ask.ts'
import { LinkError } from '../../src/dataplane/agent/shop-link.ts'
import type { FindBody, Found } from '../../src/node-protocol/state.ts'
import { foundProxy, loginLine, openEngine, type TestGateway } from '../harness/engine.ts'
import { quietLog } from '../harness/hand-timing.ts'
import { RawClient } from '../harness/raw-client.ts'
import { socksLogin } from '../harness/socks-client.ts'

/** More than the limit of lookups per source. The clock of that limit does not move, so no lookup is refilled. */
const guesses = 250
/** Shorter than shipped. That both refusals take the same time is tested with a hand clock, in `admission.test.ts`. */
const refusalDelayMs = 20

let gateway: TestGateway
let find: (question: FindBody) => Promise<Found>

beforeEach(() => {
  find = async (question) => foundProxy('username' in question ? question.username : '')
  const asking = new CredentialLookup({
    link: { find: (question) => find(question) },
    now: () => 0,
    log: quietLog,
  })
  gateway = openEngine({
    limits: { refusalDelayMs },
    async ask(question, source) {
      const answer = await asking.find(question, source)
      if (answer.outcome === 'unanswered') return 'unanswered'
      return { found: answer.outcome === 'found' ? answer.found : { proxy: null, subuser: null } }
    },
  })
})
afterEach(() => gateway.stop())

const overHttp = (name: string, password: string): string =>
  `GET http://a.example/ HTTP/1.1\r\nHost: a\r\n${loginLine(name, password)}Connection: close\r\n\r\n`
const overSocks = (name: string, password: string): string =>
  `\x05\x01\x02${socksLogin(name, password)}\x05\x01\0\x01\x7f\0\0\x01\0\x09`

/** The answer to a guess, read to the end of its connection. */
async function guess(sent: string): Promise<string> {
  const client = await RawClient.open(gateway.port)
  client.send(sent)
  await client.readToEnd()
  const { text } = client
  client.reset()
  return text
}

/** The distinct answers to five guesses at each name. */
async function compare(known: () => string, unknown: () => string): Promise<Set<string>> {
  const texts = await Promise.all(Array.from({ length: 5 }, () => [guess(known()), guess(unknown())]).flat())
  expect(texts).not.toContain('')
  return new Set(texts)
}

/**
 * Expects the same bytes for all guesses. The gateway forgets a wrong guess after 2 s. If that happens between the
 * guesses, they are repeated: then no guess is remembered, because no lookup is sent.
 */
async function expectAlike(known: () => string, unknown: () => string): Promise<void> {
  const first = await compare(known, unknown)
  const texts = first.size === 1 ? first : await compare(known, unknown)
  expect([...texts]).toHaveLength(1)
}

const useUp = async (): Promise<void> => {
  await Promise.all(Array.from({ length: guesses }, (_, index) => guess(overHttp(`guess${index}`, 'x'))))
}

let tried = 0
/** A new password each time. */
const fresh = (): string => `wrong${(tried += 1)}`

describe.each([
  ['over HTTP', overHttp, 'anna'],
  ['over SOCKS5', overSocks, 'dora'],
])('known and unknown names %s', (_, toRequest, real) => {
  test('the gateway answers a known and an unknown name with the same bytes while lookups are left', async () => {
    await expectAlike(
      () => toRequest(real, 'wrong'),
      () => toRequest('nobody', 'wrong'),
    )
  })

  test('the gateway answers a repeated guess at a known and an unknown name alike after all lookups are used', async () => {
    await Promise.all([guess(toRequest(real, 'wrong')), guess(toRequest('nobody', 'wrong'))])
    await useUp()
    await expectAlike(
      () => toRequest(real, 'wrong'),
      () => toRequest('nobody', 'wrong'),
    )
  })

  test('the gateway answers a new guess at a known and an unknown name alike after all lookups are used', async () => {
    await Promise.all([guess(toRequest(real, 'wrong')), guess(toRequest('nobody', 'wrong'))])
    await useUp()
    await expectAlike(
      () => toRequest(real, fresh()),
      () => toRequest('nobody', fresh()),
    )
  })

  test('the gateway answers a known and an unknown name alike when the shop is unreachable between two guesses', async () => {
    await Promise.all([guess(toRequest(real, 'wrong')), guess(toRequest('nobody', 'wrong'))])
    find = async () => Promise.reject(new LinkError('unreachable', 'away'))
    await expectAlike(
      () => toRequest(real, fresh()),
      () => toRequest('nobody', fresh()),
    )
    await expectAlike(
      () => toRequest(real, 'wrong'),
      () => toRequest('nobody', 'wrong'),
    )
  })
})
