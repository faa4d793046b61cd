import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { z } from 'zod'
import {
  type Address,
  addressFromNumber,
  addressToNumber,
  formatAddress,
  type Prefix,
  readAddress,
} from '../../core/address.ts'
import { seenSchema } from '../../node-protocol/tried.ts'
import { type Chance, parseJson } from './runtime.ts'

const callsAtOnce = 16
/** An address fails when it has failed so often in a row, each time while the shop could be called without it. */
const mostFailures = 2
/** What a TLS library calls its reasons not to believe a certificate, such as `DEPTH_ZERO_SELF_SIGNED_CERT`. */
const ofCertificates = /CERT|LEAF_SIGNATURE/
/** Chance is drawn in so many steps. */
const steps = 2 ** 40

/** Calls the shop from an address of this machine, or from any of a family: who the shop saw. Fails if it is away. */
export type CallShop = (version: 4 | 6, from: string | undefined, end: AbortSignal) => Promise<string>

/** What is known of leaving from the addresses of one range. */
export type Leaving = ReturnType<typeof createLeaving>

/**
 * Whether this node can leave from the addresses of a range: it calls the shop from them. Where the shop cannot be
 * called in their family at all, nothing is known, and nothing is held against them.
 */
export function createLeaving(deps: {
  readonly prefix: Prefix
  /** Of a block too large to go through, addresses are drawn, and stand for all of it. */
  readonly isBlock: boolean
  readonly call: CallShop
  readonly canUse: (address: Address) => boolean
  readonly chance: Chance
}) {
  const { base, length } = deps.prefix
  const size = 1n << BigInt(base.bytes.length * 8 - length)
  const failures = new Map<string, number>()
  const calling = new Set<string>()
  let seenAs: string | null = null
  let isReached = false
  let isDistrusted = false
  let at = 0n

  const keyOf = (address: Address): string => (deps.isBlock ? '' : formatAddress(address))

  function next(): Address {
    const offset = deps.isBlock ? (size * BigInt(Math.floor(deps.chance() * steps))) / BigInt(steps) : at % size
    at += 1n
    return addressFromNumber(base.version, addressToNumber(base) + offset)
  }

  async function canCall(end: AbortSignal): Promise<boolean> {
    try {
      await deps.call(base.version, undefined, end)
      isReached = true
      return true
    } catch (error) {
      isDistrusted = error instanceof Error && 'code' in error && ofCertificates.test(String(error.code))
      return false
    }
  }

  /** Tells whether something became known that was not. */
  async function callOnce(address: Address, end: AbortSignal): Promise<boolean> {
    const [key, text] = [keyOf(address), formatAddress(address)]
    const had = failures.get(key) ?? 0
    try {
      const seen = await deps.call(base.version, text, end)
      isReached = true
      const isOther = seen !== text && seen !== seenAs
      if (isOther) seenAs = seen
      failures.delete(key)
      return isOther || had >= mostFailures
    } catch {
      if (end.aborted || !(await canCall(end))) return false
      failures.set(key, had + 1)
      return had + 1 === mostFailures
    }
  }

  /** A failure is looked at again at once: whoever buys meanwhile buys what does not work. */
  async function callFrom(address: Address, end: AbortSignal): Promise<boolean> {
    const text = formatAddress(address)
    calling.add(text)
    const isNews = await callOnce(address, end)
    const failed = failures.get(keyOf(address)) ?? 0
    const isNewsNow = failed > 0 && failed < mostFailures ? await callOnce(address, end) : false
    calling.delete(text)
    return isNews || isNewsNow
  }

  return {
    /** How many calls go once through the range. */
    turns: deps.isBlock ? callsAtOnce : Number(size),

    /** Calls from the first addresses, before the range is said to serve; the others follow in their turn. */
    async begin(firstCalls: number, end: AbortSignal): Promise<void> {
      if (!(await canCall(end))) return
      const count = deps.isBlock ? callsAtOnce : Number(size < firstCalls ? size : BigInt(firstCalls))
      const waiting = Array.from({ length: count }, next)
      const work = async () => {
        for (let each = waiting.shift(); each && !end.aborted; each = waiting.shift()) {
          if (deps.canUse(each)) await callFrom(each, end)
        }
      }
      await Promise.all(Array.from({ length: callsAtOnce }, work))
    },

    /**
     * Calls from the next one. Tells whether something became known that was not; undefined when nobody is called,
     * because the address is not here or a call from it is under way.
     */
    step(end: AbortSignal): Promise<boolean> | undefined {
      const address = next()
      return calling.has(formatAddress(address)) || !deps.canUse(address) ? undefined : callFrom(address, end)
    },

    problemOf: (address: Address): string | undefined =>
      (failures.get(keyOf(address)) ?? 0) >= mostFailures ? 'cannot_leave' : undefined,

    /** Whether the shop could ever be called in this family: else nothing is known. */
    get isReached(): boolean {
      return isReached
    },

    /** Whether somebody answers there whose certificate is not believed. */
    get isDistrusted(): boolean {
      return isDistrusted
    },

    /** Who the shop saw in place of an address of this range, if that was somebody else. */
    get seenAs(): string | null {
      return seenAs
    },
  }
}

