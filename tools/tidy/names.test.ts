import { describe, expect, test } from 'bun:test'
import { checkNames } from './names.ts'
import { rulesBroken } from './planted.ts'

const broken = (path: string, text = '') => rulesBroken(checkNames, path, text)

describe('checkNames', () => {
  test('checkNames refuses names of code files and folders that are not in kebab-case', () => {
    expect(broken('src/api/rateLimit.ts')).toEqual(['kebab-case'])
    expect(broken('src/api/Customer/orders.ts')).toEqual(['kebab-case'])
    expect(broken('src/api/rate_limit.ts')).toEqual(['kebab-case'])
    expect(broken('src/api/rate-limit.ts')).toEqual([])
    expect(broken('src/api/README.md')).toEqual([])
  })

  test('checkNames refuses a role such as .service in a file name', () => {
    expect(broken('src/api/orders.service.ts')).toEqual(['role-suffix'])
    expect(broken('test/browser/docs.long.test.ts')).toEqual([])
    expect(broken('test/browser/docs.short.test.ts')).toEqual(['role-suffix'])
    expect(broken('src/api/orders.test.ts')).toEqual([])
  })

  test('checkNames refuses names without a meaning, such as utils and helper', () => {
    for (const name of ['utils', 'helpers', 'helper', 'manager', 'misc', 'common', 'data', 'info', 'handler']) {
      expect(broken(`src/api/${name}.ts`)).toEqual(['empty-name'])
      expect(broken(`test/${name}/orders.ts`)).toEqual(['empty-name'])
    }
    expect(broken('src/db/data-version.ts')).toEqual([])
  })

  test('checkNames warns about a shipped file of 601 lines', () => {
    const found = (path: string, lines: number) => checkNames(new Map([[path, 'a\n'.repeat(lines)]]))
    expect(found('src/api/http.ts', 601)).toMatchObject([{ rule: 'length', isWarning: true }])
    expect(found('src/api/http.ts', 600)).toEqual([])
    expect(found('src/api/http.test.ts', 601)).toEqual([])
  })

  test('checkNames requires a README, rules, a store and an index in every domain', () => {
    const names = ['README.md', 'rules.ts', 'store.ts', 'index.ts']
    const whole = new Map(names.map((name) => [`src/domains/orders/${name}`, '']))
    expect(checkNames(whole)).toEqual([])
    for (const name of names) {
      const lacking = new Map(whole)
      lacking.delete(`src/domains/orders/${name}`)
      expect(checkNames(lacking).map((violation) => [violation.path, violation.rule])).toEqual([
        [`src/domains/orders/${name}`, 'anatomy'],
      ])
    }
  })

  test('checkNames allows rules and stores in subfolders of a domain with README and index at the top', () => {
    const names = ['README.md', 'index.ts', 'a/rules.ts', 'a/store.ts']
    const whole = new Map(names.map((name) => [`src/domains/orders/${name}`, '']))
    expect(checkNames(whole)).toEqual([])
    for (const name of names) {
      const lacking = new Map(whole)
      lacking.delete(`src/domains/orders/${name}`)
      expect(checkNames(lacking).map((violation) => violation.rule)).toEqual(['anatomy'])
    }
  })
})
