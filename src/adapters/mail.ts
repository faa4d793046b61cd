import { createTransport } from 'nodemailer'
import type { Log } from '../core/log.ts'
import type { Letter, Mail } from '../domains/signin/ports.ts'

const mostWaiting = 1000
const mostTries = 3
const waitMs = 5000
const timeoutMs = 20_000

/** What a mail server says in words names whom the letter is for, so its numbers have to do. */
function whyNot(fault: unknown): { readonly reason: unknown; readonly command: unknown; readonly status: unknown } {
  const { code, command, responseCode } = Object(fault) as Record<string, unknown>
  return { reason: code ?? 'unknown', command, status: responseCode }
}

/**
 * Sends letters by SMTP, one after another, each up to three times. More than so many that wait are dropped, and the
 * log says so; nobody waits for a letter to be sent.
 */
export function createMail(
  settings: { readonly url: string; readonly from: string },
  log: Pick<Log, 'info' | 'error'>,
): Mail & { close(): Promise<void> } {
  const transport = createTransport(
    { url: settings.url, connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
    { from: settings.from },
  )
  const waiting: Letter[] = []
  let isStopping = false
  let sending: Promise<void> | undefined

  async function send(letter: Letter): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      try {
        await transport.sendMail(letter)
        return log.info('letter sent', { subject: letter.subject })
      } catch (fault) {
        log.error('letter not sent', { subject: letter.subject, tried, ...whyNot(fault) })
        if (tried === mostTries || isStopping) return
        await Bun.sleep(waitMs)
      }
    }
  }

  async function sendAll(): Promise<void> {
    for (let letter = waiting.shift(); letter; letter = waiting.shift()) await send(letter)
    sending = undefined
  }

  return {
    post(letter) {
      if (waiting.length >= mostWaiting) return log.error('letter dropped', { subject: letter.subject })
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
