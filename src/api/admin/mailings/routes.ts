import { readId } from '../../../core/ids.ts'
import { type FieldProblem, fieldProblem } from '../../../core/messages/problems.ts'
import { malformed } from '../../../core/refusal.ts'
import { readIso } from '../../../core/time.ts'
import type { Audience, MailingTexts } from '../../../domains/notices/rules.ts'
import { orRefuse, orRefuseField } from '../../answers.ts'
import { pageOf, positionOf, soughtFor } from '../../pages.ts'
import { type AdminDeps, type BindAdmin, namesOf } from '../bind.ts'
import * as shapes from './shapes.ts'

const samples = 10
/** Sorts after every mailing's id. */
const pastLastId = 'mlh'

export function adminMailingOperations(bind: BindAdmin, deps: AdminDeps) {
  const { notices } = deps
  return [
    bind(shapes.countMailing, async ({ body }) => {
      const { sample, customers, noAddress, unsubscribed } = await notices.countAudience(
        await audienceOf(deps, body),
        samples,
      )
      const nameOf = await namesOf(deps, sample)
      return {
        customers,
        no_address: noAddress,
        unsubscribed,
        sample: sample.map((id) => ({ customer_id: id, name: nameOf(id) })),
      }
    }),
    bind(shapes.announcePrices, async ({ body }) => {
      const effectiveAt = orRefuseField(readIso(body.effective_at), 'effective_at', 'moment')
      const of = { effectiveAt, ...textsOf(body) }
      return shapes.toMailing(await notices.announcePrices(await audienceOf(deps, body), of))
    }),
    bind(shapes.sendMailing, async ({ body }) =>
      shapes.toMailing(await notices.sendMessage(await audienceOf(deps, body), messageOf(body))),
    ),
    bind(shapes.getMailing, async ({ params }) => {
      const { mailing, letters } = await notices.loadMailing(mailingOf(params))
      return { ...shapes.toMailing(mailing), ...letters }
    }),
    bind(shapes.listMailings, async ({ query }) => {
      const before = positionOf(query.cursor, (text) => readId('mailing', text)) ?? pastLastId
      return pageOf(await notices.listMailings(before, soughtFor(query.limit)), query.limit, 'id', shapes.toMailing)
    }),
    bind(shapes.stopMailing, async ({ params }) => shapes.toMailing(await notices.stopMailing(mailingOf(params)))),
  ]
}

async function audienceOf({ fleet }: AdminDeps, of: shapes.SentAudience): Promise<Audience> {
  const node = of.node === undefined ? null : orRefuse(await fleet.findByName(of.node), 'node_not_found').id
  return { product: of.product ?? null, endsWithinDays: of.ends_within_days ?? null, node }
}

const mailingOf = ({ mailing_id: text }: { readonly mailing_id: string }) =>
  orRefuse(readId('mailing', text), 'mailing_not_found')

/** A blank text is none. */
const read = (text: string | undefined): string | null => (text === undefined || text.trim() === '' ? null : text)

type Sent<Name extends string> = { readonly [_ in Name]?: string | undefined }

/** One text at least. */
function textsOf(of: Sent<'text_en' | 'text_ru'>) {
  const texts = { textEn: read(of.text_en), textRu: read(of.text_ru) }
  if (texts.textEn === null && texts.textRu === null) throw malformed([fieldProblem('text_ru', 'required')])
  return texts
}

/** One text at least, each with its subject. */
function messageOf(of: Sent<'text_en' | 'text_ru' | 'subject_en' | 'subject_ru'>): MailingTexts {
  const texts = { ...textsOf(of), subjectEn: read(of.subject_en), subjectRu: read(of.subject_ru) }
  const problems = [
    ...pairProblem('en', texts.subjectEn, texts.textEn),
    ...pairProblem('ru', texts.subjectRu, texts.textRu),
  ]
  if (problems.length > 0) throw malformed(problems)
  return texts
}

function pairProblem(language: string, subject: string | null, text: string | null): FieldProblem[] {
  if ((subject === null) === (text === null)) return []
  const [missing, other] = subject === null ? ['subject', 'text'] : ['text', 'subject']
  return [fieldProblem(`${missing}_${language}`, 'required_with', { other: `${other}_${language}` })]
}
