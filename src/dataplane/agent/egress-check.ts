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
/** Consecutive connections that did not open, while the shop is reachable otherwise, that make an address fail. */
const maxFailures = 2
/** TLS error codes about certificates, such as `DEPTH_ZERO_SELF_SIGNED_CERT`. */
const ofCertificates = /CERT|LEAF_SIGNATURE/
const steps = 2 ** 40

/** Why the shop cannot be called in a family of addresses, by the error of the call. */
function obstacleOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (ofCertificates.test(code)) return 'egress_not_checked_shop_not_trusted'
  if (code === 'ENOTFOUND' || code === 'ENODATA') return 'egress_not_checked_no_shop_address'
  const isUnrouted = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(code)
  return isUnrouted ? 'egress_not_checked_no_route' : notReached
}
const notReached = 'egress_not_checked_shop_not_reached'

/**
 * Calls the shop from one local address, or from any of the family. Resolves to the address that the shop saw, or to
 * undefined if the connection opened and the shop did not answer with one: it may be stopping. Rejects if the
 * connection did not open.
 */
export type CallShop = (version: 4 | 6, from: string | undefined, end: AbortSignal) => Promise<string | undefined>

/**
 * Checks that connections can leave from the addresses of a range, by calling the shop from them. If the shop cannot be
 * called in their family at all, no address fails.
 */
export class EgressCheck {
  private readonly base: Address
  private readonly size: bigint
  private readonly failures = new Map<string, number>()
  private readonly calling = new Set<string>()
  /** The address that the shop saw, if it differed. */
  seenAs: string | null = null
  /** Whether the shop was ever reached in this family. */
  isReached = false
  /** Why the last call from any address failed. */
  obstacle = notReached
  private at = 0n
  readonly stepsPerRound: number

  constructor(
    private readonly deps: {
      readonly prefix: Prefix
      /** A large block is sampled instead of checked address by address. */
      readonly isBlock: boolean
      readonly call: CallShop
      readonly canUse: (address: Address) => boolean
      readonly chance: Chance
    },
  ) {
    const { base, length } = deps.prefix
    this.base = base
    this.size = 1n << BigInt(base.bytes.length * 8 - length)
    this.stepsPerRound = deps.isBlock ? callsAtOnce : Number(this.size)
  }

  /** Checks the first addresses before the range is reported as serving. */
  async begin(firstCalls: number, end: AbortSignal): Promise<void> {
    if (!(await this.canCall(end))) return
    const count = this.deps.isBlock ? callsAtOnce : Number(this.size < firstCalls ? this.size : BigInt(firstCalls))
    const waiting = Array.from({ length: count }, () => this.next())
    const work = async () => {
      for (let each = waiting.shift(); each && !end.aborted; each = waiting.shift()) {
        if (this.deps.canUse(each)) await this.callFrom(each, end)
      }
    }
    await Promise.all(Array.from({ length: callsAtOnce }, work))
  }

  /** Checks the next address. Undefined if it is not on this machine or already being checked. */
  step(end: AbortSignal): Promise<boolean> | undefined {
    const address = this.next()
    return this.calling.has(formatAddress(address)) || !this.deps.canUse(address)
      ? undefined
      : this.callFrom(address, end)
  }

  problemOf(address: Address): string | undefined {
    return (this.failures.get(this.keyOf(address)) ?? 0) >= maxFailures ? 'cannot_leave' : undefined
  }

  private keyOf(address: Address): string {
    return this.deps.isBlock ? '' : formatAddress(address)
  }

  private next(): Address {
    const offset = this.deps.isBlock
      ? (this.size * BigInt(Math.floor(this.deps.chance() * steps))) / BigInt(steps)
      : this.at % this.size
    this.at += 1n
    return addressFromNumber(this.base.version, addressToNumber(this.base) + offset)
  }

  private async canCall(end: AbortSignal): Promise<boolean> {
    try {
      const isAnswered = (await this.deps.call(this.base.version, undefined, end)) !== undefined
      if (isAnswered) this.isReached = true
      else this.obstacle = notReached
      return isAnswered
    } catch (error) {
      this.obstacle = obstacleOf(error)
      return false
    }
  }

