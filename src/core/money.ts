declare const unit: unique symbol

/** Roubles in kopecks. A bigint, so it never becomes a float. */
export type Kopecks = bigint & { readonly [unit]: 'kopecks' }

/** Largest balance: ten trillion roubles. Its kopecks fit into 53 bits, so every amount is exact as a JSON number. */
export const maxKopecks = 1_000_000_000_000_000n as Kopecks

export function kopecks(count: bigint): Kopecks {
  if (count > maxKopecks || count < -maxKopecks) throw new RangeError('an amount of money is out of range')
  return count as Kopecks
}

export const zero = kopecks(0n)

export const add = (a: Kopecks, b: Kopecks): Kopecks => kopecks(a + b)
export const subtract = (a: Kopecks, b: Kopecks): Kopecks => kopecks(a - b)
export const negate = (a: Kopecks): Kopecks => kopecks(-a)
export const total = (amounts: Iterable<Kopecks>): Kopecks => {
  let sum = 0n
  for (const amount of amounts) sum += amount
  return kopecks(sum)
}

/** Roubles as a JSON number. Exact below 2^53 kopecks: `toRoubles(890n)` is `8.9`. */
export const toRoubles = (amount: Kopecks): number => Number(amount) / 100

/** Two decimals, always: `8.90`. */
export function toRoubleText(amount: Kopecks): string {
  const sign = amount < 0n ? '-' : ''
  const whole = amount < 0n ? -amount : amount
  return `${sign}${whole / 100n}.${String(whole % 100n).padStart(2, '0')}`
}

/** Reads `100`, `8.9` or `8.90`. Undefined for anything else: a sign, an exponent, a third decimal, a space. */
export function readRoubles(text: string): Kopecks | undefined {
  const match = /^(\d{1,14})(?:\.(\d{1,2}))?$/.exec(text)
  if (!match) return undefined
  const count = BigInt(match[1] ?? '0') * 100n + BigInt((match[2] ?? '').padEnd(2, '0'))
  return count > maxKopecks ? undefined : kopecks(count)
}

/** Quotient rounded up to a whole kopeck. */
export function divideUp(numerator: bigint, denominator: bigint): Kopecks {
  if (denominator <= 0n || numerator < 0n) throw new RangeError('divideUp takes a price and a positive divisor')
  return kopecks((numerator + denominator - 1n) / denominator)
}
