import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { type CallPurpose, ProviderRefused, ProviderUnavailable } from '../../domains/payments/ports.ts'

/** How long a provider may take to answer, and how much it may say. */
const answerWithinMs = 10_000
const mostAnswerBytes = 4 * 1024 * 1024
/** What is asked of one provider at most: providers shut out who asks too much. */
const rate = { perSecond: 20, burst: 200 }
/** How many of these calls a purpose leaves to the purposes after it. */
const reserves: Readonly<Record<CallPurpose, number>> = { poll: 100, open: 40, notify: 0 }

type Asked = {
  readonly purpose: CallPurpose
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

export type Call = (url: string, asked: Asked) => Promise<{ readonly status: number; readonly json: unknown }>

/**
 * Calls one provider over HTTPS. A 4xx is a no that stands (`ProviderRefused`), but for 404, which the caller judges.
 * No answer, a 5xx, a 429 or an answer that is not JSON leave open what has happened (`ProviderUnavailable`). What is
 * thrown names the provider and the status, and nothing that was sent or answered.
 */
export function createCall(provider: string, clock: Clock = Date.now): Call {
  const buckets = createTokenBuckets(rate, clock)
  return async (url, { purpose, method = 'GET', headers = {}, json }) => {
    if (!buckets.take(provider, reserves[purpose]))
      throw new ProviderUnavailable(`${provider} is asked too much at the moment`)
    const { status, text } = await exchange(provider, url, {
      method,
      headers: {
        Accept: 'application/json',
        ...(json !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    if (status >= 500 || status === 429 || status === 408)
      throw new ProviderUnavailable(`${provider} answered ${status}`)
    if (status >= 400 && status !== 404) throw new ProviderRefused(`${provider} answered ${status}`)
    return { status, json: status === 404 ? undefined : readJson(provider, text) }
  }
}

async function exchange(provider: string, url: string, init: RequestInit): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(answerWithinMs) })
    return { status: response.status, text: await readText(response) }
  } catch (error) {
    const { name } = error instanceof Error ? error : { name: 'Error' }
    throw new ProviderUnavailable(`${provider} gave no answer (${name})`)
  }
}

/** No more of an answer is taken in than it may have. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > mostAnswerBytes) throw new Error('too long')
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

function readJson(provider: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new ProviderUnavailable(`${provider} answered something that is not JSON`)
  }
}
