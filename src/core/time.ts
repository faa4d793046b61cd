/** Milliseconds since 1970 in UTC, injected. */
export type Clock = () => number

/** Calls `act` once after `ms`; returns a function that cancels it. Injected, because not every thread has timers. */
export type After = (ms: number, act: () => void) => () => void

/** ISO 8601 in UTC, as in every `…_at` field. */
export const toIso = (ms: number): string => new Date(ms).toISOString()

/** `YYYY-MM-DD HH:MM:SS` in UTC: the older form, of `date_end`. */
export const toDateEnd = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ')

/** The span that an ISO date or instant covers, by its precision: a day, a minute, a second or a millisecond. */
export function readIsoSpan(text: string): { readonly from: number; readonly to: number } | undefined {
  const from = readIso(text)
  if (from === undefined) return undefined
  const seconds = /T\d{2}:\d{2}(:\d{2}(\.\d+)?)?/.exec(text)
  const coversMs = !seconds ? 86_400_000 : seconds[1] === undefined ? 60_000 : seconds[2] === undefined ? 1000 : 1
  return { from, to: from + coversMs - 1 }
}

/** Reads an ISO 8601 date or moment. A date alone is its first moment in UTC. */
export function readIso(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return undefined
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return undefined
  // `Date.parse` moves 30 February to March; a day that does not exist is refused instead.
  const day = Number(text.slice(8, 10))
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  return day <= lastDay ? ms : undefined
}
