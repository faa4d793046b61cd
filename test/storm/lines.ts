import type { ByteOrigin } from '../harness/byte-origin.ts'
import type { Dice } from '../harness/dice.ts'
import { basic, lineOf, openTunnel, type Pass, Refused, type Via } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { ClientTimeout, WireClient } from '../harness/wire-client.ts'
import type { Transfer } from './books.ts'

/** The outcome of a transfer besides its bytes: `whole` is as intended, including a line dropped on purpose. */
export type LineResult = Transfer & {
  readonly outcome: 'whole' | 'cut' | 'refused'
  readonly why: string
  /** Whether a time limit was exceeded. */
  readonly isLate: boolean
  /** The address that the origin saw. */
  readonly from: string
}

type Size = { readonly up: number; readonly down: number }

/** More than the heads of a request and its answer. */
const headBytes = 2_000
let made = 0

/** Mostly small, sometimes some megabytes. */
function drawSize(dice: Dice): Size {
  const one = () => {
    const luck = dice(100)
    const max = luck < 80 ? 32_768 : luck < 97 ? 400_000 : 3_000_000
    return 1 + Math.floor(Math.exp((dice(1_000_000) / 1_000_000) * Math.log(max)))
  }
  return { up: one(), down: one() }
}

const endings = ['whole', 'whole', 'half-close', 'drop', 'request'] as const

/** One line through the gateway, with bytes in both directions. Returns the bounds of the relayed bytes in any case. */
export async function runLine(pass: Pass, via: Via, origin: ByteOrigin, dice: Dice): Promise<LineResult> {
  // Over TLS the bytes of a dropped line are not known.
  const ending = pass.isTls ? 'whole' : (endings[dice(endings.length)] ?? 'whole')
  const size = drawSize(dice)
  made += 1
  const id = `storm-${made}`
  const fromMs = performance.now()
  try {
    const result =
      ending === 'request' && via === 'connect'
        ? await request(pass, origin, id, size)
        : await tunnel(pass, via, origin, id, size, ending)
    return { ...result, isLate: false, from: origin.cameFrom(id), fromMs, toMs: performance.now() }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const outcome = error instanceof Refused ? ('refused' as const) : ('cut' as const)
    // Refused, or never connected: nothing was sent behind the handshake, so nothing can have been counted.
    const isNothing = outcome === 'refused' || /connect/i.test(why)
    const max = isNothing ? 0 : size.up + size.down + headBytes
    // The gateway reports a timeout of the shop, which is not the customer's timeout.
    const isLate = error instanceof ClientTimeout || why.includes('shop_unreachable')
    return { outcome, why: why.slice(0, 200), isLate, min: 0, max, from: '', fromMs, toMs: performance.now() }
  } finally {
    origin.forget(id)
  }
}

type Bare = Omit<LineResult, 'fromMs' | 'toMs' | 'from' | 'isLate'>

async function tunnel(
  pass: Pass,
  via: Via,
  origin: ByteOrigin,
  id: string,
  { up, down }: Size,
  ending: (typeof endings)[number],
): Promise<Bare> {
  const line = lineOf(id, up)
  const isDropped = ending === 'drop'
  const waits = ending === 'half-close' ? ('end' as const) : line.length
  origin.expect({ id, up: waits, down, afterwards: isDropped ? 'stay' : 'end' })
  const [host = '', port = ''] = origin.host.split(':')
  const { client, handshake } = await openTunnel(pass, via, { host, port: Number(port) })
  if (isDropped) client.readOnly(Math.floor(down / 2))
  await client.send(line)
  if (ending === 'half-close') client.finish()
  if (isDropped) return drop(client, handshake, origin, id, line.length)
  await client.untilEnd()
  client.close()
  const received = client.total - handshake
  const arrived = Math.max(0, origin.arrived(id))
  const isWhole = received === down && arrived === line.length
  return {
    outcome: isWhole ? 'whole' : 'cut',
    why: isWhole ? '' : `${arrived} of ${line.length} up, ${received} of ${down} down`,
    min: arrived + received,
    max: line.length + received,
  }
}

/** The customer's line is dropped: it has received the bytes that it acknowledged. */
async function drop(
  client: WireClient,
  handshake: number,
  origin: ByteOrigin,
  id: string,
  sent: number,
): Promise<Bare> {
  await untilTrue(() => origin.arrived(id) >= sent || client.isClosed || client.hasEnded)
  const isCut = client.isClosed || client.hasEnded
  const before = client.got
  const got = Math.max(before, await client.reset())
  const arrived = Math.max(0, origin.arrived(id))
  const received = got - handshake
  return {
    outcome: isCut ? 'cut' : 'whole',
    why: isCut ? 'closed before it was dropped' : '',
    min: arrived + received,
    max: sent + received,
  }
}

/** A forwarded request and its answer. */
async function request(pass: Pass, origin: ByteOrigin, id: string, { up, down }: Size): Promise<Bare> {
  origin.expect({ id, up: 0, down, afterwards: 'end', framing: 'length' })
  const head = `POST http://${origin.host}/${id} HTTP/1.1\r\nHost: ${origin.host}\r\nProxy-Authorization: ${basic(pass)}\r\nContent-Length: ${up}\r\n\r\n`
  const sent = head.length + up
  const client = await WireClient.connect(pass.port, pass.host)
  await client.send(Buffer.concat([Buffer.from(head), Buffer.alloc(up, 'b')]))
  const isRefused = () => client.kept.includes('X-Turnpike-Error')
  const whole = () => {
    const headEnd = client.kept.indexOf('\r\n\r\n')
    return headEnd < 0 ? Number.POSITIVE_INFINITY : headEnd + 4 + down
  }
  await client.until(() => client.hasEnded || isRefused() || client.total >= whole())
  client.close()
  if (isRefused()) throw new Refused(client.kept.toString('latin1', 0, 200))
  const isWhole = client.total === whole()
  return {
    outcome: isWhole ? 'whole' : 'cut',
    why: isWhole ? '' : `${client.total} of ${whole()} down`,
    min: (isWhole ? sent : 0) + client.total,
    max: sent + client.total,
  }
}
