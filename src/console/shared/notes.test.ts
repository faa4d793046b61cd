import { expect, test } from 'bun:test'
import { sayNote } from './notes.ts'

test('sayNote translates notes of the shop into Russian and leaves notes of operators as they are', () => {
  const say = (note: string) => sayNote(note, 'ru')
  expect(say('2.5 GB residential_premium')).toBe('2.5 ГБ: резидентные премиум')
  expect(say('5 × US IPv6, 30 days')).toBe('5 × US, IPv6, дней: 30')
  expect(say('2 × NL shared IPv4, 14 days')).toBe('2 × NL, общий IPv4, дней: 14')
  expect(say('VPN for 1 month')).toBe('VPN, месяцев: 1')
  expect(say('top-up by transfer')).toBe('пополнение: банковский перевод')
  expect(say('code SPRING taken back')).toBe('бонус по коду SPRING снят')
  expect(say('invoice 7')).toBe('invoice 7')
})
