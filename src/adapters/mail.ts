import { createTransport } from 'nodemailer'
import type { Log } from '../core/log.ts'
import type { Letter, Mail } from '../domains/signin/ports.ts'

const maxWaiting = 1000
const maxTries = 3
const waitMs = 5000
const timeoutMs = 20_000

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

/** Sends letters by SMTP, one after another, each up to 3 times. Callers do not wait; past 1000 letters are dropped. */
export function createMail(
  settings: { readonly url: string; readonly from: string },
  log: Pick<Log, 'info' | 'error'>,
): Mail & { close(): Promise<void> } {
  const transport = createTransport(
    { url: settings.url, connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
    { from: settings.from },
  )
  const toMessage = ({ fromName: name, kind: _kind, id: _id, ...letter }: Letter) =>
    name === undefined ? letter : { ...letter, from: { name, address: settings.from } }
  const waiting: Letter[] = []
  let isStopping = false
  let sending: Promise<void> | undefined

  async function send(letter: Letter): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      try {
        await transport.sendMail(toMessage(letter))
        return log.info('letter sent', aboutOf(letter))
      } catch (fault) {
        log.error('letter not sent', { ...aboutOf(letter), tried, ...codesOf(fault) })
        if (tried === maxTries || isStopping) return
        await Bun.sleep(waitMs)
      }
    }
  }

  async function sendAll(): Promise<void> {
    for (let letter = waiting.shift(); letter; letter = waiting.shift()) await send(letter)
    sending = undefined
  }

  return {
    async send(letter) {
      try {
        await transport.sendMail(toMessage(letter))
        log.info('letter sent', aboutOf(letter))
        return 'taken'
      } catch (fault) {
        const codes = codesOf(fault)
        log.error('letter not sent', { ...aboutOf(letter), tried: 1, ...codes })
        return isFinal(codes) ? 'refused' : 'later'
      }
    },

    post(letter) {
      if (waiting.length >= maxWaiting) return log.error('letter dropped', aboutOf(letter))
      waiting.push(letter)
      sending ??= sendAll()
    },
    async close() {
      isStopping = true
      await sending
      transport.close()
    },
  }
}
