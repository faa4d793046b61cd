import type { Socket } from 'bun'
import { z } from 'zod'
import { Refusal, refuseHere } from '../../../core/refusal.ts'
import type { After } from '../../../core/time.ts'
import { listRunning, openRunning, runningSocket } from '../../agent/boots.ts'
import { parseJson, type Timing } from '../../agent/runtime.ts'
import { fromTicketKey, type TicketKeyState, ticketKeyBytes, toTicketKey } from '../../tls/openssl/ticket-keys.ts'
import type { WithDescriptor } from '../../tls/tls-socket.ts'
import { after } from '../engines/portable/dialler.ts'
import { DescriptorPassing, maxAtOnce, type Received } from '../system/descriptor-passing.ts'

/**
 * Handover protocol between two processes of one gateway, over a Unix socket: the new process asks, the old one
 * answers, one JSON object per line.
 */

const port = z.int().min(1).max(65_535)

const questionSchema = z.discriminatedUnion('ask', [
  z.object({ ask: z.literal('who') }),
  /** The new process asks the old one for its listening sockets from index `from` on, as file descriptors. */
  z.object({ ask: z.literal('listeners'), from: z.int().nonnegative() }),
  /** The keys of session tickets: clients of the old process resume their TLS sessions at the new one. */
  z.object({ ask: z.literal('ticket-keys') }),
  /** The new process has taken over: stop listening. Answered when done. */
  z.object({ ask: z.literal('leave') }),
])
type Question = z.infer<typeof questionSchema>

const noSchema = z.object({ no: z.string().max(300) })
const whoSchema = z.object({
  pid: z.int().positive(),
  version: z.string().max(50),
  hostname: z.string().max(255),
  port,
  draining: z.boolean(),
  /** Open tunnels. Earlier versions do not send it. */
  tunnels: z.int().nonnegative().default(0),
})
type Who = z.infer<typeof whoSchema>
const listenersSchema = z.object({ ports: z.array(port), more: z.boolean() })
/** Base64; the first encrypts. */
const ticketKeysSchema = z.object({
  ticket_keys: z.array(z.base64().length(Math.ceil(ticketKeyBytes / 3) * 4)).max(10),
  rotated_at: z.int().nonnegative(),
})
const leftSchema = z.object({ left: z.literal(true) })

const answerSchema = z.union([noSchema, whoSchema, listenersSchema, ticketKeysSchema, leftSchema])
type Answer = z.infer<typeof answerSchema>

const maxLineBytes = 1000
/** Time between sharing the listeners and taking over. */
const takenWithinMs = 30_000

type Asking = { text: string }

type OfferDeps = {
  readonly folder: string
  readonly boot: string
  readonly who: () => Who
  /** Why it cannot be replaced now, or undefined. */
  readonly findObstacle: () => string | undefined
  readonly listeners: () => readonly { readonly port: number; readonly descriptor: number }[]
  readonly ticketKeys: () => TicketKeyState
  /** The new process listens; stop listening. */
  readonly leave: () => Promise<void>
  /** The new process did not take over in time; this one continues. */
  readonly onGivenUp: () => void
  readonly onFault: (fault: unknown) => void
  readonly after?: After
}

/** The old process's side: answers a new process that takes over. */
export class HandoverOffer {
  private readonly running: { close(): void }
  private passing: DescriptorPassing | undefined
  /** The process that has received listeners. */
  private taker: Socket<Asking> | undefined
  private stopWaiting: (() => void) | undefined

  constructor(private readonly deps: OfferDeps) {
    this.running = openRunning<Asking>(deps.folder, deps.boot, {
      open(socket) {
        socket.data = { text: '' }
      },
      data: (socket, bytes) => this.read(socket, bytes.toString('utf8')),
      close: (socket) => {
        if (this.taker === socket) this.setTaker(undefined)
      },
      error() {},
    })
  }

  close(): void {
    this.stopWaiting?.()
    this.running.close()
  }

  private read(socket: Socket<Asking>, text: string): void {
    socket.data.text += text
    if (socket.data.text.length > maxLineBytes) return socket.terminate()
    const lines = socket.data.text.split('\n')
    socket.data.text = lines.pop() ?? ''
    for (const line of lines) {
      this.answer(socket, line).catch((fault: unknown) => {
        this.deps.onFault(fault)
        socket.terminate()
      })
    }
  }

  private setTaker(socket: Socket<Asking> | undefined): void {
    if (this.taker === socket) return
    this.taker = socket
    this.stopWaiting?.()
    if (!socket) return
    this.stopWaiting = (this.deps.after ?? after)(takenWithinMs, () => {
      this.deps.onGivenUp()
      socket.terminate()
    })
  }

  private async answer(socket: Socket<Asking>, line: string): Promise<void> {
    const read = questionSchema.safeParse(parseJson(line))
    if (!read.success) return this.send(socket, { no: 'That makes no sense to this version.' })
    const question = read.data
    if (question.ask === 'who') return this.send(socket, this.deps.who())
    const isTaken = this.taker && this.taker !== socket
    const obstacle = isTaken ? 'Another process takes over already.' : this.deps.findObstacle()
    if (obstacle !== undefined) return this.send(socket, { no: obstacle })
    this.setTaker(socket)
    if (question.ask === 'listeners') return this.share(socket, question.from)
    if (question.ask === 'ticket-keys') return this.send(socket, writeTicketKeys(this.deps.ticketKeys()))
    this.stopWaiting?.()
    await this.deps.leave()
    this.send(socket, { left: true })
  }

