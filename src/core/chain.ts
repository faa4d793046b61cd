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
export const nextPlace = (chain: Chain, nowMs: number): Omit<Link, 'hash'> => ({
  seq: chain.seq + 1,
  at: Math.max(nowMs, chain.lastAt),
})

/** The hash of an entry that follows `head`. As JSON, two different entries never make one text. */
export const sealEntry = (head: Uint8Array, fields: LinkFields, sha256: Sha256): Uint8Array =>
  sha256(JSON.stringify([head.toHex(), ...fields]))

export const endingWith = (link: Link): Chain => ({ seq: link.seq, head: link.hash, lastAt: link.at })

/** Problems of an entry after `before`. `entry` is the reader's name for one. */
export function problemsOfLink(
  before: Chain,
  link: Link,
  fields: LinkFields,
  { sha256, entry }: { readonly sha256: Sha256; readonly entry: string },
): string[] {
  const isSealed = sealEntry(before.head, fields, sha256).toHex() === link.hash.toHex()
  return [
    ...(link.seq === before.seq + 1 ? [] : [`follows number ${before.seq}: ${entry}s are missing`]),
    ...(isSealed ? [] : [`its hash does not match its content and the ${entry} before it`]),
    ...(link.at < before.lastAt ? [`it is dated before the ${entry} it follows`] : []),
  ]
}

/** Where an account differs from the end of its entries. */
export function problemsOfEnd(account: Chain, walked: Chain, entry: string): string[] {
  return [
    ...(account.seq === walked.seq ? [] : [`it counts ${account.seq} ${entry}s, there are ${walked.seq}`]),
    ...(account.head.toHex() === walked.head.toHex() ? [] : [`its head is not the hash of the last ${entry}`]),
    ...(account.lastAt === walked.lastAt ? [] : [`it is not dated as its last ${entry} is`]),
  ]
}
