import { expect, test } from 'bun:test'
import { toCsv } from './browser.ts'
import { createFormat, daysLeft } from './messages.tsx'

const [en, ru] = [createFormat('en'), createFormat('ru')]
/** Replaces non-breaking spaces. */
const plain = (text: string): string => text.replaceAll(/\s/g, ' ')

test('format.money shows kopecks only if the amount has any', () => {
  expect([en.money(1800), en.money(8.9), en.exactMoney(5)].map(plain)).toEqual(['₽1,800', '₽8.90', '₽5.00'])
  expect(plain(ru.money(1234.5))).toBe('1 234,50 ₽')
})

test('format.percent takes whole percents and writes them as the language does', () => {
  expect([en.percent(5), en.percent(2.5)]).toEqual(['5%', '2.5%'])
  expect(plain(ru.percent(2.5))).toBe('2,5 %')
})

test('format.bytes uses units of 1000', () => {
  expect([0, 999, 1_000, 3_570_000_000].map((each) => plain(en.bytes(each)))).toEqual([
    '0 B',
    '999 B',
    '1 kB',
    '3.57 GB',
  ])
  expect(plain(ru.bytes(1_500_000))).toBe('1,5 МБ')
})

test('format.plural chooses among two English and three Russian forms', () => {
  expect([1, 2].map((each) => en.plural(each, 'day', 'days'))).toEqual(['1 day', '2 days'])
  expect([1, 3, 7, 21].map((each) => plain(ru.plural(each, 'день', 'дня', 'дней')))).toEqual([
    '1 день',
    '3 дня',
    '7 дней',
    '21 день',
  ])
})

test('format.day shows the year only if it is not the current one', () => {
  const nowAt = Date.parse('2026-11-15T00:00:00Z')
  expect(en.day('2026-12-11T10:00:00Z', nowAt)).toBe('Dec 11')
  expect(en.day('2027-01-25T10:00:00Z', nowAt)).toBe('Jan 25, 2027')
})

test('format.away rounds days ahead up and days past down, so that a term of 30 days ends in 30 days', () => {
  const nowAt = Date.parse('2026-11-15T00:01:00Z')
  const texts = ['2026-12-15T00:00:00Z', '2026-11-16T00:01:01Z', '2026-11-15T05:31:00Z', '2026-11-12T00:02:00Z']
  expect(texts.map((each) => en.away(each, nowAt))).toEqual(['in 30 days', 'in 2 days', 'in 5 hours', '2 days ago'])
  expect(daysLeft(30 * 86_400_000 - 1)).toBe(30)
})

test('format.money writes a minus sign, and format.country the letter ё', () => {
  expect([plain(ru.money(-5)), plain(ru.exactMoney(-5)), ru.country('US')]).toEqual([
    '−5 ₽',
    '−5,00 ₽',
    'Соединённые Штаты',
  ])
})

test('toCsv quotes commas, semicolons, quotes and line breaks, and puts an apostrophe before a formula', () => {
  expect(toCsv([['a;b', 'a\nb', 'a\rb', 'plain']])).toBe('"a;b","a\nb","a\rb",plain\r\n')
  for (const sign of ['=', '+', '-', '@']) {
    expect(toCsv([[`${sign}1`, ` ${sign}1`, `a;${sign}1`]])).toBe(`'${sign}1,' ${sign}1,"a;'${sign}1"\r\n`)
  }
  expect(toCsv([['=1+1', 'a,b', 'say "hi"', null, -5]])).toBe(`'=1+1,"a,b","say ""hi""",,-5\r\n`)
})
