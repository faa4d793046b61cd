import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { docsPaths, russianDescriptionPath } from '../../src/api/docs.ts'
import { buildBinary, entries } from '../../tools/package/binary.ts'
import { ownTarget } from '../../tools/package/targets.ts'
import { freePort } from '../harness/gateway.ts'
import { packedProgram } from '../harness/turnpike.ts'
import { until, waitLimitMs } from '../harness/until.ts'

const root = join(import.meta.dir, '../..')
const withinMs = waitLimitMs

/** A packed program, alone in a folder without its sources. */
const folder = mkdtempSync(join(tmpdir(), 'turnpike-packed-'))
const program = join(folder, 'turnpike')
const [port, gatewayPort, metricsPort] = [freePort(), freePort(), freePort()]
const url = `http://127.0.0.1:${port}`
const token = 'tp_test_of_the_packed_program'
const env = {
  PATH: '/usr/bin:/bin',
  TURNPIKE_DATA: join(folder, 'data'),
  TURNPIKE_PORT: String(port),
  TURNPIKE_GATEWAY_PORT: String(gatewayPort),
  TURNPIKE_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
  TURNPIKE_SANDBOX_TOKEN: token,
  TURNPIKE_LOG: 'debug',
  TURNPIKE_LOCAL_NODES: 'gateway',
}

async function runPacked(...pattern: readonly string[]): Promise<{ exit: number; out: string; err: string }> {
  const child = Bun.spawn([program, ...pattern], { cwd: '/', env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { exit: await child.exited, out, err }
}

describe('the program packed into one file', () => {
  let up: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  let printed = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) printed += Buffer.from(chunk).toString()
  }
  beforeAll(async () => {
    if (packedProgram === undefined) await buildBinary(ownTarget(), program)
    else copyFileSync(packedProgram, program)
    up = Bun.spawn([program, 'up'], { cwd: '/', env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    void read(up.stdout)
    void read(up.stderr)
    await until(() => printed.includes('Turnpike is open at') || up.exitCode !== null, withinMs)
    expect(printed).toContain('Turnpike is open at')
  })
  afterAll(async () => {
    up.kill('SIGTERM')
    await up.exited
    rmSync(folder, { recursive: true, force: true })
  })

  const authorization = `Bearer ${token}`
  const buy = () =>
    fetch(`${url}/api/v1/dedicated/buy`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'idempotency-key': 'packed' },
      body: JSON.stringify({ country_code: 'DE', period: 30, count: 1, ipv: 4 }),
    })

  test('the packed program sells a proxy and relays through it with the linux engine', async () => {
    const bought = (await (await buy()).json()) as { data: { proxies: Record<string, string>[] } }
    const proxy = bought.data.proxies[0] ?? {}
    const answer = await fetch(`${url}/healthz`, {
      proxy: `http://${proxy['username']}:${proxy['password']}@${proxy['ip']}:${proxy['port']}`,
    })
    expect(await answer.json()).toEqual({ ok: true, version: manifest.version })
    expect(printed).not.toContain('portable engine')
    expect(printed).not.toContain('reactor started again')
  })

  test('the packed program serves its console with every file of the page, and every page of its docs in both languages', async () => {
    // `/` is the public page.
    const page = await (await fetch(`${url}/account`)).text()
    const named = [...page.matchAll(/\/console\/[\w.-]+/g)].map(([path]) => path)
    expect(named.length).toBeGreaterThan(2)
    const russian = [...docsPaths.map((path) => `${path}?lang=ru`), russianDescriptionPath]
    for (const path of ['/', '/front/icon.svg', ...named, ...docsPaths, ...russian]) {
      const answer = await fetch(url + path)
      expect([path, answer.status, (await answer.text()).length > 100]).toEqual([path, 200, true])
    }
    const built = readdirSync(join(root, 'dist/console')).filter((name) => name.endsWith('.js'))
    for (const name of built) expect((await fetch(`${url}/console/${name}`)).status).toBe(200)
  })

  test('the packed program contains every migration', () => {
    for (const file of readdirSync(join(root, 'migrations'))) expect(printed).toContain(file.replace('.sql', ''))
  })

  test("the packed program is also the operator's tool: --version, ready, customer list, verify and catalog show work", async () => {
    expect(await runPacked('--version')).toEqual({ exit: 0, out: `${manifest.version}\n`, err: '' })
    expect(await runPacked('ready')).toMatchObject({ exit: 0, out: 'The shop is ready.\n' })
    expect(JSON.parse((await runPacked('customer', 'list', '--json')).out).items).toHaveLength(1)
    expect(await runPacked('verify')).toMatchObject({ exit: 0 })
    expect((await runPacked('catalog', 'show', '--shipped')).out).toContain('# IPv4 of one')
  })

  test('the packed program restarts a killed gateway from a new file that replaced it while it ran', async () => {
    const [, pid = ''] = /"part":"gateway","pid":(\d+)/.exec(printed) ?? []
    await Bun.write(`${program}.new`, Bun.file(program))
    chmodSync(`${program}.new`, 0o755)
    renameSync(`${program}.new`, program)
    process.kill(Number(pid), 'SIGKILL')
    await until(() => printed.includes('"event":"open again","part":"gateway"'), withinMs)
    expect((await buy()).headers.get('idempotent-replayed')).toBe('true')
  })
})

describe('files that a packed program needs', () => {
  const code = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: root })].filter((path) => !path.endsWith('.test.ts'))
  const naming = (pattern: RegExp) =>
    code.filter((path) => pattern.test(readFileSync(join(root, path), 'utf8'))).toSorted()

  test('only the listed files of src use import.meta', () => {
    // For a new file here: make sure that tools/package/binary.ts includes what it reads, and let a test above read it.
    expect(naming(/\bimport\.meta\b/)).toEqual([
      'src/api/docs.ts',
      'src/app/program.ts',
      'src/app/shop/api.ts',
      'src/app/shop/database.ts',
      'src/app/shop/shop.ts',
      'src/dataplane/gateway/engines/linux/thread.ts',
      'src/dataplane/gateway/engines/shared/accepter.ts',
    ])
    expect(naming(/\bimport\.meta\.(?!url\b|dir\b)/)).toEqual([])
  })

  test('every worker thread that src starts is in the packed program', () => {
    const started = code.flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      const found = [...text.matchAll(/new Worker\(new URL\('([^']+)', import\.meta\.url\)/g)]
      return found.map(([, name = '']) => join(dirname(path), name))
    })
    expect(started.toSorted()).toEqual(entries.slice(1).toSorted())
  })

  test('only src/app/program.ts starts processes of the program itself', () => {
    expect(naming(/\bprocess\s*\.\s*execPath\b/)).toEqual(['src/app/program.ts'])
  })
})
