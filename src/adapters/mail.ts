import { createTransport } from 'nodemailer'
import type { Log } from '../core/log.ts'
import type { After } from '../core/time.ts'
import type { Letter, Mail } from '../domains/signin/ports.ts'

const maxWaiting = 1000
/** Between the tries of a letter: 21 minutes in all, in which a mail server restarts. */
const pausesMs = [5000, 15_000, 60_000, 300_000, 900_000]
const timeoutMs = 20_000

type Waiting = { readonly letter: Letter; tried: number }

/** A mail server's message contains the recipient, so only its codes are logged. */
function codesOf(fault: unknown) {
  const { code, command, responseCode } = Object(fault) as Record<string, unknown>
  return { reason: code ?? 'unknown', command, status: responseCode }
}

/** A letter in the log: never its subject, which may have a customer's balance or things. */
const aboutOf = ({ kind, id }: Letter) => ({ kind, ...(id !== undefined && { id }) })

/** The server refused this recipient or this text for good (RFC 5321, 4.2.1), and not the connection or the sender. */
const isFinal = ({ reason, command, status }: ReturnType<typeof codesOf>): boolean =>
  Number(status) >= 500 && (reason === 'EMESSAGE' || (reason === 'EENVELOPE' && command === 'RCPT TO'))

const realAfter: After = (ms, act) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

type Outcome = Awaited<ReturnType<Mail['send']>>

/** Letters that wait for their turn, one at a time, and for their next try. `drop` says that one is given up. */
function createQueue(attempt: (of: Waiting) => Promise<Outcome>, drop: (letter: Letter) => void, after: After) {
  const due: Waiting[] = []
  /** Letters between two tries. */
  const later = new Map<Waiting, () => void>()
  let isStopping = false
  let sending: Promise<void> | undefined

  async function tryOnce(each: Waiting): Promise<void> {
    each.tried += 1
    const outcome = await attempt(each)
    const pauseMs = pausesMs[each.tried - 1]
    if (outcome === 'taken') return
    if (outcome === 'refused' || pauseMs === undefined) return drop(each.letter)
    // A stop does not wait for a mail server that is away.
    if (isStopping) for (const { letter } of [each, ...due.splice(0)]) drop(letter)
    else
      later.set(
        each,
        after(pauseMs, () => join(each)),
      )
  }

  async function sendAll(): Promise<void> {
    for (let each = due.shift(); each; each = due.shift()) await tryOnce(each)
    sending = undefined
  }

  function join(each: Waiting): void {
    later.delete(each)
    due.push(each)
    sending ??= sendAll()
  }

  return {
    post(letter: Letter): void {
      if (due.length + later.size >= maxWaiting) drop(letter)
      else join({ letter, tried: 0 })
    },
    /** Tries each letter once more. */
    async close(): Promise<void> {
      isStopping = true
      for (const [each, cancel] of later) {
        cancel()
        join(each)
      }
      await sending
    },
  }
}

/**
 * Sends letters by SMTP, one after another, each up to 6 times. Callers do not wait; past 1000 waiting letters new ones
 * are dropped.
 */
export function createMail(
  settings: { readonly url: string; readonly from: string },
  log: Pick<Log, 'info' | 'error'>,
  after: After = realAfter,
): Mail & { close(): Promise<void> } {
  const transport = createTransport(
    { url: settings.url, connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
    { from: settings.from },
  )
  const toMessage = ({ fromName: name, kind: _kind, id: _id, ...letter }: Letter) =>
    name === undefined ? letter : { ...letter, from: { name, address: settings.from } }
  async function attempt({ letter, tried }: Waiting): Promise<Outcome> {
    try {
      await transport.sendMail(toMessage(letter))
      log.info('letter sent', aboutOf(letter))
      return 'taken'
    } catch (fault) {
      const codes = codesOf(fault)
      log.error('letter not sent', { ...aboutOf(letter), tried, ...codes })
      return isFinal(codes) ? 'refused' : 'later'
    }
  }
  const queue = createQueue(attempt, (letter) => log.error('letter dropped', aboutOf(letter)), after)
  return {
    send: (letter) => attempt({ letter, tried: 1 }),
    post: (letter) => queue.post(letter),
    async close() {
      await queue.close()
      transport.close()
    },
  }
}
