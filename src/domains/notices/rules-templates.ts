import { type FieldProblem, fieldProblem } from '../../core/messages/problems.ts'
import type { NoticeKind } from './rules.ts'

export type NoticeTemplate = { readonly subject: string; readonly text: string }

const ofEvents = ['items', 'balance_rub', 'site_url', 'unsubscribe_url'] as const
const ofMessage = ['subject', 'message', 'site_url', 'unsubscribe_url'] as const

/** The placeholders that a kind of letters knows. */
export const placeholdersOf = (kind: NoticeKind): readonly string[] => (kind === 'message' ? ofMessage : ofEvents)

const placeholder = /\{(\w*)\}/g

/** An unknown placeholder of a text, or one that it needs. */
function problemOf(kind: NoticeKind, field: string, text: string, needed: readonly string[]): FieldProblem | undefined {
  const known = placeholdersOf(kind)
  const names = [...text.matchAll(placeholder)].map((match) => match[1] ?? '')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const problem = fieldProblem(field, 'placeholder_unknown', { name: unknown, known })
    return { ...problem, allowed: known.map((name) => `{${name}}`) }
  }
  const missing = needed.find((name) => !names.includes(name))
  return missing === undefined ? undefined : fieldProblem(field, 'placeholder_missing', { known: [missing] })
}

/** A letter must have its content, and the link by which it is stopped. */
export function problemsOfTemplate(kind: NoticeKind, of: NoticeTemplate): FieldProblem[] {
  const content = kind === 'message' ? 'message' : 'items'
  const problems = [
    problemOf(kind, 'subject', of.subject, []),
    problemOf(kind, 'text', of.text, [content, 'unsubscribe_url']),
  ]
  return problems.filter((each) => each !== undefined)
}

/** Replaces placeholders. A value is not read again: a customer's text cannot name a placeholder. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(placeholder, (found, name: string) => values[name] ?? found)
