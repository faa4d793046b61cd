import { describe, expect, test } from 'bun:test'
import { rulesBroken } from './planted.ts'
import { checkTimes } from './times.ts'

const broken = (text: string, path = 'src/api/http.ts') => rulesBroken(checkTimes, path, text)

describe('checkTimes', () => {
  test('checkTimes refuses the name of an instant that does not end in At', () => {
    for (const text of [
      'const startedMs = performance.now()',
      'let restUntilMs = 0',
      'type A = { readonly lastContactMs: number }',
      'function a(askedMs: number) {}',
      'const lastMs = 3',
      'function a(until: number) {}',
      'type A = { readonly deadline: number }',
      'const { a, b } = c; function d(e: string, since: number) {}',
    ]) {
      expect(broken(text)).toEqual(['time-name'])
    }
    expect(broken('const startedAt = performance.now(); let restUntilAt = 0; type A = { until: string }')).toEqual([])
  })

  test('checkTimes refuses the name of a duration that does not end in its unit', () => {
    for (const name of ['timeout', 'delay', 'ttl', 'duration', 'interval']) {
      expect(broken(`function a(${name}: number) {}`)).toEqual(['time-name'])
      expect(broken(`function a(${name}Ms: number) {}`)).toEqual([])
      expect(broken(`function a(${name}Seconds: number) {}`)).toEqual([])
    }
    expect(broken('const keyLastsMs = 5; const missLastsMs = 2; const rememberMs = 500; idleTimeout: 30')).toEqual([])
  })

  test('checkTimes refuses the name of a clock reading that does not end in At or Ms', () => {
    for (const reading of ['Date.now()', 'performance.now()', 'clock()', 'deps.clock()']) {
      expect(broken(`const moment = ${reading}`)).toEqual(['time-name'])
      expect(
        broken(`const nowMs = ${reading}; const beganAt = ${reading}; const leftMs = ${reading} - beganAt`),
      ).toEqual([])
    }
  })

  test('checkTimes ignores tests and comments', () => {
    expect(broken('const startedMs = 1', 'test/harness/raw.ts')).toEqual([])
    expect(broken('// const startedMs = 1')).toEqual([])
  })
})
