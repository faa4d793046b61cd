import { type FindingProblem, momentText, problem } from './finding.ts'
import type { ChainEntry } from './messages/findings-en.ts'

/** SHA-256 of a text. Injected. */
export type Sha256 = (text: string) => Uint8Array

/** Head of a hash chain. Each entry's hash covers the hash before it, so a changed, removed or inserted entry shows. */
export type Chain = { readonly seq: number; readonly head: Uint8Array; readonly lastAt: number }

export type Link = { readonly seq: number; readonly at: number; readonly hash: Uint8Array }

/** Content of an entry, in a fixed order: it is hashed. */
export type LinkFields = readonly (string | number | null)[]

export const emptyHead: Uint8Array = new Uint8Array(32)

export const emptyChain: Chain = { seq: 0, head: emptyHead, lastAt: 0 }

/** Number and time of the next entry. It is never dated before the last one, even if the clock steps back. */
export const nextPosition = (chain: Chain, nowMs: number): Omit<Link, 'hash'> => ({
  seq: chain.seq + 1,
  at: Math.max(nowMs, chain.lastAt),
})

/** The hash of an entry that follows `head`. As JSON, two different entries never make one text. */
export const sealEntry = (head: Uint8Array, fields: LinkFields, sha256: Sha256): Uint8Array =>
  sha256(JSON.stringify([head.toHex(), ...fields]))

export const endingWith = (link: Link): Chain => ({ seq: link.seq, head: link.hash, lastAt: link.at })

/** Problems of an entry after `before`. `entry` is the name of one in sentences. */
export function problemsOfLink(
  before: Chain,
  link: Link,
  fields: LinkFields,
  { sha256, entry }: { readonly sha256: Sha256; readonly entry: ChainEntry },
): FindingProblem[] {
  const isSealed = sealEntry(before.head, fields, sha256).toHex() === link.hash.toHex()
  return [
    ...problemsOfPosition(before, link, entry),
    ...(isSealed ? [] : [problem('chain_hash', { entry })]),
    ...problemsOfTime(before, link, entry),
  ]
}

/** Whether an entry has the number after the one before it. */
export function problemsOfPosition(
  before: Pick<Chain, 'seq'>,
  { seq }: Pick<Link, 'seq'>,
  entry: ChainEntry,
): FindingProblem[] {
  const expected = before.seq + 1
  return seq === expected ? [] : [problem('chain_gap', { entry, seq, expected })]
}

/** Whether an entry is dated before the one before it. */
export function problemsOfTime(
  before: Pick<Chain, 'lastAt'>,
  { at }: Pick<Link, 'at'>,
  entry: ChainEntry,
): FindingProblem[] {
  if (at >= before.lastAt) return []
  return [problem('chain_date', { entry, stored: momentText(at), before: momentText(before.lastAt) })]
}

/** Where an account differs from the end of its entries. */
export function problemsOfEnd(account: Chain, walked: Chain, entry: ChainEntry): FindingProblem[] {
  const times = { stored: momentText(account.lastAt), expected: momentText(walked.lastAt) }
  return [
    ...(account.seq === walked.seq ? [] : [problem('chain_count', { entry, stored: account.seq, found: walked.seq })]),
    ...(account.head.toHex() === walked.head.toHex() ? [] : [problem('chain_head', { entry })]),
    ...(account.lastAt === walked.lastAt ? [] : [problem('chain_end_date', { entry, ...times })]),
  ]
}
