import { describe, expect, test } from 'bun:test'
import { checkColumns } from './columns.ts'
import { rulesBroken } from './planted.ts'

const broken = (path: string, text: string) => rulesBroken(checkColumns, path, text)
const wide = 'wide '.repeat(30).trim()

describe('checkColumns', () => {
  test('a line has at most 120 columns', () => {
    const line = (columns: number) => `const a = ${'b'.repeat(columns - 10)}`
    expect(broken('src/api/http.ts', line(120))).toEqual([])
    expect(broken('src/api/http.ts', line(121))).toEqual(['columns'])
    expect(broken('docs/api/errors.md', line(121))).toEqual([])
  })

  test('a comment line has at most 120 columns, also in a test', () => {
    for (const path of ['src/api/http.ts', 'src/api/http.test.ts', 'test/harness/raw.ts', 'bench/run.ts']) {
      expect(broken(path, `// ${wide}\nconst a = 1`)).toEqual(['columns'])
      expect(broken(path, `/** ${wide} */\nconst a = 1`)).toEqual(['columns'])
      expect(broken(path, `/**\n * ${wide}\n * short\n */\nconst a = 1`)).toEqual(['columns'])
      expect(broken(path, `const a = 'short' // ${wide}`)).toEqual(['columns'])
    }
  })

  test('only a string in a test may have more than 120 columns', () => {
    for (const text of [`test('${wide}', () => {})`, `const a = \`${wide}\``, `const a = \`\n${wide}\n\``]) {
      expect(broken('src/api/http.test.ts', text)).toEqual([])
      expect(broken('test/harness/raw.ts', text)).toEqual([])
      expect(broken('src/api/http.ts', text)).toEqual(['columns'])
    }
  })

  test('a regular expression may have more than 120 columns', () => {
    expect(broken('tools/tidy/sql.ts', `const a =\n  /${wide}/`)).toEqual([])
    expect(broken('tools/tidy/sql.ts', `const a =\n  '${wide}'`)).toEqual(['columns'])
  })
})
