import { Resolver } from 'node:dns/promises'
import { connect as connectTcp, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { type Address, formatAddress, readAddress, unmap } from '../core/address.ts'
import { classify } from '../core/reserved.ts'
import type { EndpointAnswer, OpenSender, Sender, WebhookMessage } from '../domains/webhooks/ports.ts'
import { portOf, urlProblem } from '../domains/webhooks/rules.ts'

/** Resolves a name to IPv4 and IPv6 addresses. */
type LookupAll = (name: string) => Promise<readonly string[]>

type SenderDeps = {
  /** The system's resolver by default; tests pass their own. */
  readonly lookup?: LookupAll
  /** Addresses of this machine's interfaces, which may serve what is not meant for customers. */
  readonly findLocal?: () => ReadonlySet<string>
  /** A certificate authority besides those of the system, for tests. */
  readonly ca?: string
}

const maxAnswerBytes = 64 * 1024
const maxHeadBytes = 16 * 1024

/** Why no answer came. */
class Failed extends Error {
  constructor(
    readonly problem: 'timeout' | 'connection' | 'tls' | 'name' | 'address' | 'port' | 'scheme' | 'url' | 'answer',
  ) {
    super(problem)
  }
}

/**
 * Sends messages over HTTP/1.1. The address is judged at every attempt: the name is resolved, every address in the
 * answer must be public (in a sandbox also loopback), and the connection goes to the address that was judged, with the
 * name in SNI and Host. No redirect is followed. The connection is kept for the next message to the same address.
 */
export const createSenders = (deps: SenderDeps = {}): OpenSender => {
  const { lookup = createLookup(), findLocal = createLocalAddresses() } = deps
  return (): Sender => {
    let kept: Connection | undefined
    let isClosed = false
    /** A server may close a kept connection at any moment: a message that it did not answer goes to a new one, once. */
    const post = async (target: Target, message: WebhookMessage, signal: AbortSignal): Promise<EndpointAnswer> => {
      if (kept?.isOpen && kept.fits(target)) {
        const answer = await kept.post(message, signal).catch(() => undefined)
        if (answer || signal.aborted) return answer ?? Promise.reject(new Failed('timeout'))
      }
      kept?.close()
      if (isClosed) throw new Failed('connection')
      kept = new Connection(target, deps.ca)
      return kept.post(message, signal)
    }
    return {
      async send(message): Promise<EndpointAnswer> {
        const timeout = new AbortController()
        const timer = setTimeout(() => timeout.abort(), message.limitMs)
        try {
          const target = await judge(message, { lookup, findLocal }, timeout.signal)
          return await post(target, message, timeout.signal)
        } catch (error) {
          kept?.close()
          kept = undefined
          const problem = timeout.signal.aborted ? 'timeout' : error instanceof Failed ? error.problem : 'connection'
          return { status: null, problem, retryAfterMs: null }
        } finally {
          clearTimeout(timer)
        }
      },
      close() {
        isClosed = true
        kept?.close()
      },
    }
  }
}

/** The judged address that a message connects to, never a name. */
type Target = { readonly url: URL; readonly address: Address; readonly port: number; readonly name: string | undefined }

/** Resolves and judges the host of a message. Throws for addresses that no endpoint may have. */
async function judge(
  { url: text, isSandbox }: WebhookMessage,
  { lookup, findLocal }: Required<Pick<SenderDeps, 'lookup' | 'findLocal'>>,
  signal: AbortSignal,
): Promise<Target> {
  const problem = urlProblem(text, isSandbox)
  if (problem !== undefined) throw new Failed(problem)
  const url = new URL(text)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const literal = readAddress(host)
  const found = literal ? [literal] : await resolveHost(host, lookup, signal)
  const local = findLocal()
  const isAllowed = (each: Address): boolean => {
    const address = unmap(each)
    const addressClass = classify(address)
    if (isSandbox && addressClass === 'loopback') return true
    return addressClass === 'public' && url.protocol === 'https:' && !local.has(formatAddress(address))
  }
  const [address] = found
  // One forbidden address among them is enough: an answer that mixes them is made to pass a check of the first.
  if (!address || !found.every(isAllowed)) throw new Failed('address')
  return { url, address, port: portOf(url), name: literal ? undefined : host }
}

/** Reads the interfaces at most once a second: one read costs a tenth of an attempt. */
function createLocalAddresses(): () => ReadonlySet<string> {
  let readAt = Number.NEGATIVE_INFINITY
  let found: ReadonlySet<string> = new Set()
  return () => {
    if (performance.now() - readAt < 1000) return found
    readAt = performance.now()
    const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
    const addresses = all.map(({ address }) => readAddress(address)).filter((each) => each !== undefined)
    found = new Set(addresses.map((each) => formatAddress(each)))
    return found
  }
}

async function resolveHost(host: string, lookup: LookupAll, signal: AbortSignal): Promise<readonly Address[]> {
  // RFC 6761, 6.3: never looked up.
  if (host === 'localhost' || host.endsWith('.localhost')) return [readAddress('127.0.0.1')].filter((each) => !!each)
  const texts = await Promise.race([lookup(host), aborted(signal)]).catch(() => {
    throw new Failed('name')
  })
  const found = texts.map((each) => readAddress(each))
  if (found.length === 0) throw new Failed('name')
  return found.map((each) => {
    if (!each) throw new Failed('address')
    return each
  })
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(new Failed('timeout'))
    else signal.addEventListener('abort', () => reject(new Failed('timeout')), { once: true })
  })

