import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileStrict } from '../../test/clients/compile-strict.ts'
import { longTest } from '../../test/harness/long-test.ts'
import { fencesOf } from '../../test/harness/markdown.ts'
import { runProgram } from '../../test/harness/run-program.ts'
import { type Service, startService } from '../../test/harness/service.ts'
import { writeClientFiles } from '../../tools/clients/files.ts'
import { articles } from './docs.ts'
import { operationPagePath } from './docs-markdown.ts'

let shop: Service
let folder: string
/** The code of each operation's page by its language. */
const examples = new Map<string, ReadonlyMap<string, string>>()
type Description = { paths: Record<string, Record<string, { operationId: string; security?: object[] }>> }
let description: Description

const run = (command: readonly string[]) =>
  runProgram(command, { folder, env: { TURNPIKE_URL: shop.url, TURNPIKE_TOKEN: shop.token } })

beforeAll(async () => {
  shop = await startService('sqlite')
  folder = mkdtempSync(join(tmpdir(), 'turnpike-examples-'))
  description = (await (await fetch(`${shop.url}/api/v1/openapi.json`)).json()) as Description
  for (const { operationId } of Object.values(description.paths).flatMap((each) => Object.values(each))) {
    const text = await (await fetch(shop.url + operationPagePath(operationId))).text()
    examples.set(operationId, new Map(fencesOf(text).map(({ language, lines }) => [language, lines.join('\n')])))
  }
})
afterAll(async () => {
  await shop.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('every link of /llms.txt leads to a Markdown page, and every article and operation is linked', async () => {
  const text = await (await fetch(`${shop.url}/llms.txt`)).text()
  const links = [...text.matchAll(/\]\((\S+)\)/g)].map(([, link]) => link ?? '')
  expect(links.toSorted()).toEqual(
    [...articles.map((each) => `${each}.md`), ...[...examples.keys()].map(operationPagePath)].toSorted(),
  )
  for (const link of links) {
    const answer = await fetch(shop.url + link)
    expect([link, answer.status, answer.headers.get('content-type')]).toEqual([
      link,
      200,
      'text/markdown; charset=utf-8',
    ])
    expect([link, await answer.text()]).toEqual([link, expect.stringMatching(/^# \S/)])
  }
})

test('the page of an operation is in Russian for ?lang=ru, with the same example', async () => {
  const answer = await fetch(`${shop.url}${operationPagePath('buyDedicated')}?lang=ru`)
  const text = await answer.text()
  expect(answer.headers.get('content-language')).toBe('ru')
  expect(text).toMatch(/^# [А-Я]/)
  expect(text).toContain(examples.get('buyDedicated')?.get('ts') ?? 'no example')
})

test('every operation has an example in curl, and each that a token may call also in TypeScript and Python', () => {
  for (const { operationId: id, security } of Object.values(description.paths).flatMap((each) => Object.values(each))) {
    const isForTokens = security === undefined || security.some((each) => 'token' in each)
    expect([id, [...(examples.get(id)?.keys() ?? [])]]).toEqual([id, isForTokens ? ['sh', 'ts', 'python'] : ['sh']])
  }
})

test('the curl example of every operation that reads without a required field succeeds', async () => {
  // Two of them read the only subscription.
  await fetch(`${shop.url}/api/v1/vpn/buy`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${shop.token}`, 'Content-Type': 'application/json' },
    body: '{"period": 1}',
  })
  const free = Object.values(description.paths).flatMap(({ get }) => (get && !isFilled(get) ? [get] : []))
  expect(free.length).toBeGreaterThan(25)
  const commands = free.map(({ operationId: id }) => {
    const command = examples.get(id)?.get('sh') ?? ''
    return `echo "${id} $(${command} -s -o /dev/null -w '%{http_code}')"`
  })
  const { out } = await run(['sh', '-c', commands.join('\n')])
  const consoleOnly = free.filter(
    ({ security }) => security?.every((each) => !('token' in each)) && security.length > 0,
  )
  const expected = free.map((each) => `${each.operationId} ${consoleOnly.includes(each) ? '401' : '200'}`)
  expect(out.trim().split('\n')).toEqual(expected)
})

const isFilled = (operation: object): boolean =>
  'parameters' in operation && (operation.parameters as { required?: boolean }[]).some((each) => each.required)

test('the Python example of every operation compiles', async () => {
  const programs = [...examples].flatMap(([id, each]) => (each.has('python') ? [[id, each.get('python')]] : []))
  writeFileSync(join(folder, 'programs.json'), JSON.stringify(programs))
  const program = 'import json\nfor name, text in json.load(open("programs.json")): compile(text, name, "exec")'
  expect(await run(['python3', '-c', program])).toEqual({ exit: 0, out: '', err: '' })
})

longTest('the TypeScript example of every operation compiles with --strict', async () => {
  await writeClientFiles()
  const files = [...examples].flatMap(([id, each]) => {
    const text = each.get('ts')
    if (text === undefined) return []
    writeFileSync(join(folder, `${id}.ts`), text)
    return [`${id}.ts`]
  })
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  expect(await compileStrict(folder, files)).toEqual({ exit: 0, out: '', err: '' })
})
