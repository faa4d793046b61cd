import { never, type Process } from './process.ts'
import type { World } from './world.ts'

/** A program that runs and answers requests. */
type Server = { readonly process: Process; readonly answer: (request: Request) => Promise<Response> }

/** A program that answers requests, or several behind a load balancer; `find` has none while none runs. */
export type Party = { readonly name: string; readonly find: () => Server | undefined }

/** How bad the network is: how many of 100 messages are lost, delivered twice, or late. */
export type Quality = { readonly lost: number; readonly doubled: number; readonly late: number }

/** Usual and late delays of a message, in milliseconds. */
const usualMs = 20
const lateMs = 6_000

/** The error of a runtime whose connection was refused or reset. */
const connectionError = (code: string): Error => Object.assign(new Error(code), { code })

type Message = { readonly link: string; readonly what: string; readonly isRepeatable: boolean }

/**
 * HTTP between simulated processes. A request and an answer are messages: each may be lost, late, or overtaken, and a
 * request that its receiver must be able to take twice may arrive twice, as behind a proxy that repeats it. Links are
 * cut one by one.
 */
export class Network {
  private readonly parties = new Map<string, Party>()
  private readonly cut = new Set<string>()
  /** Of requests without an answer. The runtime keeps a request and all that waits for its signal until it ends. */
  private readonly hangUps = new Set<AbortController>()

  constructor(
    private readonly world: World,
    public quality: Quality,
  ) {
    world.fetch = (from, url, init) => this.fetch(from, url, init)
  }

  add(host: string, party: Party): void {
    this.parties.set(host, party)
  }

  /** Cuts a link in one direction, or mends it. */
  setCut(from: string, to: string, isCut: boolean): void {
    const link = `${from} to ${to}`
    this.world.note(`the link from ${link} is ${isCut ? 'cut' : 'mended'}`)
    if (isCut) this.cut.add(link)
    else this.cut.delete(link)
  }

  /** Ends all faults of the network. */
  heal(): void {
    this.cut.clear()
    this.quality = { lost: 0, doubled: 0, late: 0 }
  }

  /** Ends all requests, once no process runs. */
  close(): void {
    for (const each of this.hangUps) each.abort()
    this.hangUps.clear()
  }

  private async fetch(from: Process, url: URL, init: RequestInit): Promise<Response> {
    const party = this.parties.get(url.hostname)
    if (!party) throw connectionError('ENOTFOUND')
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    const sent = toSent(init)
    const message = {
      link: `${from.name} to ${party.name}`,
      what: `${sent.method} ${url.pathname}`,
      isRepeatable: isRepeatable(sent, url),
    }
    const hangUps = new Set<AbortController>()
    const giveUp = () => {
      for (const each of hangUps) this.later(undefined, message, 'hang-up', () => each.abort())
      reject(connectionError('ABORT_ERR'))
    }
    init.signal?.addEventListener('abort', giveUp)
    if (init.signal?.aborted) throw connectionError('ABORT_ERR')
    const copies = message.isRepeatable && this.happens(message, 'doubled') ? 2 : 1
    if (copies === 2) this.world.note(`${message.what} from ${message.link} is delivered twice`)
    for (let copy = 0; copy < copies; copy += 1) {
      const hangUp = new AbortController()
      hangUps.add(hangUp)
      this.deliver(message, copy > 0, () => {
        this.hangUps.add(hangUp)
        this.receive(party, from, message, toRequest(url, sent, hangUp.signal), resolve, reject)
      })
    }
    try {
      const response = await promise
      await from.step(`answer to ${message.what}`)
      return response
    } catch (error) {
      return await (from.isAlive ? Promise.reject(error) : never<Response>())
    } finally {
      init.signal?.removeEventListener('abort', giveUp)
    }
  }

  /** The receiver takes the request; its answer is another message. */
  private receive(
    party: Party,
    from: Process,
    message: Message,
    request: Request,
    resolve: (response: Response) => void,
    reject: (error: Error) => void,
  ): void {
    const found = party.find()
    const server = found?.process
    const back = { ...message, link: `${party.name} to ${from.name}`, what: `answer to ${message.what}` }
    if (!found || !server?.isAlive) {
      this.later(from, back, 'refusal', () => reject(connectionError('ECONNREFUSED')))
      return
    }
    server.onCrash(() => this.later(from, back, 'reset', () => reject(connectionError('ECONNRESET'))))
    const answering = async () => {
      const response = await found.answer(request)
      const body = await response.bytes()
      await server.step(`sending the ${back.what}`)
      this.deliver(back, false, () => {
        if (from.isAlive)
          resolve(new Response(bodyOf(response, body), { status: response.status, headers: response.headers }))
      })
    }
    void server.run(answering).catch((error: unknown) => this.world.fail(error))
  }

  /** A repeated message may come long after the first one. */
  private deliver(message: Message, isRepeated: boolean, act: () => void): void {
    if (this.happens(message, 'lost')) {
      this.world.note(`${message.what} from ${message.link} is lost`)
      return
    }
    this.later(undefined, message, 'message', act, isRepeated && this.world.chance('late repeat', 2) === 0)
  }

  private later(process: Process | undefined, message: Message, kind: string, act: () => void, isHeld = false): void {
    const isLate = isHeld || this.happens(message, 'late')
    const delayMs = 1 + this.world.chance(`delay of ${message.link}`, isLate ? lateMs : usualMs)
    if (isLate) this.world.note(`${message.what} from ${message.link} is ${delayMs} ms late`)
    this.world.schedule(process, delayMs, `${kind} ${message.what}`, () => {
      if (this.cut.has(message.link)) this.world.note(`${message.what} meets the cut link from ${message.link}`)
      else act()
    })
  }

  private happens({ link, what }: Message, fault: keyof Quality): boolean {
    return this.quality[fault] > 0 && this.world.chance(`${fault}: ${link} ${what}`, 100) < this.quality[fault]
  }
}

type Sent = { readonly method: string; readonly headers: Headers; readonly body: string | undefined }

const toSent = ({ method = 'GET', headers, body }: RequestInit): Sent => {
  const sent = new Headers(headers)
  if (body === undefined || body === null) return { method, headers: sent, body: undefined }
  if (typeof body !== 'string') throw new Error('the simulated network carries texts only')
  sent.set('content-length', String(Buffer.byteLength(body)))
  return { method, headers: sent, body }
}

const toRequest = (url: URL, { method, headers, body }: Sent, signal: AbortSignal): Request =>
  new Request(url.href, { method, headers, signal, ...(body !== undefined && { body }) })

const bodyOf = ({ status }: Response, body: Uint8Array): Uint8Array<ArrayBuffer> | null =>
  [101, 204, 205, 304].includes(status) ? null : new Uint8Array(body)

/** Its receiver promises that a second delivery has no second effect. */
const isRepeatable = ({ method, headers }: Sent, { pathname }: URL): boolean =>
  method === 'GET' ||
  headers.has('idempotency-key') ||
  headers.has('idempotence-key') ||
  pathname === '/node/v1/report' ||
  pathname.includes('/notify')
