import type { World } from './world.ts'

/** An answer of the shop, or none at all: the connection was refused, broken, or took too long. */
export type Told = {
  readonly status: number
  readonly text: string
  readonly replayed: boolean
  readonly retryAfterSeconds: number
  // What an actor reads of it is compared with its own books; the shape is checked elsewhere.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  readonly code: string
}

/** The status of a request that was not answered. */
export const unanswered = 0

const waitLimitMs = 8_000
const noAnswer: Told = { status: unanswered, text: '', replayed: false, retryAfterSeconds: 0, data: {}, code: 'none' }

/** No answer within the time that a program waits. */
export const tooSlow: Told = { ...noAnswer, code: 'too slow' }

export type Ask = {
  readonly body?: unknown
  readonly key?: string
  readonly token?: string
}

/** Speaks HTTP to the shop as a customer's program does. It never throws: no answer is an answer too. */
export class Shopper {
  constructor(
    private readonly world: Pick<World, 'url'>,
    private readonly token: string,
  ) {}

  get(path: string, ask: Ask = {}): Promise<Told> {
    return this.call('GET', path, ask)
  }

  post(path: string, body: unknown, ask: Ask = {}): Promise<Told> {
    return this.call('POST', path, { ...ask, body })
  }

  /** Every page of a list, or undefined when one of them was not answered. */
  async list<Item>(path: string, field: string): Promise<Item[] | undefined> {
    const items: Item[] = []
    for (let cursor = '', pages = 0; pages < 200; pages += 1) {
      const page = await this.get(`${path}?limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
      if (page.status !== 200) return undefined
      items.push(...(page.data[field] as Item[]))
      if (page.data.next_cursor === null) return items
      cursor = page.data.next_cursor as string
    }
    return items
  }

  private async call(method: 'GET' | 'POST', path: string, ask: Ask): Promise<Told> {
    try {
      const response = await fetch(`${this.world.url}/api/v1${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${ask.token ?? this.token}`,
          ...(ask.key !== undefined && { 'Idempotency-Key': ask.key }),
          ...(ask.body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(ask.body !== undefined && { body: typeof ask.body === 'string' ? ask.body : JSON.stringify(ask.body) }),
        signal: AbortSignal.timeout(waitLimitMs),
      })
      const text = await response.text()
      const content = JSON.parse(text) as { data?: unknown; error?: { code: string } }
      return {
        status: response.status,
        text,
        replayed: response.headers.get('idempotent-replayed') === 'true',
        retryAfterSeconds: Number(response.headers.get('retry-after') ?? 0),
        data: content.data ?? {},
        code: content.error?.code ?? '',
      }
    } catch (error) {
      // Refused, reset, cut within its body, or too slow: whoever asked does not know whether it was done.
      return error instanceof DOMException && error.name === 'TimeoutError' ? tooSlow : noAnswer
    }
  }
}
