import { describe, expect, test } from 'bun:test'
import { checkAmbient } from './ambient.ts'
import { rulesBroken } from './planted.ts'

const broken = (path: string, text: string) => rulesBroken(checkAmbient, path, text)

describe('checkAmbient', () => {
  test('checkAmbient lets only src/app and tests read the environment', () => {
    for (const text of [
      'process.env.A',
      `process.env['A']`,
      'Bun.env.A',
      'import.meta.env.A',
      'const { env } = process',
    ]) {
      expect(broken('src/api/http.ts', text)).toEqual(['environment'])
      expect(broken('src/app/settings/config.ts', text)).toEqual([])
      expect(broken('test/harness/scale.ts', text)).toEqual([])
    }
    expect(broken('src/api/http.ts', '// process.env is read elsewhere\nconst env = c.env')).toEqual([])
  })

  test('checkAmbient refuses a clock in src/core and src/domains, except in tests', () => {
    for (const text of [
      'Date.now()',
      'new Date()',
      'new Date',
      'Date()',
      'performance.now()',
      'process.hrtime()',
      'Bun.nanoseconds()',
    ]) {
      expect(broken('src/core/time.ts', text)).toEqual(['clock'])
      expect(broken('src/domains/orders/service.ts', text)).toEqual(['clock'])
      expect(broken('src/domains/orders/service.test.ts', text)).toEqual([])
      expect(broken('src/app/shop/shop.ts', text)).toEqual([])
    }
    expect(broken('src/core/time.ts', `new Date(ms); new Date('2026-01-01'); toDate(x); type A = Date`)).toEqual([])
  })

  test('checkAmbient refuses random values in src/domains', () => {
    for (const text of [
      'Math.random()',
      'crypto.getRandomValues(a)',
      'randomBytes(8)',
      'crypto.randomUUID()',
      'Bun.randomUUIDv7()',
    ]) {
      expect(broken('src/domains/orders/service.ts', text)).toEqual(['randomness'])
      expect(broken('src/app/shop/shop.ts', text)).toEqual([])
    }
    expect(broken('src/domains/orders/service.ts', 'deps.random(8)')).toEqual([])
  })

  test('checkAmbient refuses floating-point functions in the code for money, ledger and pricing', () => {
    for (const text of [
      'parseFloat(a)',
      'Number.parseFloat(a)',
      'a.toFixed(2)',
      'Math.round(a)',
      'Math.floor(a)',
      'Math.ceil(a)',
    ]) {
      expect(broken('src/core/money.ts', text)).toEqual(['no-floats'])
      expect(broken('src/domains/ledger/rules.ts', text)).toEqual(['no-floats'])
      expect(broken('src/domains/pricing/rules.ts', text)).toEqual(['no-floats'])
      expect(broken('src/domains/traffic/rules.ts', text)).toEqual([])
    }
    expect(broken('src/core/money.ts', 'a * b / 100n; Math.max(1, 2)')).toEqual([])
  })

  test('checkAmbient lets only src/cli and src/app use console', () => {
    for (const text of ['console.log(1)', 'console.error(1)', 'console\n  .warn(1)']) {
      expect(broken('src/api/http.ts', text)).toEqual(['console'])
      expect(broken('src/cli/verify.ts', text)).toEqual([])
      expect(broken('src/app/turnpike.ts', text)).toEqual([])
    }
    expect(broken('src/api/http.ts', `log('console.log')`)).toEqual([])
  })
})
