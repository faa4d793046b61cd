import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { raiseFileLimit } from './file-limit.ts'

test('as many files may be open as this process may allow itself', () => {
  if (process.platform !== 'linux') return
  const raised = raiseFileLimit('linux')
  const [, soft, hard] = /Max open files\s+(\d+)\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  expect({ soft: Number(soft), hard: Number(hard) }).toEqual({ soft: raised, hard: raised })
})

test('a system that does not say has no limit that is known', () => {
  expect(raiseFileLimit('win32')).toBe(Number.POSITIVE_INFINITY)
})
