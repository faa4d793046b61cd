import { afterEach, expect, test } from 'bun:test'
import { openEngine, passwordOf, proxyOf, type TestGateway } from '../harness/engine.ts'
import { attempt, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

const echo = startEcho()
let gateway: TestGateway
afterEach(async () => {
  await gateway.stop()
  echo.stop()
})

test("the gateway refuses a customer who is blocked right after the shop's lookup answer, in each of 40 rounds", async () => {
  const blockedNames = new Set<string>()
  gateway = openEngine({
    async ask(question) {
      if (!('username' in question)) return 'unanswered'
      const active = proxyOf(1000, question.username)
      const blocked = { ...active, state: 'blocked' as const }
      if (blockedNames.has(active.username)) return { found: { proxy: blocked, subuser: null } }
      blockedNames.add(active.username)
      // The change arrives before the engine has processed the answer.
      setImmediate(() => gateway.change({ proxies: [blocked] }))
      return { found: { proxy: active, subuser: null } }
    },
  })
  const at = { host: '127.0.0.1', port: gateway.port }
  for (let round = 0; round < 40; round += 1) {
    const login = { username: `olga${round}`, password: passwordOf(`olga${round}`) }
    await attempt('http', at, login, echo.spot)
    const isOut = async () => (await attempt('http', at, login, echo.spot)).code === 'blocked'
    expect([round, await untilTrue(isOut)]).toEqual([round, true])
  }
})
