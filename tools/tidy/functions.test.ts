import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkFunctions } from './functions.ts'
import listed from './long-functions.json'
import { rulesBroken } from './planted.ts'

const broken = (text: string, path = 'src/api/http.ts') => rulesBroken(checkFunctions, path, text)
const lines = (count: number) => '  step()\n'.repeat(count)

describe('checkFunctions', () => {
  test('checkFunctions accepts a function of 60 lines and refuses one of 61, in each of 10 forms', () => {
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

  test('checkFunctions refuses a long function unless long-functions.json lists its file and name', () => {
    const [path = '', name = ''] = (listed[0] ?? '').split(' ')
    const isBroken = (at: string, called: string) => broken(`function ${called}() {\n${lines(59)}}`, at).length > 0
    expect([isBroken(path, name), isBroken(path, 'newFunction'), isBroken('src/api/http.ts', name)]).toEqual([
      false,
      true,
      true,
    ])
  })

  test('long-functions.json lists at most 20 functions, and each has more than 60 lines', () => {
    expect(listed.length).toBeLessThanOrEqual(20)
    for (const each of listed) {
      const [path = '', name = ''] = each.split(' ')
      const text = readFileSync(join(import.meta.dir, '../..', path), 'utf8')
      expect(broken(text.replaceAll(name, 'unlisted'), path)).toEqual(['function-length'])
    }
  })

  test('checkFunctions ignores types, object literals, blocks and tests', () => {
    expect(broken(`type A = {\n  b(): void\n${'  c(d: number): Promise<{ e: string }>\n'.repeat(70)}}`)).toEqual([])
    expect(broken(`const a = {\n${'  b: 1,\n'.repeat(70)}}`)).toEqual([])
    expect(broken(`if (a) {\n${lines(70)}}`)).toEqual([])
    expect(broken(`function a() {\n${lines(70)}}`, 'src/api/http.test.ts')).toEqual([])
  })
})
