import { describe, expect, test } from 'bun:test'
import { checkFunctions } from './functions.ts'
import { rulesBroken } from './planted.ts'

const broken = (text: string, path = 'src/api/http.ts') => rulesBroken(checkFunctions, path, text)
const lines = (count: number) => '  step()\n'.repeat(count)
const factory = (body: string) => `function openShop() {\n${lines(70)}  return {\n${body}  }\n}`

describe('functions', () => {
  test('fit a screen of 60 lines, in whatever form they are written', () => {
    for (const [head, tail] of [
      ['function a() {\n', '}'],
      ['export async function a<T>(b: string, c = () => {}): Promise<{ d: T }> {\n', '}'],
      ['function* a(): Generator<number> {\n', '}'],
      ['function a(b: { c: number }): { d: number } | { e: string } {\n', '}'],
      ['const a = (b: string): string => {\n', '}'],
      ['each.map((b) => {\n', '})'],
    ]) {
      expect(broken(`${head}${lines(58)}${tail}`)).toEqual([])
      expect(broken(`${head}${lines(59)}${tail}`)).toEqual(['function-length'])
    }
  })

  test('the methods of a record or class are functions too', () => {
    expect(broken(`class A {\n  private async b(c: string): Promise<void> {\n${lines(59)}  }\n}`)).toEqual([
      'function-length',
    ])
    expect(broken(factory(`    async stop() {\n${lines(59)}    },\n`))).toEqual(['function-length'])
    expect(broken(factory(`    stop: async () => {\n${lines(59)}    },\n`))).toEqual(['function-length'])
  })

  test('a factory may be longer: it is called create, or returns functions', () => {
    expect(broken(`export function createA(deps: { b: string }) {\n${lines(99)}}`)).toEqual([])
    expect(broken(factory('    stop: () => {},\n'))).toEqual([])
    expect(broken(factory('    async stop(): Promise<void> {},\n'))).toEqual([])
    expect(broken(factory('    sum: 1,\n'))).toEqual(['function-length'])
    expect(broken(`function a() {\n  const b = () => {\n    return { c: () => 1 }\n  }\n${lines(59)}}`)).toEqual([
      'function-length',
    ])
  })

  test('a type, a call and a table are none', () => {
    expect(broken(`type A = {\n  b(): void\n${'  c(d: number): Promise<{ e: string }>\n'.repeat(70)}}`)).toEqual([])
    expect(broken(`const a = {\n${'  b: 1,\n'.repeat(70)}}`)).toEqual([])
    expect(broken(`if (a) {\n${lines(70)}}`)).toEqual([])
    expect(broken(`function a() {\n${lines(70)}}`, 'src/api/http.test.ts')).toEqual([])
  })
})
