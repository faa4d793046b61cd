import { describe, expect, test } from 'bun:test'
import { checkColumns } from './columns.ts'
import { rulesBroken } from './planted.ts'

const broken = (path: string, text: string) => rulesBroken(checkColumns, path, text)
const wide = 'wide '.repeat(30).trim()

describe('checkColumns', () => {
  test('checkColumns refuses a line of 121 columns', () => {
    const line = (columns: number) => `const a = ${'b'.repeat(columns - 10)}`
    expect(broken('src/api/http.ts', line(120))).toEqual([])
    expect(broken('src/api/http.ts', line(121))).toEqual(['columns'])
    expect(broken('docs/api/errors.md', line(121))).toEqual([])
  })

  test('checkColumns refuses a comment line of more than 120 columns, also in a test', () => {
    for (const path of ['src/api/http.ts', 'src/api/http.test.ts', 'test/harness/raw.ts', 'bench/run.ts']) {
      expect(broken(path, `// ${wide}\nconst a = 1`)).toEqual(['columns'])
      expect(broken(path, `/** ${wide} */\nconst a = 1`)).toEqual(['columns'])
      expect(broken(path, `/**\n * ${wide}\n * short\n */\nconst a = 1`)).toEqual(['columns'])
      expect(broken(path, `const a = 'short' // ${wide}`)).toEqual(['columns'])
    }
  })

  test('checkColumns allows a string of more than 120 columns only in tests', () => {
    for (const text of [`test('${wide}', () => {})`, `const a = \`${wide}\``, `const a = \`\n${wide}\n\``]) {
      expect(broken('src/api/http.test.ts', text)).toEqual([])
      expect(broken('test/harness/raw.ts', text)).toEqual([])
      expect(broken('src/api/http.ts', text)).toEqual(['columns'])
    }
  })

  test('checkColumns allows a regular expression of more than 120 columns', () => {
    expect(broken('tools/tidy/sql.ts', `const a =\n  /${wide}/`)).toEqual([])
    expect(broken('tools/tidy/sql.ts', `const a =\n  '${wide}'`)).toEqual(['columns'])
  })
})
