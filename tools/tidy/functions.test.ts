import { describe, expect, test } from 'bun:test'
import { checkFunctions } from './functions.ts'
import listed from './long-functions.json'
import { rulesBroken } from './planted.ts'

const broken = (text: string, path = 'src/api/http.ts') => rulesBroken(checkFunctions, path, text)
const lines = (count: number) => '  step()\n'.repeat(count)

describe('checkFunctions', () => {
  test('a function of 60 lines passes and one of 61 does not, in each form', () => {
    for (const [head, tail] of [
      ['function a() {\n', '}'],
      ['export async function a<T>(b: string, c = () => {}): Promise<{ d: T }> {\n', '}'],
      ['function* a(): Generator<number> {\n', '}'],
      ['function a(b: { c: number }): { d: number } | { e: string } {\n', '}'],
      ['const a = (b: string): string => {\n', '}'],
      ['each.map((b) => {\n', '})'],
      ['class A { private async b(c: string): Promise<void> {\n', '} }'],
      ['const a = { async stop() {\n', '} }'],
      ['const a = { stop: async () => {\n', '} }'],
      ['export function createA(deps: { b: string }) {\n', '}'],
    ]) {
      expect(broken(`${head}${lines(58)}${tail}`)).toEqual([])
      expect(broken(`${head}${lines(59)}${tail}`)).toEqual(['function-length'])
    }
  })

  test('a long function fails unless it is listed, and a listed one gives a warning', () => {
    const found = (path: string, name: string) =>
      checkFunctions(new Map([[path, `function ${name}() {\n${lines(59)}}`]])).map((each) => each.isWarning ?? false)
    expect(found('src/api/http.ts', 'newFunction')).toEqual([false])
    const [path = '', name = ''] = (listed[0] ?? '').split(' ')
    expect(found(path, name)).toEqual([true])
  })

  test('a type, a table, a block and a test are no functions', () => {
    expect(broken(`type A = {\n  b(): void\n${'  c(d: number): Promise<{ e: string }>\n'.repeat(70)}}`)).toEqual([])
    expect(broken(`const a = {\n${'  b: 1,\n'.repeat(70)}}`)).toEqual([])
    expect(broken(`if (a) {\n${lines(70)}}`)).toEqual([])
    expect(broken(`function a() {\n${lines(70)}}`, 'src/api/http.test.ts')).toEqual([])
  })
})
