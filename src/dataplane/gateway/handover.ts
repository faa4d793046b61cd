import type { Socket } from 'bun'
import { z } from 'zod'
import { Refusal, refuseHere } from '../../core/refusal.ts'
import type { After } from '../../core/time.ts'
import { listRunning, openRunning, runningSocket } from '../agent/boots.ts'
import { parseJson, type Timing } from '../agent/runtime.ts'
import { createPassing, maxAtOnce, type Passing, type Received } from './relay/linux/descriptor-passing.ts'
import { after } from './relay/portable/dialler.ts'

/**
 * Handover protocol between two processes of one gateway, over a Unix socket: the new process asks, the old one
 * answers, one JSON object per line.
 */

const port = z.int().min(1).max(65_535)

const questionSchema = z.discriminatedUnion('ask', [
  z.object({ ask: z.literal('who') }),
  /** Requests listeners as descriptors, starting with the `from`th. */
  z.object({ ask: z.literal('listeners'), from: z.int().nonnegative() }),
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
  /** It has been replaced already. */
  leaving: z.boolean(),
})
type Who = z.infer<typeof whoSchema>
const listenersSchema = z.object({ ports: z.array(port), more: z.boolean() })
const leftSchema = z.object({ left: z.literal(true) })

const answerSchema = z.union([noSchema, whoSchema, listenersSchema, leftSchema])
type Answer = z.infer<typeof answerSchema>

const maxLineBytes = 1000
/** Time between sharing the listeners and taking over. */
const takenWithinMs = 30_000

type Asking = { text: string }
type Listener = { readonly port: number; readonly descriptor: number }