/** IPv4 and IPv6 together; a name with either has an address. */
function createLookup(): LookupAll {
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  return async (name) => {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  }
}

/** One connection to a judged address: one request at a time, reused while both sides allow it. */
class Connection {
  readonly #socket: Socket
  readonly #ready: Promise<void>
  #received = Buffer.alloc(0)
  #isOpen = true
  #waiting: { resolve: (answer: EndpointAnswer) => void; reject: (error: Error) => void } | undefined

  constructor(
    private readonly target: Target,
    ca: string | undefined,
  ) {
    const { address, port, name, url } = target
    const host = formatAddress(address)
    const isTls = url.protocol === 'https:'
    const socket = isTls
      ? connectTls({
          host,
          port,
          // An address has no SNI; its certificate must name the address.
          servername: name ?? '',
          ALPNProtocols: ['http/1.1'],
          ...(ca !== undefined && { ca }),
        })
      : connectTcp(port, host)
    this.#socket = socket
    this.#ready = new Promise((resolve, reject) => {
      socket.once(isTls ? 'secureConnect' : 'connect', () => resolve())
      socket.once('error', (error: Error & { code?: string }) => reject(new Failed(toProblem(error))))
      socket.once('close', () => reject(new Failed('connection')))
    })
    this.#ready.catch(() => {})
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', () => this.#end())
    socket.on('close', () => this.#end())
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  fits({ url, address, port }: Target): boolean {
    const own = this.target
    return own.port === port && own.url.origin === url.origin && formatAddress(own.address) === formatAddress(address)
  }

  async post({ url: text, headers, body }: WebhookMessage, signal: AbortSignal): Promise<EndpointAnswer> {
    const stop = () => this.close()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await this.#ready
      const url = new URL(text)
      const answer = new Promise<EndpointAnswer>((resolve, reject) => {
        this.#waiting = { resolve, reject }
      })
      const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) })
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      this.#socket.write(`POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${head}\r\n${body}`)
      return await answer
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  close(): void {
    this.#isOpen = false
    this.#socket.destroy()
    this.#end()
  }

  #end(): void {
    this.#isOpen = false
    this.#waiting?.reject(new Failed('connection'))
    this.#waiting = undefined
  }

  #take(chunk: Buffer): void {
    if (!this.#waiting) return this.close()
    this.#received = Buffer.concat([this.#received, chunk])
    const read = readAnswer(this.#received)
    if (read === 'more') {
      if (this.#received.length > maxAnswerBytes) this.#refuse()
      return
    }
    if (read === 'malformed') return this.#refuse()
    const { resolve } = this.#waiting
    this.#waiting = undefined
    this.#received = Buffer.alloc(0)
    if (!read.isReusable) this.close()
    resolve(read.answer)
  }

  #refuse(): void {
    this.#waiting?.reject(new Failed('answer'))
    this.#waiting = undefined
    this.close()
  }
}

function toProblem({ code = '', message }: Error & { code?: string }): 'tls' | 'connection' {
  return /CERT|TLS|SSL|SIGNED|ALTNAME|certificate/i.test(`${code} ${message}`) ? 'tls' : 'connection'
}

type ReadAnswer = { readonly answer: EndpointAnswer; readonly isReusable: boolean }

/** Reads the head of an answer, and its body where its length is known: otherwise the connection ends here. */
function readAnswer(received: Buffer): ReadAnswer | 'more' | 'malformed' {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return received.length > maxHeadBytes ? 'malformed' : 'more'
  const [first = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1] ?? 0)
  if (status < 200 || status > 599) return 'malformed'
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
  const answer = { status, problem: null, retryAfterMs: toRetryAfter(headers.get('retry-after')) }
  const length = status === 204 ? '0' : headers.get('content-length')
  const isPlain = !headers.has('transfer-encoding') && /^\d{1,6}$/.test(length ?? '')
  const stays = first.startsWith('HTTP/1.1') && !/close/i.test(headers.get('connection') ?? '')
  if (!isPlain || !stays) return { answer, isReusable: false }
  const missing = end + 4 + Number(length) - received.length
  // Bytes beyond the answer belong to no request of ours.
  if (missing < 0) return { answer, isReusable: false }
  return missing === 0
    ? { answer, isReusable: true }
    : Number(length) > maxAnswerBytes
      ? { answer, isReusable: false }
      : 'more'
}

const toRetryAfter = (value: string | undefined): number | null =>
  value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) * 1000 : null
