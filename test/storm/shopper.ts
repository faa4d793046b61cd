import type { World } from './world.ts'

/** An answer of the shop, or none: the connection was refused, broken, or timed out. */
export type ShopAnswer = {
  readonly status: number
  readonly text: string
  readonly replayed: boolean
  readonly retryAfterSeconds: number
  // An actor compares it with its own books; other tests check the shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  readonly code: string
}

/** The status of an unanswered request. */
export const unanswered = 0

const timeoutMs = 8_000
const noAnswer: ShopAnswer = {
  status: unanswered,
  text: '',
  replayed: false,
  retryAfterSeconds: 0,
  data: {},
  code: 'none',
}

/** No answer within the timeout. */
export const tooSlow: ShopAnswer = { ...noAnswer, code: 'too slow' }

export type Ask = {
  readonly body?: unknown
  readonly key?: string
  readonly token?: string
}

/** Calls the shop over HTTP as a customer's program does. It never throws: a missing answer is a result too. */
export class Shopper {
  constructor(
    private readonly world: Pick<World, 'url'>,
    private readonly token: string,
    private readonly api = '/api/v1',
  ) {}

  get(path: string, ask: Ask = {}): Promise<ShopAnswer> {
    return this.call('GET', path, ask)
  }

  post(path: string, body: unknown, ask: Ask = {}): Promise<ShopAnswer> {
    return this.call('POST', path, { ...ask, body })
  }

  /** Every page of a list, or undefined if one was not answered. */
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

  private async call(method: 'GET' | 'POST', path: string, ask: Ask): Promise<ShopAnswer> {
    try {
      const response = await fetch(`${this.world.url}${this.api}${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${ask.token ?? this.token}`,
          ...(ask.key !== undefined && { 'Idempotency-Key': ask.key }),
          ...(ask.body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(ask.body !== undefined && { body: typeof ask.body === 'string' ? ask.body : JSON.stringify(ask.body) }),
        signal: AbortSignal.timeout(timeoutMs),
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
      // Refused, reset, cut within its body, or timed out: the caller does not know whether it was done.
      return error instanceof DOMException && error.name === 'TimeoutError' ? tooSlow : noAnswer
    }
  }
}
