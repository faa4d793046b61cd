import type { MailingId } from '../../core/ids.ts'
import { toRoubles } from '../../core/money.ts'
import type { NoticeDeps } from './deps.ts'
import { lineOf, writeMore, writeRub } from './lines.ts'
import type { NoticeLanguage, NoticeLetter } from './rules.ts'
import { fill } from './rules-templates.ts'
import { findMailing } from './store.ts'
import { templateOf } from './templates.ts'

type Written = { readonly subject: string; readonly text: string }

/** Events that a letter reads at most: between those that it lists are others. */
const maxRead = 5000

/** Subject and text of a letter; undefined if there is nothing to write about any more. */
export async function render(
  deps: NoticeDeps,
  letter: NoticeLetter,
  language: NoticeLanguage | null,
  unsubscribeUrl: string,
): Promise<Written | undefined> {
  const links = { site_url: deps.siteUrl(), unsubscribe_url: unsubscribeUrl }
  const content = letter.mailing === null ? undefined : await messageOf(deps, letter.mailing, language)
  if (content) return write(deps, letter.kind, content.language, { ...content.values, ...links })
  const chosen = language ?? 'ru'
  const items = await itemsOf(deps, letter, chosen)
  if (items.length === 0) return undefined
  const { balance } = await deps.ledger.balance(letter.customer)
  const values = { items: items.join('\n'), balance_rub: writeRub(toRoubles(balance), chosen) }
  return write(deps, letter.kind, chosen, { ...values, ...links })
}

async function write(
  { db }: NoticeDeps,
  kind: NoticeLetter['kind'],
  language: NoticeLanguage,
  values: Readonly<Record<string, string>>,
): Promise<Written> {
  const template = await templateOf(db, kind, language)
  return { subject: fill(template.subject, values), text: fill(template.text, values) }
}

/** A message in the customer's language, else in the one that it has. Without a choice, in both. */
async function messageOf({ db }: NoticeDeps, id: MailingId, chosen: NoticeLanguage | null) {
  const of = await findMailing(db, id)
  if (!of) return undefined
  const en = of.textEn !== null && { language: 'en' as const, subject: of.subjectEn ?? '', message: of.textEn }
  const ru = of.textRu !== null && { language: 'ru' as const, subject: of.subjectRu ?? '', message: of.textRu }
  const all = [ru, en].filter((each) => each !== false)
  const own = all.filter(({ language }) => language === chosen)
  const texts = own.length > 0 ? own : all
  const [first] = texts
  if (!first) return undefined
  const values = {
    subject: texts.map(({ subject }) => subject).join(' / '),
    message: texts.map(({ message }) => message).join('\n\n'),
  }
  return { language: first.language, values }
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
