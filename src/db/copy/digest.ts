import type { Row } from './read.ts'

/** What a table holds, in short: how many rows, and one number over all of them. */
export type Held = { readonly rows: number; readonly digest: string }

const modulus = 1n << 256n

/**
 * Sums up the hashes of rows, so that their order does not matter: the two engines give them in orders of their own,
 * and sorting a large table to compare it would take longer than carrying it.
 */
export class TableDigest {
  private sum = 0n
  private rows = 0

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify(row.map(toText))).digest('hex')
      this.sum = (this.sum + BigInt(`0x${hash}`)) % modulus
    }
    this.rows += rows.length
  }

  finish(): Held {
    return { rows: this.rows, digest: this.sum.toString(16).padStart(64, '0') }
  }
}

/** A text, a number and bytes that look alike are told apart. */
function toText(value: Row[number]): string | null {
  if (value === null) return null
  if (typeof value === 'string') return `t${value}`
  return typeof value === 'bigint' ? `n${value}` : `x${Buffer.from(value).toString('hex')}`
}

/** The tables that do not hold the same, by name. */
export function differing(one: Readonly<Record<string, Held>>, other: Readonly<Record<string, Held>>): string[] {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return names.filter((name) => one[name]?.rows !== other[name]?.rows || one[name]?.digest !== other[name]?.digest)
}
