import type { z } from 'zod'
import { Refusal, refuseHere } from '../../../core/refusal.ts'
import { parseJson } from '../../agent/json.ts'
import { listRunning, runningSocket } from '../../agent/running.ts'
import type { Timing } from '../../agent/surroundings.ts'
import { createPassing, type Passing, type Received } from '../relay/linux/descriptor-passing.ts'
import { answerSchema, leftSchema, listenersSchema, type Question, type Who, whoSchema } from './words.ts'

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
