import { afterEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import type { ExitReport } from '../../src/dataplane/gateway/access/exit-health.ts'
import type { NodeExit } from '../../src/node-protocol/state.ts'
import { someExit } from '../harness/desired.ts'
import { openEngine, passwordOf, type Stand, until } from '../harness/engine.ts'
import { freePort } from '../harness/gateway.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

type There = Socket<{ back: Socket<{ there?: There }> }>

/** A supplier's proxy for everything, of either kind, that can be told to be gone. */
function startUpstream(port = 0) {
  let isOpen = true
  const listener = Bun.listen<{ there?: There }>({
    hostname: '127.0.0.1',
    port,
    socket: {
      open(socket) {
        socket.data = {}
      },
      async data(socket, bytes) {
        if (socket.data.there) {
          socket.data.there.write(bytes)
          return
        }
        const authority = /^CONNECT (\S+):(\d+) /.exec(bytes.toString())
        if (!isOpen || !authority || authority[1]?.endsWith('.invalid')) {
          socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
          return
        }
        socket.data.there = await Bun.connect<{ back: Socket<{ there?: There }> }>({
          hostname: authority[1] ?? '',
          port: Number(authority[2]),
          data: { back: socket },
          socket: {
            data: (there, received) => void there.data.back.write(received),
            close: (there) => void there.data.back.end(),
          },
        })
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
      },
      close: (socket) => void socket.data?.there?.end(),
    },
  })
  return {
    port: listener.port,
    /** Answers, and reaches nobody. */
    isolate: () => {
      isOpen = false
    },
    stop: () => listener.stop(true),
  }
}

const upstreamAt = (id: string, port: number, wish: Partial<NodeExit> = {}): NodeExit =>
  someExit({ id, kind: 'http', host: '127.0.0.1', port, ...wish })

describe('exits that die', () => {
  const running: { stop(): unknown }[] = []
  afterEach(async () => {
    for (const each of running.splice(0).toReversed()) await each.stop()
  })
  const begin = <Of extends { stop(): unknown }>(each: Of): Of => {
    running.push(each)
    return each
  }
  const words: string[] = []
  function open(exits: readonly NodeExit[]): Stand {
    words.length = 0
    // Sooner than shipped: the pauses are tested with a hand clock, in `decide/exit-health.test.ts`.
    const limits = { exitRetryMs: 50 }
    const onExit = (word: ExitReport): void => void words.push(`${word.id} ${word.isUp ? 'up' : 'down'}`)
    return begin(openEngine({ exits, limits, onExit }))
  }
  const as = (parts = '') => ({ username: `pavel-pool-residential${parts}`, password: passwordOf('pavel') })

  test('are skipped from the first customer on who meets them, and are up again by themselves', async () => {
    const echo = begin(startEcho())
    const good = begin(startUpstream())
    const port = freePort()
    const stand = open([upstreamAt('good', good.port), upstreamAt('bad', port)])
    const at = { host: '127.0.0.1', port: stand.port }
    // Nobody is refused meanwhile: who has no session leaves through the other one.
    for (let turn = 0; turn < 30; turn += 1) {
      expect(await attempt('http', at, as(), echo.spot)).toMatchObject({ status: 200 })
    }
    await until(() => words.includes('bad down'))
    const back = begin(startUpstream(port))
    await until(() => words.includes('bad up'))
    expect(back.port).toBe(port)
  })

  test('are told to a session once, which goes on elsewhere as soon as there is an exit again', async () => {
    const echo = begin(startEcho())
    const [first, second] = [begin(startUpstream()), begin(startUpstream())]
    const stand = open([upstreamAt('first', first.port), upstreamAt('second', second.port)])
    const at = { host: '127.0.0.1', port: stand.port }
    const of = as('-session-a')
    await until(() => words.length === 2)
    const tunnel = await openTunnel('http', at, of, echo.spot)
    expect(await tunnel.echo('hello')).toBe('hello')
    tunnel.close()
    // Whichever it was, both are gone; one comes back.
    first.stop()
    second.stop()
    expect(await attempt('http', at, of, echo.spot)).toMatchObject({ code: 'exit_failed' })
    const codeOf = async () => (await attempt('http', at, of, echo.spot)).code
    expect(await untilTrue(async () => (await codeOf()) === 'session_lost')).toBeTrue()
    // The other one is met, and found to be gone as well.
    expect(await untilTrue(async () => (await codeOf()) === 'no_exit')).toBeTrue()
    expect(words.filter((word) => word.endsWith('down'))).toHaveLength(2)
    expect(await attempt('socks', at, of, echo.spot)).toMatchObject({ status: 4 })
    begin(startUpstream(first.port))
    expect(await untilTrue(async () => (await attempt('http', at, of, echo.spot)).status === 200)).toBeTrue()
    expect(words.at(-1)).toBe('first up')
  })

  test('are not those that say that a destination cannot be reached', async () => {
    const echo = begin(startEcho())
    const upstream = begin(startUpstream())
    upstream.isolate()
    const stand = open([upstreamAt('fine', upstream.port)])
    await until(() => words.length > 0)
    const at = { host: '127.0.0.1', port: stand.port }
    for (let turn = 0; turn < 10; turn += 1) {
      expect(await attempt('http', at, as(), echo.spot)).toMatchObject({ status: 502, code: 'unreachable' })
    }
    expect(words).toEqual(['fine up'])
  })

  test('may be addresses of this machine that it does not have', async () => {
    const echo = begin(startEcho())
    const stand = open([someExit({ id: 'there' }), someExit({ id: 'gone', host: '198.51.100.7' })])
    await until(() => words.length === 2)
    expect(words.toSorted()).toEqual(['gone down', 'there up'])
    for (let turn = 0; turn < 10; turn += 1) {
      const at = { host: '127.0.0.1', port: stand.port }
      expect(await attempt('http', at, as(), echo.spot)).toMatchObject({ status: 200 })
    }
  })
})
