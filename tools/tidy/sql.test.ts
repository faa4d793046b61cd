import { describe, expect, test } from 'bun:test'
import { rulesBroken } from './planted.ts'
import { checkSql } from './sql.ts'

const broken = (path: string, text: string) => rulesBroken(checkSql, path, text)

const statements = [
  '`SELECT id\n FROM orders WHERE id = ${id}`',
  `'INSERT INTO orders (id) VALUES (1)'`,
  '`UPDATE ${table} SET a = 1`',
  `"DELETE FROM orders"`,
  `'CREATE TABLE orders (id INT)'`,
  `'select * from orders'`,
]

describe('checkSql', () => {
  test('checkSql allows SQL only in stores, src/db and tests', () => {
    for (const statement of statements) {
      expect(broken('src/domains/orders/service.ts', `tx.run(${statement})`)).toEqual(['sql'])
      expect(broken('src/domains/orders/refunds/rules.ts', `tx.run(${statement})`)).toEqual(['sql'])
      expect(broken('src/api/http.ts', `tx.run(${statement})`)).toEqual(['sql'])
      for (const path of [
        'src/domains/orders/store.ts',
        'src/domains/orders/store-history.ts',
        'src/domains/orders/refunds/store.ts',
        'src/db/migrate.ts',
        'src/api/http.test.ts',
      ]) {
        expect(broken(path, `tx.run(${statement})`)).toEqual([])
      }
    }
  })

  test('checkSql ignores comments and prose with SQL words', () => {
    expect(broken('src/api/http.ts', `// SELECT a FROM b\nconst a = 'Select a country from the list'`)).toEqual([])
    expect(broken('src/api/http.ts', `const a = 'an update may set it'`)).toEqual([])
  })
})
