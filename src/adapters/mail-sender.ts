import type { Mail } from '../domains/signin/ports.ts'
import type { EndpointAnswer, Sender } from '../domains/webhooks/ports.ts'

/** SMTP's positive completion. */
const taken: EndpointAnswer = { status: 250, problem: null, retryAfterMs: null }
const notTaken: EndpointAnswer = { status: null, problem: 'mail', retryAfterMs: null }

/** Sends messages of a `mailto:` endpoint as letters. Without a mail server every attempt fails. */
export const createMailSender = (
  mail: Pick<Mail, 'send'> | undefined,
  toLetter: (body: string) => { readonly subject: string; readonly text: string },
): Sender => ({
  async send({ url, body }) {
    const handed = await mail?.send({ kind: 'alert', to: url.slice('mailto:'.length), ...toLetter(body) })
    return handed === 'taken' ? taken : notTaken
  },
  close: () => {},
})
