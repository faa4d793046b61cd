import type { SubuserId } from '../../../kernel/ids.ts'

/** What nodes' counts by host are kept under. */
export const hostSubjects = 'premium-host:'
export const hostSubjectOf = (of: {
  readonly subuser: SubuserId
  readonly pool: string
  readonly host: string
}): string => `${hostSubjects}${of.subuser}:${of.pool}:${of.host}`

/** A name or an address as a destination is written; anything else a node says is not worth keeping. */
export const isHost = (text: string): boolean => /^[a-z0-9._:-]{1,253}$/.test(text)

export const hourMs = 3_600_000
export const hourOf = (atMs: number): number => atMs - (((atMs % hourMs) + hourMs) % hourMs)

/** The first moment of the day of UTC that a moment lies in. */
export const dayStart = (atMs: number): number => atMs - (((atMs % 86_400_000) + 86_400_000) % 86_400_000)
