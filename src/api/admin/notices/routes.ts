import type { NoticeKind, NoticeLanguage } from '../../../domains/notices/rules.ts'
import { isoOrNull } from '../../fields.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import * as shapes from './shapes.ts'

export function adminNoticeOperations(bind: BindAdmin, { notices }: AdminDeps) {
  async function list() {
    const found = await notices.listTemplates()
    return found.map(({ changedAt, ...of }) => ({ ...of, changed_at: isoOrNull(changedAt) }))
  }
  async function show(kind: NoticeKind, language: NoticeLanguage) {
    const found = (await list()).find((each) => each.kind === kind && each.language === language)
    if (!found) throw new Error(`there is no template for ${kind} in ${language}`)
    return found
  }
  return [
    bind(shapes.listNoticeTemplates, async () => ({ items: await list() })),
    bind(shapes.setNoticeTemplate, async ({ params: { kind, language }, body }) => {
      await notices.setTemplate(kind, language, body)
      return show(kind, language)
    }),
    bind(shapes.resetNoticeTemplate, async ({ params: { kind, language } }) => {
      await notices.resetTemplate(kind, language)
      return show(kind, language)
    }),
    bind(shapes.previewNoticeTemplate, ({ params: { kind, language }, body }) =>
      notices.previewTemplate(kind, language, body),
    ),
  ]
}
