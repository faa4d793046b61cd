import type { Socket } from 'bun'
import { z } from 'zod'
import { Refusal, refuseHere } from '../../core/refusal.ts'
import type { After } from '../../core/time.ts'
import { listRunning, openRunning, runningSocket } from '../agent/boots.ts'
import { parseJson, type Timing } from '../agent/runtime.ts'
import { createPassing, mostAtOnce, type Passing, type Received } from './relay/linux/descriptor-passing.ts'
import { after } from './relay/portable/dialler.ts'

/**
 * What two processes of one gateway say to each other over a socket in its folder, a line of JSON each: the later one
 * asks, the earlier one answers.
 */

const port = z.int().min(1).max(65_535)

const questionSchema = z.discriminatedUnion('ask', [
  /** Who is it? */
  z.object({ ask: z.literal('who') }),
  /** May its listeners be shared? Those from the `from`th on come with the answer, as descriptors. */
  z.object({ ask: z.literal('listeners'), from: z.int().nonnegative() }),
  /** All is taken over: it listens no more. Answered once that is so. */
  z.object({ ask: z.literal('leave') }),
])
type Question = z.infer<typeof questionSchema>

const noSchema = z.object({ no: z.string().max(300) })
const whoSchema = z.object({
  pid: z.int().positive(),
  version: z.string().max(50),
  hostname: z.string().max(255),
  port,
  /** Another has taken over from it already. */
  leaving: z.boolean(),
})
type Who = z.infer<typeof whoSchema>
const listenersSchema = z.object({ ports: z.array(port), more: z.boolean() })
const leftSchema = z.object({ left: z.literal(true) })

const answerSchema = z.union([noSchema, whoSchema, listenersSchema, leftSchema])
type Answer = z.infer<typeof answerSchema>

/** No question is longer. */
const mostLineBytes = 1000
/** Whoever has the listeners opens his door and says so within this; else he is given up. */
const takenWithinMs = 30_000

type Asking = { text: string }
type Listener = { readonly port: number; readonly descriptor: number }

/** Speaks for a gateway that runs, to a later process that is to take over from it. */
export function openOffer(deps: {
  readonly folder: string
  readonly boot: string
  readonly who: () => Who
  /** Why it cannot be taken over from now, if so. */
  readonly findObstacle: () => string | undefined
  readonly listeners: () => readonly Listener[]
  /** Another process listens from now on. */
  readonly leave: () => Promise<void>
  /** One that had the listeners has not taken over in time; this one goes on. */
  readonly onGivenUp: () => void
  readonly onFault: (fault: unknown) => void
  /** Waits for so long; by a timer unless given. */
  readonly after?: After
}) {
  const wait = deps.after ?? after
  let passing: Passing | undefined
  /** Whoever has its listeners already. */
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
    const some = all.slice(from, from + mostAtOnce)
    const more = from + mostAtOnce < all.length
    const descriptors = some.map((each) => each.descriptor)
    say(socket, { ports: some.map((each) => each.port), more }, descriptors)
  }

  /** Not by Bun, which cannot send descriptors. Each answer is small, and the asker waits for it. */
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
      if (socket.data.text.length > mostLineBytes) {
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
    /** It runs no more, as far as others can tell. */
    close(): void {
      stopWaiting?.()
      running.close()
    },
  }
}

const answerWithinMs = 10_000
const lookEveryMs = 2
/** As many ports as a gateway can have, and a few more. */
const mostRounds = 1000

const cannot = (why: string): Refusal => refuseHere(why, 'unavailable')

/** The other end is no more. */
class Ended extends Refusal {
  constructor() {
    const text = 'The gateway that runs has ended in the middle of being taken over.'
    super('here', { text }, null, undefined, 'unavailable')
  }
}

/** The gateway that runs now, as the process sees it that is to take its place. */
export type Predecessor = {
  readonly who: Who
  /** Its listeners, by port: the same sockets, under descriptors of this process. It goes on listening, too. */
  listeners(): Promise<Map<number, number>>
  /** It listens no more, and carries what it has to its end. */
  leave(): Promise<void>
  close(): void
}

/** The process that serves the gateway of a folder now; undefined when none does. */
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
  // It has ended since it was seen.
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
    // One that nobody is connected to ends as soon as another has taken over, be it while it is asked.
    if (error instanceof Ended) return undefined
    throw error
  }
}

type Line = ReturnType<typeof createLine>

/** Questions and answers, one after the other. */
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
  for (let round = 0; round < mostRounds; round += 1) {
    const { word, descriptors } = await line.ask({ ask: 'listeners', from: taken.size }, listenersSchema)
    for (const [index, port] of word.ports.entries()) {
      const descriptor = descriptors[index]
      if (descriptor !== undefined) taken.set(port, descriptor)
    }
    if (!word.more) return taken
  }
  throw cannot('The gateway that runs names ports without end.')
}
