import { describe, expect, test } from 'bun:test'
import { enginesOf } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { openDomainShop } from '../../../test/harness/proxies.ts'
import { noticeKinds, noticeLanguages } from './rules.ts'
import { problemsOfTemplate } from './rules-templates.ts'
import { shippedTemplates } from './templates-shipped.ts'

test('every shipped template has its content and the link to unsubscribe, and no unknown placeholder', () => {
  const problems = noticeKinds.flatMap((kind) =>
    noticeLanguages.flatMap((language) => problemsOfTemplate(kind, shippedTemplates[kind][language])),
  )
  expect(problems).toEqual([])
})

describe.each([...enginesOf('sqlite')])('templates of letters on %s', (engine) => {
  test('a preview fills every placeholder of all 12 templates', async () => {
    const shop = await openDomainShop(engine)
    const { notices } = shop.services
    for (const { kind, language } of await notices.listTemplates()) {
      const { subject, text } = await notices.previewTemplate(kind, language, {})
      expect([kind, subject, text].join('\n')).not.toMatch(/[{}]|undefined|NaN|null/)
    }
    const { text } = await notices.previewTemplate('expiry', 'en', { text: '{balance_rub}: {items} {unsubscribe_url}' })
    expect(text).toStartWith('1,234.50: Proxy 7 (203.0.113.7) ends on ')
    await shop.close()
  })

  test('a template with an unknown placeholder is refused with the known ones, and a reset brings the shipped one back', async () => {
    const shop = await openDomainShop(engine)
    const { notices } = shop.services
    const shown = async () =>
      (await notices.listTemplates()).find(({ kind, language }) => kind === 'price' && language === 'ru')
    const shipped = await shown()
    const set = (text: string, subject = 'Цены') => notices.setTemplate('price', 'ru', { subject, text })
    const unknown = await refusalOf(set('{itmes} {unsubscribe_url}'))
    expect(unknown.details).toMatchObject([
      { field: 'text', allowed: ['{items}', '{balance_rub}', '{site_url}', '{unsubscribe_url}'] },
    ])
    for (const text of ['{items}', '{unsubscribe_url}']) {
      expect((await refusalOf(set(text))).details).toMatchObject([{ field: 'text' }])
    }
    const both = await refusalOf(set('{items}', '{name}'))
    expect(both.details).toMatchObject([{ field: 'subject' }, { field: 'text' }])
    expect(await shown()).toEqual(shipped)
    await set('{items}. {unsubscribe_url}')
    await set('{items}! {unsubscribe_url}')
    expect(await shown()).toMatchObject({ text: '{items}! {unsubscribe_url}', changedAt: shop.clock.nowMs })
    await notices.resetTemplate('price', 'ru')
    expect(await shown()).toEqual(shipped)
    await shop.close()
  })
})
