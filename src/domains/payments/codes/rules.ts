import { type Kopecks, kopecks } from '../../../core/money.ts'

/** What adds to a top-up: an amount, or a part of it in hundredths of a percent. */
export type Code = {
  readonly code: string
  readonly kind: 'amount' | 'percent'
  readonly value: bigint
  /** The least top-up that it adds to. */
  readonly least: Kopecks
  /** How often it is used in all; null without a bound. Each customer uses it once. */
  readonly uses: number | null
  readonly untilAt: number | null
  readonly createdAt: number
  readonly endedAt: number | null
  readonly note: string
}

/** Codes are written as people type them, and read in any case. */
export const readCode = (text: string): string | undefined =>
  /^[A-Za-z0-9_-]{3,40}$/.test(text) ? text.toUpperCase() : undefined

/** What a code adds to an amount: part of a kopeck is the shop's. */
export const bonusOf = ({ kind, value }: Pick<Code, 'kind' | 'value'>, amount: Kopecks): Kopecks =>
  kopecks(kind === 'amount' ? value : (amount * value) / 10_000n)

/** Why a code adds nothing now; undefined if it does. */
export function whyNot(
  code: Code,
  now: { readonly amount: Kopecks; readonly used: number; readonly usedByCustomer: number; readonly nowMs: number },
): 'over' | 'used up' | 'used before' | 'too little' | undefined {
  if (code.endedAt !== null || (code.untilAt !== null && code.untilAt <= now.nowMs)) return 'over'
  if (now.usedByCustomer > 0) return 'used before'
  if (code.uses !== null && now.used >= code.uses) return 'used up'
  return now.amount < code.least || bonusOf(code, now.amount) === 0n ? 'too little' : undefined
}
