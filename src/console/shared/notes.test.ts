import { expect, test } from 'bun:test'
import { sayNote, sayProbe } from './notes.tsx'

test('sayNote translates notes of the shop into Russian and leaves notes of operators as they are', () => {
  const translate = (note: string) => sayNote(note, 'ru')
  expect(translate('2.5 GB residential_premium')).toBe('2.5 ГБ: резидентные премиум')
  expect(translate('5 × US IPv6, 30 days')).toBe('5 × US, IPv6, 30 дней')
  expect(translate('2 × NL shared IPv4, 14 days')).toBe('2 × NL, общий IPv4, 14 дней')
  expect(translate('VPN for 1 month')).toBe('VPN на 1 месяц')
  expect(translate('VPN for 3 months')).toBe('VPN на 3 месяца')
  expect(translate('VPN for 12 months')).toBe('VPN на 12 месяцев')
  expect(translate('top-up by transfer')).toBe('способ: банковский перевод')
  expect(translate('code SPRING taken back')).toBe('бонус по промокоду SPRING списан')
  expect(translate('invoice 7')).toBe('invoice 7')
})

test('sayProbe translates every reason that the check of a proxy gives', async () => {
  const source = await Bun.file(new URL('../../adapters/proxy-probe.ts', import.meta.url)).text()
  const reasons = [...source.matchAll(/[`']((?:the gateway|no answer) [^`']+)[`'$]/g)].map((found) =>
    (found[1] ?? '').replace(/\$\{[^}]*\}?/g, '5'),
  )
  expect(reasons.length).toBeGreaterThan(7)
  for (const reason of reasons) expect(sayProbe(reason, 'ru')).not.toBe('соединение не удалось')
  expect(sayProbe('no answer within 10 seconds', 'ru')).toBe('нет ответа в течение 10 секунд')
  expect(sayProbe('connect ENETUNREACH 192.0.2.1', 'ru')).toBe('соединение не удалось')
})
