import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Service, startService } from '../../test/harness/service.ts'

const bases = ['/api/v1', '/admin/v1', '/auth/v1'] as const

let service: Service
beforeAll(async () => {
  service = await startService('sqlite')
})
afterAll(() => service.stop())

test('redocly finds neither an error nor a warning in the three openapi.json', async () => {
  const cwd = service.testDatabase.folder
  const files = bases.map((base) => join(cwd, `${base.split('/')[1]}.json`))
  for (const [index, base] of bases.entries()) {
    const answer = await fetch(`${service.url}${base}/openapi.json`)
    await Bun.write(files[index] ?? '', await answer.text())
  }
  const program = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))
  const child = Bun.spawn(['node', program, 'lint', ...files, '--format=json'], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const out = await child.stdout.text()
  // One report after another, without a separator.
  const reports = JSON.parse(`[${out.slice(out.indexOf('{')).replaceAll('\n}{', '\n},{')}]`) as {
    problems: { message: string; ruleId: string }[]
  }[]
  expect(reports).toHaveLength(bases.length)
  expect(reports.flatMap(({ problems }) => problems.map((each) => `${each.ruleId}: ${each.message}`))).toEqual([])
  expect(await child.exited).toBe(0)
})
