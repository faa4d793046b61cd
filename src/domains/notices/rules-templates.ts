import type { NoticeKind } from './rules.ts'

const ofEvents = ['items', 'balance_rub', 'site_url', 'unsubscribe_url'] as const
const ofMessage = ['subject', 'message', 'site_url', 'unsubscribe_url'] as const

/** The placeholders that a kind of letters knows. */
export const placeholdersOf = (kind: NoticeKind): readonly string[] => (kind === 'message' ? ofMessage : ofEvents)

const placeholder = /\{(\w*)\}/g

/** The first placeholder of a text that a kind does not know. */
export const unknownIn = (kind: NoticeKind, text: string): string | undefined =>
  [...text.matchAll(placeholder)].map((match) => match[1] ?? '').find((name) => !placeholdersOf(kind).includes(name))

/** Replaces placeholders. A value is not read again: a customer's text cannot name a placeholder. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(placeholder, (found, name: string) => values[name] ?? found)
