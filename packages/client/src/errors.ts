import type { ReasonParams, RefusalCode } from './operations.ts'

/** A refusal of the shop, discriminated by `reason`: `params` has the values of that reason. */
export type Refusal = {
  [Reason in keyof ReasonParams]: {
    readonly reason: Reason
    readonly code: RefusalCode
    readonly params: ReasonParams[Reason]
    /** The problem and what to do, in the client's language. */
    readonly message: string
    /** Whether money was charged; null if the shop does not know, undefined for an operation that does not charge. */
    readonly charged: boolean | null | undefined
    /** Null, the faulty fields, or values of the refusal. */
    readonly details: unknown
    /** The row of the reason on the shop's page of reasons. Shops before 0.4 send none. */
    readonly doc_url: string | undefined
  }
}[keyof ReasonParams]

/** What every error of a call names. It never holds the token. */
export type CallFacts = {
  /** The method, such as `dedicated.buy`. */
  readonly operation: string
  readonly attempts: number
  /** Repeat the call with this key to get its answer without a second effect. */
  readonly idempotencyKey: string | undefined
  /** `X-Request-Id` of the last answer, for the shop's support. */
  readonly requestId: string | undefined
  readonly status: number | undefined
}

/** The base of all errors of this client. */
export class TurnpikeError extends Error {
  override readonly name: string = 'TurnpikeError'
}

/** The shop refused the call. `refusal` narrows by `refusal.reason`. */
export class RefusalError extends TurnpikeError {
  override readonly name = 'RefusalError'

  constructor(
    readonly refusal: Refusal,
    readonly facts: CallFacts,
  ) {
    super(`${facts.operation}: ${refusal.message} (${refusal.reason}${ofRequest(facts)})`)
  }

  get reason(): Refusal['reason'] {
    return this.refusal.reason
  }
}

/**
 * No answer of the shop came within the limits. A call with an idempotency key may have taken effect: repeat it with
 * the same key.
 */
export class NoAnswerError extends TurnpikeError {
  override readonly name = 'NoAnswerError'

  constructor(
    problem: string,
    readonly facts: CallFacts,
    cause?: unknown,
  ) {
    super(`${facts.operation}: ${problem} (attempts: ${facts.attempts}${ofRequest(facts)})`, { cause })
  }
}

const ofRequest = ({ requestId }: CallFacts): string => (requestId === undefined ? '' : `, request ${requestId}`)
