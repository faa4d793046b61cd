import type { Client } from './client.ts'
import { TurnpikeError } from './errors.ts'
import type { Event, ListEventsInput } from './operations.ts'
import { pause } from './retry.ts'

export type FollowOptions = {
  /** `id` of the last event that was seen; undefined for events from now on. */
  readonly after?: number | undefined
  readonly type?: ListEventsInput['type']
  readonly signal?: AbortSignal | undefined
  /** How long one request waits for an event, at most 60. */
  readonly waitSeconds?: number | undefined
}

const pageSize = 500

/**
 * The customer's events in their order, each once, as they happen: long polling. It ends when the signal aborts, and
 * throws when the shop cannot be reached within the client's limits.
 */
export async function* follow(
  client: Pick<Client, 'events'>,
  options: FollowOptions = {},
): AsyncGenerator<Event, void> {
  const { type, signal, waitSeconds = 30 } = options
  let after = options.after ?? (await lastEvent(client, signal))
  for (;;) {
    if (signal?.aborted) return
    const input = { wait: waitSeconds, limit: pageSize, type, ...(after > 0 && { after }) }
    const { events } = await client.events.list(input, { signal }).catch((error: unknown) => {
      if (signal?.aborted) return { events: [] }
      throw error
    })
    for (const event of events) {
      yield event
      after = event.id
    }
  }
}

/** The id of the newest event, found by reading the pages of all: the shop keeps events for 30 days. */
async function lastEvent(client: Pick<Client, 'events'>, signal: AbortSignal | undefined): Promise<number> {
  let last = 0
  try {
    for await (const { id } of client.events.all({ limit: pageSize }, { signal })) last = id
  } catch (error) {
    if (!signal?.aborted) throw error
  }
  return last
}

export type ListenOptions = FollowOptions & {
  /** Keeps the id of the last delivered event, so that the next start continues after it. */
  readonly cursor?: {
    readonly load: () => Promise<number | undefined>
    readonly save: (id: number) => Promise<void>
  }
  /** Signs each message as the shop signs webhooks (`whsec_…`). */
  readonly secret?: string | undefined
  readonly onDelivered?: (event: Event, status: number) => void
  /** Called after a failed attempt that is tried again in `pauseMs`; without a status no answer came. */
  readonly onFailed?: (event: Event, status: number | undefined, pauseMs: number) => void
  /** Attempts for each event before `listen` throws; the cursor stays before that event. */
  readonly attempts?: number
  readonly firstPauseMs?: number
}

const maxPauseMs = 30_000
const deliveryLimitMs = 20_000

/**
 * Forwards events to a local address as webhooks: a POST for each event, in order, at least once. Any answer but 2xx is
 * tried again.
 */
export async function listen(client: Pick<Client, 'events'>, to: string, options: ListenOptions = {}): Promise<void> {
  const { cursor, signal } = options
  const after = (await cursor?.load()) ?? options.after
  for await (const event of follow(client, { ...options, after })) {
    const status = await deliver(event, to, options)
    if (signal?.aborted) return
    await cursor?.save(event.id)
    options.onDelivered?.(event, status)
  }
}

async function deliver(event: Event, to: string, options: ListenOptions): Promise<number> {
  const { signal, secret, attempts = 10, firstPauseMs = 500 } = options
  const { type, timestamp, id, order_id, data } = event
  const body = JSON.stringify({ type, timestamp, id, order_id, data })
  for (let attempt = 1; ; attempt++) {
    const headers = { 'content-type': 'application/json', ...(await signedHeaders(`evt_${id}`, body, secret)) }
    const limit = AbortSignal.timeout(deliveryLimitMs)
    const until = signal ? AbortSignal.any([signal, limit]) : limit
    const answer = await fetch(to, { method: 'POST', headers, body, redirect: 'manual', signal: until }).catch(
      () => null,
    )
    if (answer) await answer.body?.cancel()
    if (signal?.aborted || answer?.ok) return answer?.status ?? 0
    if (attempt >= attempts) throw new TurnpikeError(`event ${id} was not taken: ${answer?.status ?? 'no answer'}`)
    const pausingMs = Math.min(maxPauseMs, firstPauseMs * 2 ** (attempt - 1))
    options.onFailed?.(event, answer?.status, pausingMs)
    await pause(pausingMs, signal).catch(() => {})
  }
}

/** The headers of the Standard Webhooks specification; without a secret there is no signature. */
async function signedHeaders(id: string, body: string, secret: string | undefined): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === undefined) return headers
  if (!secret.startsWith('whsec_')) throw new TypeError('the secret of listen is whsec_… with base64')
  const bytes = Uint8Array.from(atob(secret.slice(6)), (letter) => letter.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`))
  const text = btoa(String.fromCharCode(...new Uint8Array(mac)))
  return { ...headers, 'webhook-signature': `v1,${text}` }
}
