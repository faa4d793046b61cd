import { CallRefused, isRecord } from '../../client/call.ts'

/** The shop takes so many proxies in one request. */
export const maxBatch = 1000

/** Ids in a URL: at most 10 characters each with their encoded comma, within the shop's limit of a URL. */
export const maxUrlBatch = 500

/** Items in their order, in parts of at most `size`. */
export const toBatches = <Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

/** A sum of amounts in roubles, exact to the kopeck. */
export const sumRoubles = (amounts: readonly number[]): number =>
  amounts.reduce((sum, each) => sum + Math.round(each * 100), 0) / 100

/** A longer wait is left to the customer: the allowance of changes may take an hour to refill. */
const maxWaitMs = 60_000

/** How long to wait before a refused part is sent again; undefined if the refusal ends the action. */
function waitFor(error: unknown): number | undefined {
  if (!(error instanceof CallRefused) || error.code !== 'rate_limited') return undefined
  const { retryAfterMs = maxWaitMs } = error
  return retryAfterMs <= maxWaitMs ? retryAfterMs : undefined
}

type Sending<Item, Answer> = {
  readonly send: (batch: readonly Item[]) => Promise<Answer>
  readonly onSent: (batch: readonly Item[], answer: Answer) => void
  readonly sleep?: (ms: number) => Promise<void>
}

const sleepFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Sends parts one after another. A part that the rate limit refuses is sent again after the time that the shop names.
 * It stops at any other failure, so that parts already sent are known: `onSent` gets each of them with its answer.
 */
export async function sendBatches<Item, Answer>(
  batches: readonly (readonly Item[])[],
  { send, onSent, sleep = sleepFor }: Sending<Item, Answer>,
): Promise<void> {
  for (const batch of batches) {
    for (;;) {
      try {
        onSent(batch, await send(batch))
        break
      } catch (error) {
        const ms = waitFor(error)
        if (ms === undefined) throw error
        await sleep(ms)
      }
    }
  }
}

function listOf(text: string): readonly unknown[] {
  const answer: unknown = JSON.parse(text)
  const proxies = isRecord(answer) && isRecord(answer['data']) ? answer['data']['proxies'] : undefined
  return Array.isArray(proxies) ? proxies : []
}

/** The exports of several parts as one file. Each part of a CSV has the header. */
export function joinExports(ending: 'txt' | 'csv' | 'json', parts: readonly string[]): string {
  if (ending === 'json') {
    const proxies = parts.flatMap(listOf)
    return JSON.stringify({ proxies, count: proxies.length }, null, 2)
  }
  const lines = parts.map((text, index) => (ending === 'csv' && index > 0 ? text.replace(/^[^\n]*\n/, '') : text))
  return lines.map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join('')
}
