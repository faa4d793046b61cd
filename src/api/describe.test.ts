import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Service, startService } from '../../test/harness/service.ts'

type Described = {
  openapi: string
  paths: Record<string, Record<string, DescribedOperation>>
}
type DescribedOperation = {
  operationId?: string
  summary?: string
  parameters?: { name: string; in: string }[]
  responses: Record<
    string,
    { description: string; headers?: object; content: Record<string, { example?: object; examples?: object }> }
  >
}

describe('the description of the API', () => {
  let service: Service
  let text: string
  let described: Described
  beforeAll(async () => {
    service = await startService('sqlite')
    text = await (await fetch(`${service.url}/api/v1/openapi.json`)).text()
    described = JSON.parse(text) as Described
  })
  afterAll(() => service.stop())
  const operations = () =>
    Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, method, operation })),
    )

  test('is served without a token', () => {
    expect(described.openapi).toStartWith('3.1')
    expect(operations().map((each) => each.name)).toEqual(
      expect.arrayContaining(['get /balance', 'get /orders/{order_id}']),
    )
  })

  test('has no error in the eyes of a linter that is not ours', async () => {
    const file = join(service.place.folder, 'openapi.json')
    await Bun.write(file, text)
    const program = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))
    const child = Bun.spawn(['node', program, 'lint', file, '--format=json'], {
      cwd: service.place.folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        REDOCLY_TELEMETRY: 'off',
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
        NO_COLOR: '1',
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    const report = JSON.parse(out.slice(out.indexOf('{'))) as {
      totals: object
      problems: { message: string; severity: string }[]
    }
    expect(report.problems.filter((problem) => problem.severity === 'error')).toEqual([])
    expect(report.totals).toMatchObject({ errors: 0 })
    expect([await child.exited, err.includes('rror')]).toEqual([0, false])
  }, 60_000)

  test('gives every operation a name, a summary, an example, and every code it can answer with', () => {
    const always = {
      400: ['invalid_request'],
      401: ['invalid_token'],
      403: ['forbidden'],
      429: ['rate_limited'],
      500: ['internal_error'],
      503: ['unavailable'],
    }
    const withBody = { 413: ['payload_too_large'], 415: ['unsupported_media_type'] }
    const charging = {
      402: ['insufficient_funds'],
      409: ['request_in_progress', 'conflict'],
      422: ['idempotency_key_reused'],
    }
    const names = new Set<string>()
    for (const { name, method, operation } of operations()) {
      expect(operation.summary ?? '').toMatch(/^.{5,}$/)
      names.add(operation.operationId ?? name)
      expect(operation.responses['200']?.content['application/json']?.example).toMatchObject({ ok: true })
      const charges = operation.parameters?.some((each) => each.name === 'Idempotency-Key')
      const expected = { ...always, ...(method === 'post' && withBody), ...(charges && charging) }
      for (const [status, codes] of Object.entries(expected)) {
        const examples = operation.responses[status]?.content['application/json']?.examples ?? {}
        for (const code of codes)
          expect({ name, status, codes: Object.keys(examples) }).toMatchObject({
            codes: expect.arrayContaining([code]),
          })
      }
      for (const answer of Object.values(operation.responses))
        expect(Object.keys(answer.headers ?? {})).toContain('X-Request-Id')
    }
    expect(names.size).toBe(operations().length)
  })
})
