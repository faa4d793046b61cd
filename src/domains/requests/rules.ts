import type { CustomerId, TokenId } from '../../core/ids.ts'

/** A request of a customer as the log keeps it. */
export type LoggedRequest = {
  readonly customer: CustomerId
  readonly at: number
  /** `X-Request-Id` of the answer. */
  readonly id: string
  readonly operation: string
  readonly status: number
  /** Of a refusal. */
  readonly reason: string | null
  readonly key: string | null
  /** Null for a session of the console. */
  readonly token: TokenId | null
  /** A read that succeeded. */
  readonly isRead: boolean
}

export type ShownRequest = LoggedRequest & { readonly tokenName: string | null }

/** Where a page ended. */
export type RequestPosition = { readonly at: number; readonly id: string }

export const requestsKeptMs = 7 * 86_400_000

/**
 * Of one customer: changes that succeeded, refusals and errors, and reads that succeeded. Refusals cost their sender
 * nothing, so a flood of them must evict no purchase. A row has at most half a KiB: 4 MiB together.
 */
export const maxKept = { changes: 5000, refusals: 2000, reads: 1000 } as const
export type RequestKind = keyof typeof maxKept

export const kindOf = ({ isRead, status }: Pick<LoggedRequest, 'isRead' | 'status'>): RequestKind =>
  status >= 400 ? 'refusals' : isRead ? 'reads' : 'changes'

/** A customer's rows are counted again after so many more of a kind. */
export const trimEvery = 200

/** Rows of one customer that wait for the next writing; those beyond are not logged. */
export const maxWaitingOf = { changes: 500, refusals: 100, reads: 50 } as const

/** Rows that wait in one shop; those beyond are not logged. */
export const maxWaiting = 5000