const shippedLimitMs = 3_000
const mostBytes = 16 * 1024

const answerSchema = z.object({ data: seenSchema })

/** Asks the shop whom it sees, over a connection that leaves from one address, and shows the node's secret. */
export function createCallShop(deps: {
  readonly base: URL
  readonly secret: string
  /** How long a call may take; three seconds unless given. */
  readonly limitMs?: number
}): CallShop {
  const { base, secret, limitMs = shippedLimitMs } = deps
  const host = base.hostname.replace(/^\[|\]$/g, '')
  const isSecure = base.protocol === 'https:'
  const port = base.port === '' ? (isSecure ? 443 : 80) : Number(base.port)
  // RFC 6066, section 3: an address is no server name. The certificate is held against `host` all the same.
  const named = readAddress(host) ? {} : { servername: host }
  const head = [
    `GET ${new URL('seen', base).pathname} HTTP/1.1`,
    `Host: ${base.host}`,
    `Authorization: Bearer ${secret}`,
    'Connection: close',
  ]
  const request = `${head.join('\r\n')}\r\n\r\n`

  return (version, from, end) =>
    new Promise((resolve, reject) => {
      const plain = connect({ host, port, family: version, ...(from !== undefined && { localAddress: from }) })
      const socket: Socket = isSecure ? connectSecurely({ socket: plain, host, ...named }) : plain
      let text = ''
      const finish = (error?: Error) => {
        clearTimeout(timer)
        end.removeEventListener('abort', giveUp)
        socket.destroy()
        plain.destroy()
        const seen = error ? undefined : readSeen(text)
        if (seen === undefined) reject(error ?? new Error('the shop did not say whom it saw'))
        else resolve(seen)
      }
      const giveUp = () => finish(new Error('no answer in time'))
      const timer = setTimeout(giveUp, limitMs)
      end.addEventListener('abort', giveUp)
      plain.on('error', finish)
      socket.on('error', finish)
      socket.on(isSecure ? 'secureConnect' : 'connect', () => socket.write(request))
      socket.on('data', (bytes: Uint8Array) => {
        text += new TextDecoder().decode(bytes)
        if (text.length > mostBytes || readSeen(text) !== undefined) finish()
      })
      socket.on('close', () => finish())
    })
}

/** The body is one line of JSON, however the answer is framed. */
function readSeen(answer: string): string | undefined {
  if (!/^HTTP\/1\.[01] 200 /.test(answer)) return undefined
  const body = /\{.*\}/s.exec(answer.slice(answer.indexOf('\r\n\r\n')))?.[0]
  const read = body === undefined ? undefined : answerSchema.safeParse(parseJson(body))
  return read?.success ? read.data.data.from : undefined
}
