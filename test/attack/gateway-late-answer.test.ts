import { afterEach, expect, test } from 'bun:test'
import { openEngine, passwordOf, proxyOf, type Stand } from '../harness/engine.ts'
import { attempt, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

const echo = startEcho()
let stand: Stand
afterEach(async () => {
  await stand.stop()
  echo.stop()
})

test('whoever is shut out right after the shop has answered for him is out', async () => {
  const shutOut = new Set<string>()
  stand = openEngine({
    async ask(question) {
      if (!('username' in question)) return 'unasked'
      const active = proxyOf(1000, question.username)
      const blocked = { ...active, state: 'blocked' as const }
      if (shutOut.has(active.username)) return { found: { proxy: blocked, subuser: null } }
      shutOut.add(active.username)
      // The page is there before the engine has made anything of the answer.
      setImmediate(() => stand.change({ proxies: [blocked] }))
      return { found: { proxy: active, subuser: null } }
    },
  })
  const at = { host: '127.0.0.1', port: stand.port }
  for (let round = 0; round < 40; round += 1) {
    const login = { username: `olga${round}`, password: passwordOf(`olga${round}`) }
    await attempt('http', at, login, echo.spot)
    const isOut = async () => (await attempt('http', at, login, echo.spot)).code === 'blocked'
    expect([round, await untilTrue(isOut)]).toEqual([round, true])
  }
})