  private share(socket: Socket<Asking>, from: number): void {
    const all = this.deps.listeners().toSorted((a, b) => a.port - b.port)
    const some = all.slice(from, from + maxAtOnce)
    const more = from + maxAtOnce < all.length
    const descriptors = some.map((each) => each.descriptor)
    this.send(socket, { ports: some.map((each) => each.port), more }, descriptors)
  }

  /** Uses sendmsg directly, because Bun cannot send descriptors. Answers are small. */
  private send(socket: Socket<Asking> & WithDescriptor, answer: Answer, descriptors: readonly number[] = []): void {
    this.passing ??= new DescriptorPassing()
    const bytes = new TextEncoder().encode(`${JSON.stringify(answer)}\n`)
    if (!this.passing.send(socket.fd ?? -1, bytes, descriptors)) socket.terminate()
  }
}

const answerWithinMs = 10_000
const lookEveryMs = 2
/** More than a gateway can need for its ports. */
const maxRounds = 1000

const cannot = (why: string): Refusal => refuseHere(why, 'unavailable')

class Ended extends Refusal {
  constructor() {
    const text = 'The gateway that runs has ended in the middle of being taken over.'
    super('here', { text }, null, undefined, 'unavailable')
  }
}

/** The running gateway, as seen by the process that replaces it. */
export type Predecessor = NonNullable<Awaited<ReturnType<typeof meet>>>

/** The process that serves this folder now, or undefined. */
export async function findPredecessor(folder: string, timing: Timing): Promise<Predecessor | undefined> {
  for (const boot of (await listRunning(folder)).toReversed()) {
    const predecessor = await meet(runningSocket(folder, boot), timing)
    if (predecessor && !predecessor.who.draining) return predecessor
    predecessor?.close()
  }
  return undefined
}

/** A process that does not answer a scrape of the metrics in time counts as one without tunnels. */
const countWithinMs = 1000

/** Open tunnels of replaced processes of this folder, which serve them to their end. */
export async function countDrainingTunnels(folder: string, ownBoot: string, timing: Timing): Promise<number> {
  const others = (await listRunning(folder)).filter((boot) => boot !== ownBoot)
  const counts = others.map(async (boot) => {
    const met = await meet(runningSocket(folder, boot), timing, countWithinMs).catch(() => undefined)
    met?.close()
    return met?.who.draining ? met.who.tunnels : 0
  })
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0)
}

async function meet(path: string, timing: Timing, withinMs = answerWithinMs) {
  const passing = new DescriptorPassing()
  const descriptor = passing.connect(path)
  // It has exited since.
  if (descriptor < 0) return undefined
  const ask = createAsk(passing, descriptor, timing, withinMs)
  try {
    const { answer: who } = await ask({ ask: 'who' }, whoSchema)
    return {
      who,
      /** Its listeners by port, duplicated into this process. It keeps listening too. */
      listeners: () => takeListeners(ask),
      ticketKeys: () => takeTicketKeys(ask),
      /** Stops listening and drains. */
      leave: async (): Promise<void> => void (await ask({ ask: 'leave' }, leftSchema)),
      close: () => passing.close(descriptor),
    }
  } catch (error) {
    passing.close(descriptor)
    // A draining process may exit while it is asked.
    if (error instanceof Ended) return undefined
    throw error
  }
}

/** Sends one question at a time. */
function createAsk(passing: DescriptorPassing, descriptor: number, timing: Timing, withinMs: number) {
  async function receive(giveUpAt: number): Promise<Received> {
    while (timing.now() < giveUpAt) {
      const got = passing.receive(descriptor)
      if (got && got.bytes.length === 0) throw new Ended()
      if (got) return got
      await timing.pause(lookEveryMs)
    }
    throw cannot('The gateway that runs does not answer.')
  }

  return async <Of>(question: Question, schema: z.ZodType<Of>) => {
    passing.send(descriptor, new TextEncoder().encode(`${JSON.stringify(question)}\n`))
    const giveUpAt = timing.now() + withinMs
    const descriptors: number[] = []
    let text = ''
    while (!text.endsWith('\n')) {
      const got = await receive(giveUpAt)
      text += new TextDecoder().decode(got.bytes)
      descriptors.push(...got.descriptors)
    }
    const any = answerSchema.safeParse(parseJson(text))
    if (any.success && 'no' in any.data) throw cannot(any.data.no)
    const read = schema.safeParse(any.data)
    if (!read.success) throw cannot('The gateway that runs is of a version that cannot be taken over from.')
    return { answer: read.data, descriptors }
  }
}

const writeTicketKeys = ({ keys, rotatedAt }: TicketKeyState) => ({
  ticket_keys: keys.map((key) => Buffer.from(fromTicketKey(key)).toString('base64')),
  rotated_at: rotatedAt,
})

/** Undefined if the old process has none, as earlier versions. */
async function takeTicketKeys(ask: ReturnType<typeof createAsk>): Promise<TicketKeyState | undefined> {
  try {
    const { answer } = await ask({ ask: 'ticket-keys' }, ticketKeysSchema)
    const keys = answer.ticket_keys.map((key) => toTicketKey(new Uint8Array(Buffer.from(key, 'base64'))))
    return keys.length > 0 ? { keys, rotatedAt: answer.rotated_at } : undefined
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

async function takeListeners(ask: ReturnType<typeof createAsk>): Promise<Map<number, number>> {
  const taken = new Map<number, number>()
  for (let round = 0; round < maxRounds; round += 1) {
    const { answer, descriptors } = await ask({ ask: 'listeners', from: taken.size }, listenersSchema)
    for (const [index, listened] of answer.ports.entries()) {
      const descriptor = descriptors[index]
      if (descriptor !== undefined) taken.set(listened, descriptor)
    }
    if (!answer.more) return taken
  }
  throw cannot('The gateway that runs names ports without end.')
}
