import { describe, expect, test } from 'bun:test'
import { rulesBroken } from './planted.ts'
import { checkWaiting } from './waiting.ts'

const broken = (path: string, text: string) => rulesBroken(checkWaiting, path, text)

describe('tests do not wait for time', () => {
  test('neither in a test nor in what tests share', () => {
    for (const text of ['await Bun.sleep(50)', 'await new Promise((resolve) => setTimeout(resolve, 50))']) {
      expect(broken('src/api/http.test.ts', text)).toEqual(['waiting'])
      expect(broken('test/harness/caller.ts', text)).toEqual(['waiting'])
      expect(broken('src/api/http.ts', text)).toEqual([])
    }
  })

  test('unless they kill a process or look for a program', () => {
    expect(broken('test/durability/relay-load.ts', 'await Bun.sleep(50)')).toEqual([])
    expect(broken('test/harness/turnpike.ts', 'await Bun.sleep(50)')).toEqual([])
  })

  test('a limit on waiting is no wait', () => {
    expect(broken('src/api/http.test.ts', 'const giveUp = setTimeout(fail, 5_000)')).toEqual([])
    expect(broken('src/api/http.test.ts', '// Bun.sleep(50) would be slower')).toEqual([])
  })
})
