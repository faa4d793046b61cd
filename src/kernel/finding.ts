/** Something that `verify` found to be wrong: which promise, about what, and how. */
export type Finding = { readonly promise: string; readonly where: string; readonly problem: string }

/** What `verify` looked at, so that a clean answer says how much it covers. */
export type Audit = { readonly findings: readonly Finding[]; readonly covered: Readonly<Record<string, number>> }

/** One domain's part of `verify`. */
export type Verifier = { readonly name: string; readonly verify: () => Promise<Audit> }

/** Past this many a report helps nobody; the count goes on. */
export const mostFindings = 1000
