import { afterEach, describe, expect, test } from 'bun:test'
import type { ExitReport } from '../../src/dataplane/gateway/access/exit-health.ts'
import type { NodeExit } from '../../src/node-protocol/state.ts'
import { startConnectProxy } from '../harness/connect-proxy.ts'
import { someExit } from '../harness/desired.ts'
import { openEngine, passwordOf, type TestGateway, until } from '../harness/engine.ts'
import { freePort } from '../harness/gateway.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

const upstreamAt = (id: string, port: number, fields: Partial<NodeExit> = {}): NodeExit =>
  someExit({ id, kind: 'http', host: '127.0.0.1', port, ...fields })

describe('health of exits', () => {
  const running: { stop(): unknown }[] = []
  afterEach(async () => {
    for (const each of running.splice(0).toReversed()) await each.stop()
  })
  const begin = <Of extends { stop(): unknown }>(each: Of): Of => {
    running.push(each)
    return each
  }
  const reports: string[] = []
  function open(exits: readonly NodeExit[]): TestGateway {
    reports.length = 0
    // Retries sooner than the default: `decide/exit-health.test.ts` tests the pauses with a manual clock.
    const limits = { exitRetryMs: 50 }
    const onExit = (report: ExitReport): void => void reports.push(`${report.id} ${report.isUp ? 'up' : 'down'}`)
    return begin(openEngine({ exits, limits, onExit }))
  }
  const as = (parts = '') => ({ username: `pavel-pool-residential${parts}`, password: passwordOf('pavel') })

  test('a gateway skips an exit after one failed connection and uses it again once it answers', async () => {
    const echo = begin(startEcho())
    const good = begin(startConnectProxy())
    const port = freePort()
    const gateway = open([upstreamAt('good', good.port), upstreamAt('bad', port)])
    const at = { host: '127.0.0.1', port: gateway.port }
    // A request without a session is not refused: it uses the other exit.
    for (let turn = 0; turn < 30; turn += 1) {
      expect(await attempt('http', at, as(), echo.spot)).toMatchObject({ status: 200 })
    }
    await until(() => reports.includes('bad down'))
    const back = begin(startConnectProxy(port))
    await until(() => reports.includes('bad up'))
    expect(back.port).toBe(port)
  })

  test('a session gets session_lost once when its exit dies, and continues when any exit is back', async () => {
    const echo = begin(startEcho())
    const [first, second] = [begin(startConnectProxy()), begin(startConnectProxy())]
    const gateway = open([upstreamAt('first', first.port), upstreamAt('second', second.port)])
    const at = { host: '127.0.0.1', port: gateway.port }
    const of = as('-session-a')
    await until(() => reports.length === 2)
    const tunnel = await openTunnel('http', at, of, echo.spot)
    expect(await tunnel.echo('hello')).toBe('hello')
    tunnel.close()
    // Both exits stop, whichever the session used; one starts again.
    first.stop()
    second.stop()
    expect(await attempt('http', at, of, echo.spot)).toMatchObject({ code: 'exit_failed' })
    const codeOf = async () => (await attempt('http', at, of, echo.spot)).code
    expect(await untilTrue(async () => (await codeOf()) === 'session_lost')).toBeTrue()
    // The next attempt finds the other exit dead as well.
    expect(await untilTrue(async () => (await codeOf()) === 'no_exit')).toBeTrue()
    expect(reports.filter((report) => report.endsWith('down'))).toHaveLength(2)
    expect(await attempt('socks', at, of, echo.spot)).toMatchObject({ status: 4 })
    begin(startConnectProxy(first.port))
    expect(await untilTrue(async () => (await attempt('http', at, of, echo.spot)).status === 200)).toBeTrue()
    expect(reports.at(-1)).toBe('first up')
  })

  test('an exit that answers 502 for a destination stays up', async () => {
    const echo = begin(startEcho())
    const upstream = begin(startConnectProxy())
    upstream.isolate()
    const gateway = open([upstreamAt('fine', upstream.port)])
    await until(() => reports.length > 0)
    const at = { host: '127.0.0.1', port: gateway.port }
    for (let turn = 0; turn < 10; turn += 1) {
      expect(await attempt('http', at, as(), echo.spot)).toMatchObject({ status: 502, code: 'unreachable' })
    }
    expect(reports).toEqual(['fine up'])
  })

  test('a gateway reports an exit down when its machine lacks the address, and uses the others', async () => {
    const echo = begin(startEcho())
    const gateway = open([someExit({ id: 'there' }), someExit({ id: 'gone', host: '198.51.100.7' })])
    await until(() => reports.length === 2)
    expect(reports.toSorted()).toEqual(['gone down', 'there up'])
    for (let turn = 0; turn < 10; turn += 1) {
      const at = { host: '127.0.0.1', port: gateway.port }
      expect(await attempt('http', at, as(), echo.spot)).toMatchObject({ status: 200 })
    }
  })
})
