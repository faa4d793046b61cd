import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { tokenRandomBytes } from '../core/token-text.ts'
import { makeTokenText } from '../domains/customers/rules.ts'
import { createLog, redact } from './log.ts'

const random = fc.uint8Array({ minLength: tokenRandomBytes, maxLength: tokenRandomBytes })

function capture(forTerminal: boolean, level: 'debug' | 'warn' | 'silent' = 'debug') {
  const lines: string[] = []
  return { lines, log: createLog(level, 'shop', (line) => void lines.push(line), forTerminal) }
}

describe('the log', () => {
  test('the log redacts a token in the event, in a field, in a list and in the cause of an error', () => {
    const around = fc.string({ maxLength: 20 })
    fc.assert(
      fc.property(random, around, around, fc.boolean(), (bytes, before, after, forTerminal) => {
        const text = makeTokenText('production', bytes)
        const { lines, log } = capture(forTerminal)
        log.error(`${before}${text}${after}`, { path: `/x/${text}`, list: [text], fault: new Error(`bad ${text}`) })
        log.info('nested', { a: { b: { cause: new Error('outer', { cause: new Error(text) }) } } })
        expect(lines.join('')).not.toContain(text.slice(8))
      }),
    )
  })

  test('redact removes passwords of URLs, bearer headers and WireGuard keys', () => {
    const key = `${'A'.repeat(43)}=`
    for (const text of [
      'postgres://turnpike:s3cr3t-word@db:5432/x',
      'Authorization: Bearer s3cr3t-word',
      'authorization: bearer s3cr3t-word',
      `PrivateKey = ${key}`,
      `PresharedKey=${key}`,
    ]) {
      const shown = redact(`before ${text} after`)
      expect(shown).not.toContain('s3cr3t-word')
      expect(shown).not.toContain(key)
      expect(shown).toContain('before')
      expect(shown).toContain('after')
    }
  })

  test("redact removes a node's join key and secret", () => {
    const letters = '0123456789abcdef'.repeat(4)
    for (const text of [`tpj_${letters}`, `tpn_${letters}`, `{"key":"tpj_${letters}"}`, `x=tpn_${letters}&y`]) {
      expect(redact(`before ${text} after`)).not.toContain(letters)
    }
  })

  test('the log redacts a field that is named like a secret at any depth', () => {
    const { lines, log } = capture(false)
    log.info('event', {
      password: 'x1',
      headers: { Authorization: 'x2', cookie: 'x3' },
      private_key: 'x4',
      privateKey: 'x5',
      secret: ['x6'],
    })
    expect(lines.join('')).not.toMatch(/x\d/)
  })

  test('the log writes an entry with a bigint, a line break and an error as one JSON object on one line', () => {
    const { lines, log } = capture(false)
    log.info('event', {
      big: 2n ** 70n,
      nothing: undefined,
      text: 'two\nlines',
      error: new Error('why', { cause: 'because' }),
    })
    expect(lines).toHaveLength(1)
    expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1)
    const entry = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(entry).toMatchObject({
      level: 'info',
      role: 'shop',
      event: 'event',
      big: '1180591620717411303424',
      text: 'two\nlines',
    })
    expect(entry['error']).toMatchObject({ message: 'why', cause: 'because' })
  })

  test('the log writes the stack of an error at level error, and omits it at level warn', () => {
    const { lines, log } = capture(false)
    const error = new Error('the shop is away', { cause: new Error('no route') })
    log.warn('report not taken', { fault: error })
    log.error('fault', { fault: error })
    expect(lines[0]).toContain('no route')
    expect(lines.map((line) => line.includes('"stack"'))).toEqual([false, true])
  })

  test('the log writes an error that is its own cause without endless recursion', () => {
    const { lines, log } = capture(false)
    const error = new Error('round and round')
    error.cause = error
    log.error('fault', { fault: error })
    expect(lines.join('')).toContain('round and round')
  })

  test('the log writes no entry below its level', () => {
    for (const [level, count] of [
      ['debug', 4],
      ['warn', 2],
      ['silent', 0],
    ] as const) {
      const { lines, log } = capture(false, level)
      for (const name of ['error', 'warn', 'info', 'debug'] as const) log[name]('x')
      expect(lines).toHaveLength(count)
    }
  })
})
