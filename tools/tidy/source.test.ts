import { expect, test } from 'bun:test'
import { chainOf, parse } from './source.ts'

const chains = (text: string) => parse('src/a.tsx', text).nodes.map(chainOf)

test('parse separates comments and strings from code', () => {
  const text = `const a = 'Date.now()' // Date.now()\n/* Date.now() */ const b = "Date.now()"`
  const { comments, literals } = parse('src/a.ts', text)
  expect(chains(text)).not.toContain('Date.now')
  expect(comments.length).toBe(2)
  expect(literals.map((literal) => literal.text)).toEqual(['Date.now()', 'Date.now()'])
})

test('parse finds code inside the substitutions of nested templates', () => {
  const text = 'const a = `x ${f(`y ${Date.now()} z`, { b: 1 })} w`; g()'
  expect(chains(text)).toContain('Date.now')
  expect(parse('src/a.ts', text).literals.map((literal) => literal.text)).toEqual(['x ${} w', 'y ${} z'])
})

test('parse distinguishes regular expressions, divisions and JSX elements', () => {
  for (const before of [`/['"\`]/.test(b)`, `s.split(/[/'"]\\//)`, '<b c={<d />}>{e}</b>', 'b / c / 2']) {
    expect(chains(`const a = ${before}; Date.now() // it's`)).toContain('Date.now')
  }
})

test('chainOf joins the names of members, optional and quoted ones too', () => {
  expect(chains(`process?.env['A']`)).toContain('process.env.A')
  expect(chains('process[name]')).toContain('process.[]')
  expect(chains('import.meta.env')).toContain('import.meta.env')
})

test('parse refuses a file with a syntax error', () => {
  expect(() => parse('src/broken.ts', 'const = 1')).toThrow('src/broken.ts cannot be parsed')
})
