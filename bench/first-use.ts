import { connect } from 'node:net'
import { type GatewayShop, routeOf } from './gateway-shop.ts'
import type { Row } from './report.ts'
import { timeRow } from './report.ts'
import { percentile } from './statistics.ts'

const purchases = 200
const worksWithinMs = 5_000
const answersWithinMs = 2_000
const againMs = 1
const maxFirstByteMs = 10
/** A gateway looks unknown logins up at its shop at most 20 times a second per source. */
const betweenPurchasesMs = 60

/** The time from the answer to a purchase to the first byte through the bought proxy. */
export async function measureFirstUse(shop: GatewayShop, originPort: number): Promise<Row[]> {
  const tookMs: number[] = []
  let atFirstTry = 0
  for (let purchase = 0; purchase < purchases; purchase += 1) {
    await Bun.sleep(betweenPurchasesMs)
    const proxy = await shop.buyProxy()
    const answeredMs = performance.now()
    let tries = 0
    do {
      if (performance.now() - answeredMs > worksWithinMs) throw new Error('a proxy that was bought does not work')
      if (tries > 0) await Bun.sleep(againMs)
      tries += 1
    } while (!(await relaysAByte(routeOf(proxy, 'connect'), originPort)))
    tookMs.push(performance.now() - answeredMs)
    if (tries === 1) atFirstTry += 1
  }
  return [
    timeRow(`from purchase to first byte, p50 of ${purchases}`, [percentile(tookMs, 0.5)]),
    timeRow(`from purchase to first byte, p99 of ${purchases}`, [percentile(tookMs, 0.99)], maxFirstByteMs),
    { what: 'worked at the first try', figure: `${atFirstTry} of ${purchases}`, rounds: [atFirstTry] },
  ]
}

type Login = { readonly endpoint: string; readonly user: string; readonly password: string }

/** Opens a tunnel, requests a byte from the origin and waits for the start of the answer. False for any refusal. */
function relaysAByte({ endpoint, user, password }: Login, originPort: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const [host, port] = endpoint.split(':')
  const login = Buffer.from(`${user}:${password}`).toString('base64')
  const socket = connect(Number(port), host, () => {
    const to = `127.0.0.1:${originPort}`
    socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\nProxy-Authorization: Basic ${login}\r\n\r\n`)
  })
  let isTunnel = false
  const end = (works: boolean) => {
    resolve(works)
    socket.destroy()
  }
  socket.setNoDelay(true)
  socket.setTimeout(answersWithinMs, () => end(false))
  socket.on('error', () => end(false))
  socket.on('close', () => end(false))
  socket.on('data', (chunk) => {
    if (isTunnel) return end(true)
    isTunnel = /^HTTP\/1\.\d 200\b/.test(chunk.toString('latin1'))
    if (isTunnel) socket.write('GET /1/0/0 HTTP/1.1\r\n\r\n')
    else end(false)
  })
  return promise
}
