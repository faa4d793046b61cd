import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { raiseFileLimit } from './libc.ts'

test('raiseFileLimit raises the soft limit of open files to the hard limit', () => {
  if (process.platform !== 'linux') return
  const raised = raiseFileLimit('linux')
  const [, soft, hard] = /Max open files\s+(\d+)\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  expect({ soft: Number(soft), hard: Number(hard) }).toEqual({ soft: raised, hard: raised })
})

test('raiseFileLimit returns Infinity on Windows', () => {
  expect(raiseFileLimit('win32')).toBe(Number.POSITIVE_INFINITY)
})
