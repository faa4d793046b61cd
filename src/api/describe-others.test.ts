import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Ajv2020 from 'ajv/dist/2020'
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

describe.each(['/admin/v1', '/auth/v1'])('the description of %s', (base) => {
  let service: Service
  let text: string
  let described: Described
  beforeAll(async () => {
    service = await startService('sqlite')
    text = await (await fetch(`${service.url}${base}/openapi.json`)).text()
    described = JSON.parse(text) as Described
  })
  afterAll(() => service.stop())

  const operations = () =>
    Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )

  test('has examples that are as it says, bodies and answers alike', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
    ajv.addSchema(described, 'description')
    const check = (pointer: readonly string[], value: unknown) => {
      const way = pointer.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
      const validate = ajv.compile({ $ref: encodeURI(`description#/${way}`) })
      expect([way, validate(value), ajv.errorsText(validate.errors)]).toEqual([way, true, 'No errors'])
    }
    for (const { path, method, operation } of operations()) {
      const json = ['content', 'application/json', 'schema']
      const body = operation.requestBody?.content['application/json']
      if (Object.keys(body?.schema.properties ?? {}).length > 0)
        check(['paths', path, method, 'requestBody', ...json], body?.example)
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const { example, examples = {} } = content['application/json'] ?? { schema: {} }
        const given = [...(example ? [example] : []), ...Object.values(examples).map((each) => each.value)]
        for (const each of given) check(['paths', path, method, 'responses', status, ...json], each)
      }
    }
  })

  test('names each operation once, and who may call it', () => {
    const names = operations().map((each) => each.operation.operationId)
    expect(new Set(names).size).toBe(names.length)
    for (const { operation } of operations()) {
      expect(operation.summary).not.toBe('')
      if (base === '/admin/v1') expect(['owner', 'support', 'reader']).toContain(operation['x-role'] ?? '')
      else if (operation.security?.length !== 0) expect(operation.responses).toHaveProperty('401')
    }
  })

  test('has neither an error nor a warning in the eyes of a linter that is not ours', async () => {
    const file = join(service.place.folder, 'openapi.json')
    await Bun.write(file, text)
    const program = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))
    const child = Bun.spawn(['node', program, 'lint', file, '--format=json'], {
      cwd: service.place.folder,
      env: { PATH: process.env['PATH'] ?? '', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const out = await child.stdout.text()
    const report = JSON.parse(out.slice(out.indexOf('{'))) as { problems: { message: string; ruleId: string }[] }
    expect(report.problems.map((each) => `${each.ruleId}: ${each.message}`)).toEqual([])
  })
})
