import type { Clock } from '../../core/time.ts'
import { createTokenBuckets } from '../../core/token-buckets.ts'
import { type CallPurpose, ProviderRefused, ProviderUnavailable } from '../../domains/payments/ports.ts'

const answerWithinMs = 10_000
const maxAnswerBytes = 4 * 1024 * 1024
/** Token bucket of calls to one provider: providers block callers that call too often. */
const rate = { perSecond: 20, burst: 200 }
/** How many calls each purpose leaves to the purposes after it. */
const reserves: Readonly<Record<CallPurpose, number>> = { poll: 100, open: 40, notify: 0 }

type ProviderRequest = {
  readonly purpose: CallPurpose
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

export type ProviderCall = (
  url: string,
  request: ProviderRequest,
) => Promise<{ readonly status: number; readonly json: unknown }>

/**
 * Calls one provider over HTTPS. A 4xx other than 404 throws ProviderRefused. No answer, a 5xx, 408, 429 or an answer
 * that is not JSON leaves the outcome open: ProviderUnavailable. Errors contain nothing that was sent or answered.
 */
export function createCall(provider: string, clock: Clock = Date.now): ProviderCall {
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

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxAnswerBytes) throw new Error('too long')
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

function readJson(provider: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ProviderUnavailable(`${provider} answered something that is not JSON`)
  }
}
