import { describe, expect, test } from 'bun:test'
import { startService } from '../../test/harness/service.ts'
import { customerTable, operatorTable, signInTable } from './operation-tables.ts'

type Described = {
  readonly operationId: string
  readonly 'x-role'?: string
  readonly parameters?: readonly { readonly name: string }[]
}
type Description = { readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>> }

const tables = [
  ['/api/v1', customerTable],
  ['/auth/v1', signInTable],
  ['/admin/v1', operatorTable],
] as const

describe('operation tables of the console', () => {
  test('each table has exactly the operations that its API describes, with method, path, key and role', async () => {
    const service = await startService('sqlite')
    try {
      for (const [base, tableOf] of tables) {
        const answer = await fetch(`${service.url}${base}/openapi.json`)
        const { paths } = (await answer.json()) as Description
        const rows = Object.entries(paths).flatMap(([path, methods]) =>
          Object.entries(methods).map(([method, of]) => {
            const isKeyed = (of.parameters ?? []).some(({ name }) => name === 'Idempotency-Key')
            const rest = [...(isKeyed ? ['keyed'] : []), ...(of['x-role'] === undefined ? [] : [of['x-role']])]
            return [of.operationId, [method.toUpperCase(), path, ...rest]] as const
          }),
        )
        expect(tableOf()).toEqual(Object.fromEntries(rows))
      }
    } finally {
      await service.stop()
    }
  })
})
