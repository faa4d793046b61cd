import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { guides } from '../../src/api/docs.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import { writeClientFiles } from '../../tools/clients/files.ts'
import { freePort } from '../harness/gateway.ts'
import { longTest } from '../harness/long-test.ts'
import { fencesOf } from '../harness/markdown.ts'
import { runProgram } from '../harness/run-program.ts'
import { type Service, startService } from '../harness/service.ts'
import { compileStrict } from './compile-strict.ts'

const root = resolve(import.meta.dir, '../..')
const textOf = (name: string, folder = 'docs/guides'): string => readFileSync(join(root, folder, `${name}.md`), 'utf8')

/** What starts the program of a fence. curl needs no more than a POSIX shell and its usual commands. */
const commands: Readonly<Record<string, { readonly suffix: string; readonly start: readonly string[] }>> = {
  sh: { suffix: 'sh', start: ['sh', '-eu'] },
  ts: { suffix: 'ts', start: [process.execPath] },
  python: { suffix: 'py', start: ['python3', '-B'] },
}

let service: Service
let folder: string
beforeAll(async () => {
  await writeClientFiles()
  folder = mkdtempSync(join(tmpdir(), 'turnpike-guides-'))
  // The packed clients have tests of their own; here the programs find the sources.
  const client = join(folder, 'node_modules/@turnpike/client')
  mkdirSync(client, { recursive: true })
  const source = join(root, 'packages/client/src/index.ts')
  writeFileSync(
    join(client, 'package.json'),
    JSON.stringify({ name: '@turnpike/client', type: 'module', main: source }),
  )
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  // Real time: a receiver refuses a webhook whose timestamp is more than 5 minutes away.
  service = await startService('sqlite', {}, realRuntime)
})
afterAll(async () => {
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

const run = (command: readonly string[]) =>
  runProgram(command, {
    folder,
    env: {
      HOME: folder,
      PYTHONPATH: join(root, 'packages/python'),
      TURNPIKE_URL: service.url,
      TURNPIKE_TOKEN: service.token,
      WEBHOOK_URL: `http://127.0.0.1:${freePort()}/hook`,
    },
  })

describe('guides of docs/guides', () => {
  test.each([...guides])(
    'the programs of docs/guides/%s.md in curl, TypeScript and Python run as written',
    async (name) => {
      const fences = fencesOf(textOf(name))
      expect(fences.map((each) => each.language)).toEqual(Object.keys(commands))
      for (const { language, lines } of fences) {
        const { suffix, start } = commands[language] ?? { suffix: '', start: [] }
        const file = `${name}.${suffix}`
        writeFileSync(join(folder, file), lines.join('\n'))
        const ran = await run([...start, file])
        expect({ file, ...ran }).toMatchObject({ file, exit: 0, out: expect.stringMatching(/\S/) })
      }
    },
  )

  test('each guide is in both languages with the same programs and the same tables', () => {
    const names = readdirSync(join(root, 'docs/guides')).map((each) => each.replace('.md', ''))
    expect(names.toSorted()).toEqual([...guides, 'README'].toSorted())
    expect(readdirSync(join(root, 'docs/ru/guides'))).toHaveLength(names.length)
    for (const name of names) {
      const [english, russian] = [textOf(name), textOf(name, 'docs/ru/guides')]
      expect(fencesOf(russian).map(({ lines }) => lines)).toEqual(fencesOf(english).map(({ lines }) => lines))
      const rowsIn = (text: string) => text.match(/^\|/gm)?.length
      expect([name, rowsIn(russian)]).toEqual([name, rowsIn(english)])
      expect(english).toContain(`[По-русски](../ru/guides/${name}.md)`)
      expect(russian).toContain(`[In English](../../guides/${name}.md)`)
    }
  })

  test('the list of guides in docs/guides/README.md and docs/ru/guides/README.md has each guide once, in order', () => {
    for (const each of ['docs/guides', 'docs/ru/guides']) {
      const listed = [...textOf('README', each).matchAll(/^- \[.+\]\((.+)\.md\)$/gm)].map(([, name]) => name)
      expect(listed).toEqual([...guides])
    }
  })
})

longTest('the TypeScript programs of the guides compile with --strict', async () => {
  for (const name of guides) {
    const program = fencesOf(textOf(name)).find(({ language }) => language === 'ts')
    // A module of its own, also without an import.
    writeFileSync(join(folder, `${name}.ts`), `${program?.lines.join('\n')}\nexport {}\n`)
  }
  const files = guides.map((name) => `${name}.ts`)
  expect(await compileStrict(folder, files)).toEqual({ exit: 0, out: '', err: '' })
})
