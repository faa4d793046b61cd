import { describe, expect, test } from 'bun:test'
import { rulesBroken } from './planted.ts'
import { checkWaiting } from './waiting.ts'

const broken = (path: string, text: string) => rulesBroken(checkWaiting, path, text)

describe('checkWaiting', () => {
  test('checkWaiting refuses a sleep in a test and in the harness', () => {
    for (const text of ['await Bun.sleep(50)', 'await new Promise((resolve) => setTimeout(resolve, 50))']) {
      expect(broken('src/api/http.test.ts', text)).toEqual(['waiting'])
      expect(broken('test/harness/caller.ts', text)).toEqual(['waiting'])
      expect(broken('src/api/http.ts', text)).toEqual([])
    }
  })

  test('checkWaiting allows a sleep in the listed files', () => {
    expect(broken('test/durability/relay-load.ts', 'await Bun.sleep(50)')).toEqual([])
    expect(broken('test/harness/turnpike.ts', 'await Bun.sleep(50)')).toEqual([])
  })

  test('checkWaiting allows a timeout that fails the test', () => {
    expect(broken('src/api/http.test.ts', 'const giveUp = setTimeout(fail, 5_000)')).toEqual([])
    expect(broken('src/api/http.test.ts', '// Bun.sleep(50) would be slower')).toEqual([])
  })
})
