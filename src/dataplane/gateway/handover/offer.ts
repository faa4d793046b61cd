import type { Socket } from 'bun'
import type { After } from '../../../core/time.ts'
import { parseJson } from '../../agent/json.ts'
import { openRunning } from '../../agent/running.ts'
import { createPassing, mostAtOnce, type Passing } from '../relay/linux/descriptor-passing.ts'
import { after } from '../relay/portable/bun-sockets.ts'
import { type Answer, questionSchema, type Who } from './words.ts'

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
