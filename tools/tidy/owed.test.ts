import { describe, expect, test } from 'bun:test'
import { isOwed } from './owed.ts'

const list = { columns: ['src/wire/', 'src/api/http.ts'] }
const owes = (rule: string, path: string) => isOwed({ rule, path, line: 1, explanation: '' }, list)

describe('what is owed', () => {
  test('is one rule in one place', () => {
    expect(owes('columns', 'src/wire/node/join.ts')).toBeTrue()
    expect(owes('columns', 'src/api/http.ts')).toBeTrue()
    expect(owes('time-name', 'src/api/http.ts')).toBeFalse()
    expect(owes('columns', 'src/api/http.ts.ts')).toBeFalse()
    expect(owes('columns', 'src/wired/join.ts')).toBeFalse()
    expect(owes('columns', 'src/kernel/money.ts')).toBeFalse()
  })
})
