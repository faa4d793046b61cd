import { readId } from '../../../core/ids.ts'
import { fieldProblem } from '../../../core/messages/problems.ts'
import { malformed } from '../../../core/refusal.ts'
import { readIso } from '../../../core/time.ts'
import type { Audience } from '../../../domains/notices/rules.ts'
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
      const { customers, sample } = await notices.countAudience(await audienceOf(deps, body), samples)
      const nameOf = await namesOf(deps, sample)
      return { customers, sample: sample.map((id) => ({ customer_id: id, name: nameOf(id) })) }
    }),
    bind(shapes.announcePrices, async ({ body }) => {
      const effectiveAt = orRefuseField(readIso(body.effective_at), 'effective_at', 'moment')
      const of = { effectiveAt, ...textsOf(body) }
      return shapes.toMailing(await notices.announcePrices(await audienceOf(deps, body), of))
    }),
    bind(shapes.listMailings, async ({ query }) => {
      const before = positionOf(query.cursor, (text) => readId('mailing', text)) ?? pastLastId
      return pageOf(await notices.listMailings(before, soughtFor(query.limit)), query.limit, 'id', shapes.toMailing)
    }),
    bind(shapes.stopMailing, async ({ params }) =>
      shapes.toMailing(await notices.stopMailing(orRefuse(readId('mailing', params.mailing_id), 'mailing_not_found'))),
    ),
  ]
}

async function audienceOf({ fleet }: AdminDeps, of: shapes.SentAudience): Promise<Audience> {
  const node = of.node === undefined ? null : orRefuse(await fleet.findByName(of.node), 'node_not_found').id
  return { product: of.product ?? null, endsWithinDays: of.ends_within_days ?? null, node }
}

/** One text at least; a blank one is none. */
function textsOf(of: { readonly text_en?: string | undefined; readonly text_ru?: string | undefined }) {
  const read = (text: string | undefined): string | null => (text === undefined || text.trim() === '' ? null : text)
  const texts = { textEn: read(of.text_en), textRu: read(of.text_ru) }
  if (texts.textEn === null && texts.textRu === null) throw malformed([fieldProblem('text_ru', 'required')])
  return texts
}
