import { malformed } from '../../core/refusal.ts'
import type { Reader } from '../../db/transaction.ts'
import type { CustomerEvent } from '../events/rules.ts'
import type { NoticeDeps } from './deps.ts'
import { lineOf, writeRub } from './lines.ts'
import { type NoticeKind, type NoticeLanguage, noticeKinds, noticeLanguages } from './rules.ts'
import { fill, type NoticeTemplate, placeholdersOf, problemsOfTemplate } from './rules-templates.ts'
import * as store from './store-letters.ts'
import { shippedTemplates } from './templates-shipped.ts'

type Place = readonly [kind: NoticeKind, language: NoticeLanguage]

/** The operator's template, or the shipped one. */
export const templateOf = async (reader: Reader, ...[kind, language]: Place): Promise<NoticeTemplate> =>
  (await store.findTemplate(reader, kind, language)) ?? shippedTemplates[kind][language]

/** Every template, with the time of its change; null for a shipped one. */
export async function listTemplates({ db }: NoticeDeps) {
  const changed = await store.listTemplates(db)
  return noticeKinds.flatMap((kind) =>
    noticeLanguages.map((language) => {
      const own = changed.find((each) => each.kind === kind && each.language === language)
      const placeholders = [...placeholdersOf(kind)]
      const of = own ?? { ...shippedTemplates[kind][language], changedAt: null }
      return { ...of, kind, language, placeholders }
    }),
  )
}

export async function setTemplate(deps: NoticeDeps, kind: NoticeKind, language: NoticeLanguage, of: NoticeTemplate) {
  assertTemplate(kind, of)
  await deps.db.transact(async (tx) => store.writeTemplate(tx, { kind, language, ...of, changedAt: deps.clock() }))
}

function assertTemplate(kind: NoticeKind, of: NoticeTemplate): void {
  const problems = problemsOfTemplate(kind, of)
  if (problems.length > 0) throw malformed(problems)
}

/** Brings the shipped text back. */
export const resetTemplate = ({ db }: NoticeDeps, ...[kind, language]: Place): Promise<void> =>
  db.transact(async (tx) => store.deleteTemplate(tx, kind, language))

/** A template with sample values; fields that are left out are those in force. Writes nothing. */
export async function previewTemplate(
  deps: NoticeDeps,
  kind: NoticeKind,
  language: NoticeLanguage,
  of: { readonly subject?: string | undefined; readonly text?: string | undefined },
): Promise<NoticeTemplate> {
  const current = await templateOf(deps.db, kind, language)
  const template = { subject: of.subject ?? current.subject, text: of.text ?? current.text }
  assertTemplate(kind, template)
  const values = {
    items: samples[kind].map((each) => lineOf(each, language)).join('\n'),
    balance_rub: writeRub(1234.5, language),
    subject: fieldSamples[language].subject,
    message: fieldSamples[language].message,
    site_url: deps.siteUrl(),
    unsubscribe_url: `${deps.siteUrl()}/unsubscribe/…`,
  }
  return { subject: fill(template.subject, values), text: fill(template.text, values) }
}

const fieldSamples: Readonly<Record<NoticeLanguage, { readonly subject: string; readonly message: string }>> = {
  en: { subject: 'Maintenance on 1 March', message: 'On 1 March the gateways in Germany restart.' },
  ru: { subject: 'Работы 1 марта', message: '1 марта перезапускаются шлюзы в Германии.' },
}

type Sample = Pick<CustomerEvent, 'type' | 'data'>
const endsAt = '2027-03-01T09:00:00.000Z'

/** Events that letters of a kind are about. */
const samples: Readonly<Record<NoticeKind, readonly Sample[]>> = {
  expiry: [
    {
      type: 'proxy.expiring',
      data: { proxy_id: 7, ip: '203.0.113.7', days: 3, expires_at: endsAt, renews: false },
    },
    { type: 'vpn.expired', data: { uuid: '00000000-0000-4000-8000-000000000000', expires_at: endsAt } },
  ],
  balance: [{ type: 'balance.low', data: { threshold_rub: 1500, balance_rub: 1234.5 } }],
  traffic: [{ type: 'traffic.low', data: { product: 'premium', percent: 80, left_gb: 2 } }],
  receipt: [{ type: 'order.created', data: { product: 'dedicated', action: 'buy', price_rub: 180 } }],
  price: [
    {
      type: 'price.announced',
      data: { effective_at: endsAt, text_en: 'VPN costs 349 roubles.', text_ru: 'VPN стоит 349 рублей.' },
    },
  ],
  message: [],
}