  /** Resolves to whether the result changed. */
  private async callOnce(address: Address, end: AbortSignal): Promise<boolean> {
    const [key, text] = [this.keyOf(address), formatAddress(address)]
    const had = this.failures.get(key) ?? 0
    try {
      const seen = await this.deps.call(this.base.version, text, end)
      if (seen === undefined) return false
      this.isReached = true
      const isOther = seen !== text && seen !== this.seenAs
      if (isOther) this.seenAs = seen
      this.failures.delete(key)
      return isOther || had >= maxFailures
    } catch {
      if (end.aborted || !(await this.canCall(end))) return false
      this.failures.set(key, had + 1)
      return had + 1 === maxFailures
    }
  }

  /** Retries a first failure at once. */
  private async callFrom(address: Address, end: AbortSignal): Promise<boolean> {
    const text = formatAddress(address)
    this.calling.add(text)
    const isNews = await this.callOnce(address, end)
    const failed = this.failures.get(this.keyOf(address)) ?? 0
    const isNewsNow = failed > 0 && failed < maxFailures ? await this.callOnce(address, end) : false
    this.calling.delete(text)
    return isNews || isNewsNow
  }
}

const maxBytes = 16 * 1024

const answerSchema = z.object({ data: seenSchema })

/** Creates a caller of `GET /node/v1/seen` over a connection bound to one local address. */
export function createCallShop(deps: {
  readonly base: URL
  readonly secret: string
  readonly limitMs?: number
}): CallShop {
  const { base, secret, limitMs = 3_000 } = deps
  const host = base.hostname.replace(/^\[|\]$/g, '')
  const isSecure = base.protocol === 'https:'
  const port = base.port === '' ? (isSecure ? 443 : 80) : Number(base.port)
  const literal = readAddress(host)
  // RFC 6066, 3: an IP address is no server name; the certificate is still checked against `host`.
  const named = literal ? {} : { servername: host }
  const head = `GET ${new URL('seen', base).pathname} HTTP/1.1\r\nHost: ${base.host}\r\n`
  const request = `${head}Authorization: Bearer ${secret}\r\nConnection: close\r\n\r\n`

  return (version, from, end) =>
    new Promise((resolve, reject) => {
      if (literal && literal.version !== version) {
        reject(Object.assign(new Error(`the shop has no IPv${version} address`), { code: 'ENOTFOUND' }))
        return
      }
      const plain = connect({ host, port, family: version, ...(from !== undefined && { localAddress: from }) })
      const socket: Socket = isSecure ? connectSecurely({ socket: plain, host, ...named }) : plain
      let text = ''
      let isOpen = false
      const finish = (error?: Error) => {
        clearTimeout(timer)
        end.removeEventListener('abort', giveUp)
        socket.destroy()
        plain.destroy()
        if (isOpen) resolve(readSeen(text))
        else reject(error ?? new Error('the connection closed before it opened'))
      }
      const giveUp = () => finish(new Error('no answer in time'))
      const timer = setTimeout(giveUp, limitMs)
      end.addEventListener('abort', giveUp)
      plain.on('error', finish)
      socket.on('error', finish)
      socket.on(isSecure ? 'secureConnect' : 'connect', () => {
        isOpen = true
        socket.write(request)
      })
      socket.on('data', (bytes: Uint8Array) => {
        text += new TextDecoder().decode(bytes)
        if (text.length > maxBytes || readSeen(text) !== undefined) finish()
      })
      socket.on('close', () => finish())
    })
}

/** The body is one line of JSON in any framing. */
function readSeen(answer: string): string | undefined {
  if (!/^HTTP\/1\.[01] 200 /.test(answer)) return undefined
  const body = /\{.*\}/s.exec(answer.slice(answer.indexOf('\r\n\r\n')))?.[0]
  const read = body === undefined ? undefined : answerSchema.safeParse(parseJson(body))
  return read?.success ? read.data.data.from : undefined
}
