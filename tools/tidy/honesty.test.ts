import { describe, expect, test } from 'bun:test'
import { checkHonesty } from './honesty.ts'
import { rulesBroken } from './planted.ts'

const broken = (path: string, text: string) => rulesBroken(checkHonesty, path, text)

describe('checkHonesty', () => {
  test('checkHonesty refuses only, skip, todo and failing tests', () => {
    for (const call of [
      'test.only',
      'test.skip',
      'test.todo',
      'test.failing',
      'it.only',
      'describe.only',
      'describe.skip',
      'test.skipIf',
      'xtest',
    ]) {
      expect(broken('src/core/money.test.ts', `${call}('a', () => {})`)).toEqual(['partial-test'])
      expect(broken('test/journeys/buy.ts', `${call}('a', () => {})`)).toEqual(['partial-test'])
    }
    expect(broken('src/core/money.test.ts', `test('test.only', () => {}); test.each([1])('a', () => {})`)).toEqual([])
  })

  test('checkHonesty lets only netns-support.ts skip tests', () => {
    const text = "process.stderr.write('not run here: why'); export const left = test.skip"
    expect(broken('test/harness/netns-support.ts', text)).toEqual([])
    expect(broken('test/harness/postgres.ts', text)).toEqual(['partial-test'])
  })

  test('checkHonesty refuses an expectation that cannot fail', () => {
    expect(broken('src/core/money.test.ts', 'expect(true).toBe(true)')).toEqual(['hollow-test'])
    expect(broken('src/core/money.test.ts', 'expect(isTrue).toBe(true)')).toEqual([])
  })

  test('checkHonesty refuses an expectation about a promise that is not awaited', () => {
    expect(broken('src/core/money.test.ts', 'expect(buy()).rejects.toThrow()')).toEqual(['hollow-test'])
    expect(broken('src/core/money.test.ts', 'expect(buy()).resolves.not.toBe(1)')).toEqual(['hollow-test'])
    expect(broken('src/core/money.test.ts', 'await expect(buy()).rejects.toThrow()')).toEqual([])
  })

  test('checkHonesty refuses TODO, FIXME and XXX in comments', () => {
    for (const marker of ['TODO', 'FIXME', 'XXX']) {
      expect(broken('src/api/http.ts', `const a = 1 // ${marker}: later`)).toEqual(['unfinished'])
      expect(broken('migrations/0001-start.sql', `-- ${marker}: later`)).toEqual(['unfinished'])
      expect(broken('src/api/http.ts', `const a = '${marker}'`)).toEqual([])
    }
  })
})