/** The old process's side: answers a new process that takes over. */
export function openOffer(deps: {
  readonly folder: string
  readonly boot: string
  readonly who: () => Who
  /** Why it cannot be replaced now, or undefined. */
  readonly findObstacle: () => string | undefined
  readonly listeners: () => readonly Listener[]
  /** The new process listens; stop listening. */
  readonly leave: () => Promise<void>
  /** The new process did not take over in time; this one continues. */
  readonly onGivenUp: () => void
  readonly onFault: (fault: unknown) => void
  readonly after?: After
}) {
  const wait = deps.after ?? after
  let passing: Passing | undefined
  /** The process that has received listeners. */
  let taker: Socket<Asking> | undefined
  let stopWaiting: (() => void) | undefined

  function setTaker(socket: Socket<Asking> | undefined): void {
    if (taker === socket) return
    taker = socket
    stopWaiting?.()
    if (!socket) return
    stopWaiting = wait(takenWithinMs, () => {
      deps.onGivenUp()
      socket.terminate()
    })
  }

  async function answer(socket: Socket<Asking>, line: string): Promise<void> {
    const read = questionSchema.safeParse(parseJson(line))
    if (!read.success) return say(socket, { no: 'That makes no sense to this version.' })
    const question = read.data
    if (question.ask === 'who') return say(socket, deps.who())
    const obstacle = taker && taker !== socket ? 'Another process takes over already.' : deps.findObstacle()
    if (obstacle !== undefined) return say(socket, { no: obstacle })
    setTaker(socket)
    if (question.ask === 'listeners') return share(socket, question.from)
    stopWaiting?.()
    await deps.leave()
    say(socket, { left: true })
  }

  function share(socket: Socket<Asking>, from: number): void {
    const all = deps.listeners().toSorted((a, b) => a.port - b.port)
    const some = all.slice(from, from + maxAtOnce)
    const more = from + maxAtOnce < all.length
    const descriptors = some.map((each) => each.descriptor)
    say(socket, { ports: some.map((each) => each.port), more }, descriptors)
  }

  /** Uses sendmsg directly, because Bun cannot send descriptors. Answers are small. */
  function say(socket: Socket<Asking>, word: Answer, descriptors: readonly number[] = []): void {
    passing ??= createPassing()
    const { fd } = socket as unknown as { readonly fd: number }
    if (!passing.send(fd, new TextEncoder().encode(`${JSON.stringify(word)}\n`), descriptors)) socket.terminate()
  }

  const running = openRunning<Asking>(deps.folder, deps.boot, {
    open(socket) {
      socket.data = { text: '' }
    },
    data(socket, bytes) {
      socket.data.text += bytes.toString('utf8')
      if (socket.data.text.length > maxLineBytes) {
        socket.terminate()
        return
      }
      const lines = socket.data.text.split('\n')
      socket.data.text = lines.pop() ?? ''
      for (const line of lines) {
        answer(socket, line).catch((fault: unknown) => {
          deps.onFault(fault)
          socket.terminate()
        })
      }
    },
    close(socket) {
      if (taker === socket) setTaker(undefined)
    },
    error() {},
  })

  return {
    close(): void {
      stopWaiting?.()
      running.close()
    },
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
export type Predecessor = {
  readonly who: Who
  /** Its listeners by port, duplicated into this process. It keeps listening too. */
  listeners(): Promise<Map<number, number>>
  /** Stops listening and drains. */
  leave(): Promise<void>
  close(): void
}

/** The process that serves this folder now, or undefined. */
export async function findPredecessor(folder: string, timing: Timing): Promise<Predecessor | undefined> {
  for (const boot of (await listRunning(folder)).toReversed()) {
    const predecessor = await meet(runningSocket(folder, boot), timing)
    if (predecessor && !predecessor.who.leaving) return predecessor
    predecessor?.close()
  }
  return undefined
}

async function meet(path: string, timing: Timing): Promise<Predecessor | undefined> {
  const passing = createPassing()
  const descriptor = passing.connect(path)
  // It has exited since.
  if (descriptor < 0) return undefined
  const line = createLine(passing, descriptor, timing)
  try {
    const { word: who } = await line.ask({ ask: 'who' }, whoSchema)
    return {
      who,
      listeners: () => takeListeners(line),
      async leave() {
        await line.ask({ ask: 'leave' }, leftSchema)
      },
      close: () => passing.close(descriptor),
    }
  } catch (error) {
    passing.close(descriptor)
    // A draining process may exit while it is asked.
    if (error instanceof Ended) return undefined
    throw error
  }
}

type Line = ReturnType<typeof createLine>

/** Sends one question at a time. */
function createLine(passing: Passing, descriptor: number, timing: Timing) {
  async function receive(giveUpAt: number): Promise<Received> {
    while (timing.now() < giveUpAt) {
      const got = passing.receive(descriptor)
      if (got && got.bytes.length === 0) throw new Ended()
      if (got) return got
      await timing.pause(lookEveryMs)
    }
    throw cannot('The gateway that runs does not answer.')
  }

  return {
    async ask<Word>(
      question: Question,
      schema: z.ZodType<Word>,
    ): Promise<{ readonly word: Word; readonly descriptors: readonly number[] }> {
      passing.send(descriptor, new TextEncoder().encode(`${JSON.stringify(question)}\n`))
      const giveUpAt = timing.now() + answerWithinMs
      const descriptors: number[] = []
      let text = ''
      while (!text.endsWith('\n')) {
        const got = await receive(giveUpAt)
        text += new TextDecoder().decode(got.bytes)
        descriptors.push(...got.descriptors)
      }
      const answer = answerSchema.safeParse(parseJson(text))
      if (answer.success && 'no' in answer.data) throw cannot(answer.data.no)
      const read = schema.safeParse(answer.data)
      if (!read.success) throw cannot('The gateway that runs is of a version that cannot be taken over from.')
      return { word: read.data, descriptors }
    },
  }
}

async function takeListeners(line: Line): Promise<Map<number, number>> {
  const taken = new Map<number, number>()
  for (let round = 0; round < maxRounds; round += 1) {
    const { word, descriptors } = await line.ask({ ask: 'listeners', from: taken.size }, listenersSchema)
    for (const [index, listened] of word.ports.entries()) {
      const descriptor = descriptors[index]
      if (descriptor !== undefined) taken.set(listened, descriptor)
    }
    if (!word.more) return taken
  }
  throw cannot('The gateway that runs names ports without end.')
}
