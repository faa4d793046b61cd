import { expect, test } from 'bun:test'
import { toCsvLine } from './csv.ts'

test('a line of CSV quotes separators, quotes and line ends, and no spreadsheet computes its texts', () => {
  expect(toCsvLine(['a;b', 'say "hi"', 'two\nlines', null, -5, true])).toBe('"a;b","say ""hi""","two\nlines",,-5,true')
  for (const sign of ['=', '+', '-', '@']) {
    expect(toCsvLine([`${sign}1`, ` ${sign}1`, `a;${sign}1`, `a\t${sign}1`])).toBe(
      `'${sign}1,' ${sign}1,"a;'${sign}1",a\t'${sign}1`,
    )
  }
})
