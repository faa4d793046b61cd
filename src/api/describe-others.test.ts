import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import { type Service, startService } from '../../test/harness/service.ts'

type Media = { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
type Described = {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string
        summary: string
        'x-role'?: string
        security?: object[]
        requestBody?: { content: Record<string, Media & { schema: { properties?: object } }> }
        responses: Record<string, { content: Record<string, Media> }>
      }
    >
  >
}

const bases = ['/admin/v1', '/auth/v1'] as const
const texts = new Map<string, string>()
let service: Service
beforeAll(async () => {
  service = await startService('sqlite')
  for (const base of bases) texts.set(base, await (await fetch(`${service.url}${base}/openapi.json`)).text())
})
afterAll(() => service.stop())

describe.each([...bases])('openapi.json of %s', (base) => {
  let described: Described
  beforeAll(() => {
    described = JSON.parse(texts.get(base) ?? '') as Described
  })

  const operations = () =>
    Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )

  test('every example of a body and of an answer in openapi.json matches its schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
    ajv.addSchema(described, 'description')
    // Many answers share the schemas of refusals, so each schema is compiled once.
    const validators = new Map<string, ValidateFunction>()
    const check = (pointer: readonly string[], schema: object | undefined, value: unknown) => {
      const location = pointer.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
      const text = JSON.stringify(schema)
      const validate = validators.get(text) ?? ajv.compile({ $ref: encodeURI(`description#/${location}`) })
      validators.set(text, validate)
      expect([location, validate(value), ajv.errorsText(validate.errors)]).toEqual([location, true, 'No errors'])
    }
    for (const { path, method, operation } of operations()) {
      const json = ['content', 'application/json', 'schema']
      const body = operation.requestBody?.content['application/json']
      if (Object.keys(body?.schema.properties ?? {}).length > 0)
        check(['paths', path, method, 'requestBody', ...json], body?.schema, body?.example)
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const { schema, example, examples = {} } = content?.['application/json'] ?? { schema: {} }
        const given = [...(example ? [example] : []), ...Object.values(examples).map((each) => each.value)]
        for (const each of given) check(['paths', path, method, 'responses', status, ...json], schema, each)
      }
    }
  })

  test('each operation in openapi.json has a unique operationId, a summary, and a role or an answer 401', () => {
    const names = operations().map((each) => each.operation.operationId)
    expect(new Set(names).size).toBe(names.length)
    for (const { operation } of operations()) {
      expect(operation.summary).not.toBe('')
      if (base === '/admin/v1') expect(['owner', 'support', 'reader']).toContain(operation['x-role'] ?? '')
      else if (operation.security?.length !== 0) expect(operation.responses).toHaveProperty('401')
    }
  })
})
