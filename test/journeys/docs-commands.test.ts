import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands } from '../../src/app/commands.ts'
import { commonOptions } from '../../src/app/process.ts'
import { openCommandServer } from '../harness/command-server.ts'
import { prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { commandsOf, type DocCommand, fencesOf, inlineCodeOf } from '../harness/markdown.ts'
import { openShell } from '../harness/pasting-shell.ts'
import { isLong } from '../harness/scale.ts'
import { withoutVpn } from '../harness/turnpike.ts'
import { until, waitLimitMs } from '../harness/until.ts'

const root = join(import.meta.dir, '../..')
const documents = ['README.md', 'CONTRIBUTING.md', ...new Bun.Glob('docs/**/*.md').scanSync({ cwd: root })].toSorted()
const textOf = (document: string): string => readFileSync(join(root, document), 'utf8')

/** Commands that are not run here: they would change this checkout, or are this very run. */
const skippedCommands = [/^npm install(?: --omit=dev)?(?: && |$)/, /^npm run check && npm test$/]
const keepsRunning = /(^|\s)(npm start|npx turnpike up)$/
const waitMs = 2 * waitLimitMs

const folders: string[] = []
afterAll(async () => {
  await commandServer.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A folder that commands see as a fresh checkout: links to this one’s sources, and no data. */
function makeCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-docs-'))
  folders.push(folder)
  for (const name of ['package.json', 'bin', 'src', 'migrations', 'tools'])
    symlinkSync(join(root, name), join(folder, name))
  return folder
}

/** A shell that runs a document’s commands; a shop that one of them starts keeps running. */
function openReader(env: Record<string, string> = {}) {
  const folder = makeCheckout()
  const [port, gatewayPort] = [String(freePort()), String(freePort())]
  const shell = openShell(folder, {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    npm_config_update_notifier: 'false',
    TURNPIKE_PORT: port,
    TURNPIKE_GATEWAY_PORT: gatewayPort,
    ...withoutVpn,
    ...env,
  })
  const fields = new Map<string, string>()

  /** Replaces `…` by the last printed id with that prefix, and capitals by fields of the last answer. */
  function fillIn(text: string): string {
    return text
      .replaceAll('8080', port)
      .replaceAll('10800', gatewayPort)
      .replace(/\b(tp_test|cus|tok|ord|whk)_…/g, (found, kind: string) => {
        const printed = [...(shell.out() + shell.err()).matchAll(new RegExp(`\\b${kind}_[0-9a-z]{10,}`, 'g'))]
        return printed.at(-1)?.[0] ?? found
      })
      .replace(/\b(USERNAME|PASSWORD|LOGIN|IP|ID)\b/g, (found) => fields.get(found.toLowerCase()) ?? found)
  }

  function rememberFields(out: string): void {
    const answer: unknown = out.startsWith('{"ok":true') ? JSON.parse(out) : undefined
    const data = (answer as { data?: { proxies?: unknown[]; login?: string } } | undefined)?.data
    const answered = { ...data, ...(typeof data?.proxies?.[0] === 'object' ? data.proxies[0] : {}) }
    for (const [name, value] of Object.entries(answered)) fields.set(name, String(value))
  }

  return {
    folder,
    shell,
    async paste(command: DocCommand): Promise<void> {
      const text = fillIn(skippedCommands.reduce((rest, each) => rest.replace(each, ''), command.text))
      if (text.trim() === '') return
      if (keepsRunning.test(text)) {
        shell.start(text)
        await until(() => shell.out().includes('Turnpike is open at'), waitMs).catch((cause: unknown) => {
          throw new Error(`it did not open: ${text}\nIt printed: ${shell.out()}${shell.err()}`, { cause })
        })
        return
      }
      const ended = await shell.run(text)
      expect({ line: command.line, text, ...ended }).toMatchObject({ exit: 0 })
      if (/^\s*curl /.test(text))
        expect({ text, out: ended.out }).toEqual({ text, out: expect.stringMatching(/^\{"(?:ok":true|result":)/) })
      rememberFields(ended.out)
    },
  }
}

/** Defines npx as a function that runs the commands without npm, Node and the start of a process. */
const commandServer = await openCommandServer()
const defineFastNpx = `${commandServer.toShellFunction('turnpike')}\nnpx() { turnpike "\${@:2}"; }`

/** Files whose change can break a documented command. */
const decisive = ['README.md', 'CONTRIBUTING.md', 'docs', 'bin', 'src/cli', 'src/app', import.meta.path]

/** Output of `git`; undefined when there is no git, no repository or no such commit. */
function runGit(args: readonly string[]): string | undefined {
  if (Bun.which('git') === null) return undefined
  const { exitCode, stdout } = Bun.spawnSync(['git', ...args, '--', ...decisive], { cwd: root, stderr: 'ignore' })
  return exitCode === 0 ? stdout.toString() : undefined
}

/** True unless git reports the decisive files as equal to those of the commit before the last one. */
function isChanged(): boolean {
  const changed = runGit(['diff', '--name-only', 'HEAD~1'])
  const added = runGit(['ls-files', '--others', '--exclude-standard'])
  return changed !== '' || added !== ''
}

/** The README runs every time; all documents run when a decisive file has changed, and in a long run. */
const isWhole = isLong || isChanged()
if (!isWhole) {
  const reason = 'README.md, docs/, src/cli and src/app are as in the commit before; npm run test:long runs them'
  process.stderr.write(`not run here: commands of documents other than README.md: ${reason}\n`)
}

/** Russian pages: their commands are compared with the English page and not run again. */
const isRussian = (document: string): boolean => document.startsWith('docs/ru/')

const isGuide = (document: string): boolean => /^docs\/(ru\/)?guides\//.test(document)

const withIpv6 = { TURNPIKE_HOST: '::' }
const start: DocCommand = { line: 0, text: 'npx turnpike up' }
const takeToken: DocCommand = { line: 0, text: "export TOKEN='tp_test_…'" }

describe('sh commands of documents', () => {
  /** Commands that a reader has run before reading a document. */
  const before: Readonly<Record<string, readonly DocCommand[]>> = {
    'docs/api/webhooks.md': [start, takeToken],
    'docs/gateway.md': [start, takeToken],
    'docs/mcp.md': [start, takeToken],
    'docs/premium.md': [start, takeToken],
    'docs/vpn.md': [start, takeToken],
    'docs/operate/verify.md': [start],
    'docs/operate/backup-and-upgrade.md': [start],
  }
  // The programs of the guides are whole scripts, which test/clients/guides.test.ts runs.
  const withCommands = documents.filter((each) => !isGuide(each) && commandsOf(textOf(each)).length > 0)
  for (const document of withCommands.filter((each) => (isWhole && !isRussian(each)) || each === 'README.md')) {
    test(`every sh command of ${document} succeeds as it is written`, async () => {
      const reader = openReader(document === 'docs/gateway.md' ? withIpv6 : {})
      try {
        // The README starts in an empty folder; the other documents start with an existing database.
        if (document === 'README.md') await reader.paste({ line: 0, text: 'npx turnpike --version' })
        else prepareFolder(join(reader.folder, 'data'), before[document] ? 'stocked' : 'migrated')
        await reader.shell.run(defineFastNpx)
        for (const command of before[document] ?? []) await reader.paste(command)
        for (const command of commandsOf(textOf(document))) await reader.paste(command)
      } finally {
        await reader.shell.end()
      }
    })
  }
})

test('Russian documents have the fences of the English ones, and each English page links to its Russian one', () => {
  const codeOf = (document: string) => fencesOf(textOf(document)).map(({ language, lines }) => ({ language, lines }))
  expect(codeOf('README.ru.md')).toEqual(codeOf('README.md'))
  const pages = [...new Bun.Glob('*.md').scanSync({ cwd: join(root, 'docs/ru') })].toSorted()
  const ofOperators = ['high-availability.md', 'install.md', 'payments.md', 'ranges.md', 'site.md', 'tls.md']
  const ofCustomers = ['login-grammar.md', 'mcp.md', 'proxy-urls.md']
  const ofPrograms = ['errors.md', 'events.md', 'reasons.md', 'webhooks.md']
  expect(pages).toEqual([...ofOperators, ...ofCustomers, ...ofPrograms].toSorted())
  for (const page of pages) {
    const folder = ofCustomers.includes(page) ? '' : ofPrograms.includes(page) ? 'api/' : 'operate/'
    const [english, russian] = [`docs/${folder}${page}`, `${folder === '' ? '' : '../'}ru/${page}`]
    expect({ page, code: codeOf(`docs/ru/${page}`) }).toEqual({ page, code: codeOf(english) })
    expect(textOf(english)).toContain(`[По-русски](${russian})`)
  }
})

describe('inline commands and fences of documents', () => {
  test('an inline command in a document names an existing command and options that it has', () => {
    const wrong = documents.flatMap((document) =>
      inlineCodeOf(textOf(document)).flatMap((code) => {
        const [, typed] = /^(?:[A-Z_]+=\S* )*(?:npx )?turnpike (.+)$/.exec(code) ?? []
        return typed === undefined || isUnderstood(typed) ? [] : [`${document}: ${code}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  test('every fence in a document has a known language, and a console fence names its machine', () => {
    for (const document of documents) {
      for (const { language, line, lines } of fencesOf(textOf(document))) {
        expect([document, line, language]).toEqual([
          document,
          line,
          expect.stringMatching(/^(sh|console|text|yaml|json|ini|abnf|ts|python|sql)$/),
        ])
        if (language === 'console') expect(lines[0]).toMatch(/^[a-z0-9-]+[#$] /)
      }
    }
  })
})

/** Brackets and alternatives are accepted; words in capitals match anything. */
function isUnderstood(typed: string): boolean {
  const args = typed.replace(/[[\]]/g, '').split(/\s+/)
  if (args[0]?.startsWith('--')) return ['--help', '--version'].includes(args[0])
  const fits = commands.filter((each) =>
    each.name.split(' ').every((part, index) => args[index]?.split('|').includes(part)),
  )
  const command = fits.toSorted((a, b) => b.name.length - a.name.length)[0]
  const isGroup = commands.some((each) => each.name.startsWith(`${args[0]} `)) && args.length === 1
  if (!command) return isGroup || args[0] === 'COMMAND'
  const flags = args.filter((part) => part.startsWith('--')).map((part) => part.slice(2).split('=')[0])
  return flags.every((flag) => [...command.options, ...commonOptions].some((option) => option.flag === flag))
}
