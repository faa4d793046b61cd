import { describe, expect, test } from 'bun:test'
import { takeApart } from './source.ts'

describe('taking a source apart', () => {
  test('prose in comments and strings is not code', () => {
    const text = `const a = 'Date.now()' // Date.now()\n/* Date.now() */ const b = "Date.now()"`
    const { code, comments, literals } = takeApart(text)
    expect(code).not.toContain('Date')
    expect(code.length).toBe(text.length)
    expect(comments.length).toBe(2)
    expect(literals.map((literal) => literal.text)).toEqual(['Date.now()', 'Date.now()'])
  })

  test('what stands inside a template substitution is code, nested templates included', () => {
    const { code, literals } = takeApart('const a = `x ${f(`y ${Date.now()} z`, { b: 1 })} w`; g()')
    expect(code).toContain('Date.now()')
    expect(code).toContain('g()')
    expect(code).not.toContain(' w')
    expect(literals.map((literal) => literal.text)).toEqual(['x ${} w', 'y ${} z'])
  })

  test('a quote or a slash inside a regular expression opens nothing', () => {
    expect(takeApart(`const a = /['"\`]/.test(b); Date.now()`).code).toContain('Date.now()')
    expect(takeApart(`const a = s.split(/[/'"]\\//); Date.now()`).code).toContain('Date.now()')
  })

  test('the slash of an element is not a regular expression', () => {
    const { code } = takeApart(`const a = <b c={<d />}>{e}</b>; const f = '/'; Date.now()`)
    expect(code).toContain('{e}</b>')
    expect(code).toContain('Date.now()')
  })

  test('a division is not a regular expression', () => {
    const { code } = takeApart(`const a = b / c; const d = e(1) / 2; const f = 'x' // it's`)
    expect(code).toContain('c; const d = e(1)')
    expect(code).not.toContain('it')
  })
})
