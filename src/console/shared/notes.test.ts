import { expect, test } from 'bun:test'
import { sayNote } from './notes.ts'

test('sayNote translates notes of the shop into Russian and leaves notes of operators as they are', () => {
  const translate = (note: string) => sayNote(note, 'ru')
  expect(translate('2.5 GB residential_premium')).toBe('2.5 ГБ: резидентные премиум')
  expect(translate('5 × US IPv6, 30 days')).toBe('5 × US, IPv6, дней: 30')
  expect(translate('2 × NL shared IPv4, 14 days')).toBe('2 × NL, общий IPv4, дней: 14')
  expect(translate('VPN for 1 month')).toBe('VPN, месяцев: 1')
  expect(translate('top-up by transfer')).toBe('пополнение: банковский перевод')
  expect(translate('code SPRING taken back')).toBe('бонус по коду SPRING снят')
  expect(translate('invoice 7')).toBe('invoice 7')
})
