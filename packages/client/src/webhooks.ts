import { TurnpikeError } from './errors.ts'

/** Why a webhook was refused. */
export type WebhookProblem = 'header_missing' | 'too_old' | 'too_new' | 'signature' | 'body'

export class WebhookError extends TurnpikeError {
  override readonly name = 'WebhookError'

  constructor(readonly problem: WebhookProblem) {
    super(`the webhook is refused: ${problem}`)
  }
}

/** The body of a webhook: an event as `client.events.list` shows it. */
export type WebhookEvent = {
  readonly type: string
  readonly timestamp: string
  readonly id: number
  readonly order_id: string | null
  readonly data: Record<string, unknown>
}

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type WebhookOptions = {
  /** Largest difference between `webhook-timestamp` and now; 5 minutes by default. */
  readonly toleranceMs?: number
  readonly nowMs?: number
}

const usualToleranceMs = 300_000
/** A sender rotates one secret at a time; more signatures only cost time. */
const maxSignatures = 20

type Key = { readonly scheme: 'v1' | 'v1a'; readonly algorithm: string; readonly key: CryptoKey }

/**
 * Verifies a webhook by the Standard Webhooks specification, and gives its event. `keys` is a secret (`whsec_…`, HMAC)
 * or a public key (`whpk_…`, ed25519), or several of them. `body` is the request's body as it came: parsed and written
 * again, its signature is wrong. Keep `webhook-id` to recognise an event that comes twice.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  keys: string | readonly string[],
  { toleranceMs = usualToleranceMs, nowMs = Date.now() }: WebhookOptions = {},
): Promise<WebhookEvent> {
  const known = await Promise.all((typeof keys === 'string' ? [keys] : keys).map(importKey))
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature').split(' ').slice(0, maxSignatures)
  // A full stop separates the signed parts, so an id with one could move their limits.
  if (id.includes('.') || !/^\d{1,12}$/.test(timestamp)) throw new WebhookError('header_missing')
  const ageMs = nowMs - Number(timestamp) * 1000
  if (ageMs > toleranceMs) throw new WebhookError('too_old')
  if (-ageMs > toleranceMs) throw new WebhookError('too_new')

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + bytes.length)
  signed.set(head)
  signed.set(bytes, head.length)
  for (const signature of signatures) {
    if (await isSignedBy(signature, known, signed)) return parseEvent(bytes)
  }
  throw new WebhookError('signature')
}

/** `crypto.subtle.verify` compares a MAC in constant time. */
async function isSignedBy(signature: string, keys: readonly Key[], signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const [scheme, text = ''] = signature.split(',')
  const bytes = decode(text)
  for (const { scheme: own, algorithm, key } of keys) {
    if (own === scheme && bytes && (await crypto.subtle.verify(algorithm, key, bytes, signed))) return true
  }
  return false
}

async function importKey(text: string): Promise<Key> {
  const [, prefix, encoded = ''] = /^(whsec_|whpk_)(.+)$/.exec(text) ?? []
  const bytes = decode(encoded)
  if (!bytes || bytes.length === 0 || (prefix === 'whpk_' && bytes.length !== 32)) {
    throw new TypeError('a webhook key is whsec_… or whpk_… with base64')
  }
  if (prefix === 'whsec_') {
    const hmac = { name: 'HMAC', hash: 'SHA-256' }
    return {
      scheme: 'v1',
      algorithm: 'HMAC',
      key: await crypto.subtle.importKey('raw', bytes, hmac, false, ['verify']),
    }
  }
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'Ed25519' }, false, ['verify'])
  return { scheme: 'v1a', algorithm: 'Ed25519', key }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  if (typeof value !== 'string' || value === '') throw new WebhookError('header_missing')
  return value
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  } catch {
    return undefined
  }
}

function parseEvent(bytes: Uint8Array): WebhookEvent {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as WebhookEvent
  } catch {
    throw new WebhookError('body')
  }
}
