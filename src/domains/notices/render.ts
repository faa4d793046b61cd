import { toRoubles } from '../../core/money.ts'
import type { NoticeDeps } from './deps.ts'
import { lineOf, writeMore, writeRub } from './lines.ts'
import type { NoticeLanguage, NoticeLetter } from './rules.ts'
import { fill } from './rules-templates.ts'
import { templateOf } from './templates.ts'

type Written = { readonly subject: string; readonly text: string }

/** Events that a letter reads at most: between those that it lists are others. */
const maxRead = 5000

/** Subject and text of a letter; undefined if there is nothing to write about any more. */
export async function render(
  deps: NoticeDeps,
  letter: NoticeLetter,
  language: NoticeLanguage,
  unsubscribeUrl: string,
): Promise<Written | undefined> {
  const items = await itemsOf(deps, letter, language)
  if (items.length === 0) return undefined
  const { balance } = await deps.ledger.balance(letter.customer)
  const values = {
    items: items.join('\n'),
    balance_rub: writeRub(toRoubles(balance), language),
    site_url: deps.siteUrl(),
    unsubscribe_url: unsubscribeUrl,
  }
  const template = await templateOf(deps.db, letter.kind, language)
  return { subject: fill(template.subject, values), text: fill(template.text, values) }
}

async function itemsOf(deps: NoticeDeps, letter: NoticeLetter, language: NoticeLanguage): Promise<string[]> {
  const first = letter.events[0]
  const last = letter.events.at(-1)
  if (first === undefined || last === undefined) return []
  const events = await deps.events.between(letter.customer, first - 1, Math.min(last - first + 1, maxRead))
  const wanted = new Set(letter.events)
  const lines = events.filter(({ seq }) => wanted.has(seq)).flatMap((each) => lineOf(each, language) ?? [])
  const readUntil = events.at(-1)?.seq ?? last
  const more = letter.more + letter.events.filter((seq) => seq > readUntil).length
  return more > 0 ? [...lines, writeMore(more, language)] : lines
}
