import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run, version } from '../../tools/package/project.ts'
import { childOf, endSpace, openSpace } from './apart.ts'
import { expectMatch, expectSame, type Steps } from './steps.ts'

const composeFile = join(root, 'docs/operate/containers/compose.yaml')

const token = 'tp_test_of_compose'
const wanted = ['shop', 'gateway'] as const
const volume = '/var/lib/turnpike'

/** A service of the compose file, as docker-compose reads it. */
type Service = {
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
}

/** The part of an OCI runtime configuration that is changed here. */
type Bundle = {
  readonly process: { readonly args: string[]; readonly env: string[]; readonly user: { uid: number; gid: number } }
  readonly mounts: readonly { readonly destination: string }[]
  readonly linux: { readonly namespaces: readonly { readonly type: string }[] }
}

export async function readCompose(): Promise<Readonly<Record<string, Service>>> {
  const settings = { DATABASE_PASSWORD: 'a', SECRET_KEY: '00'.repeat(32), PUBLIC_URL: 'http://127.0.0.1:8080' }
  const command = ['docker-compose', '-f', composeFile, '--profile', 'vpn', 'config']
  const text = await run(command, '/', { ...settings, GATEWAY_HOST: '127.0.0.1' })
  return (Bun.YAML.parse(text) as { services: Record<string, Service> }).services
}

/**
 * Runs the shop and the gateway of the compose file on PostgreSQL with runc, as Docker does, each with the rights
 * that the file gives it. `bundle` is the image as umoci unpacks it.
 */
export async function tryCompose(steps: Steps, bundle: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-compose-'))
  const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const
  const space = await openSpace()
  const into = () => ['nsenter', `--target=${childOf(space.pid)}`, '--net']
  const inside = ['--mount', '--pid', 'runc', '--root', join(folder, 'state')]
  const command = (...args: readonly string[]) => [...into(), ...inside, ...args]
  const runc = (...args: readonly string[]) => run(command(...args), '/')
  let database: Bun.Subprocess<'pipe', 'pipe', 'ignore'> | undefined
  try {
    await steps.step('shop and gateway of compose.yaml start with its rights and sell a proxy', async () => {
      await run([...into(), 'ip', 'link', 'set', 'lo', 'up'], '/')
      database = Bun.spawn([...into(), process.execPath, join(import.meta.dir, 'database-worker.ts')], {
        ...quiet,
        stdin: 'pipe',
        stdout: 'pipe',
      })
      const { value } = await database.stdout.getReader().read()
      const url = new TextDecoder().decode(value).trim()
      const services = await readCompose()
      const base = (await Bun.file(join(bundle, 'config.json')).json()) as Bundle
      const data = join(folder, 'volume')
      mkdirSync(data, { mode: 0o700 })
      chownSync(data, base.process.user.uid, base.process.user.gid)
      for (const name of wanted) {
        const service = services[name]
        if (!service) throw new Error(`there is no ${name} in the example`)
        const own = { TURNPIKE_SANDBOX: 'on', TURNPIKE_SANDBOX_TOKEN: token, TURNPIKE_DATABASE_URL: url }
        const containerFolder = join(folder, name)
        mkdirSync(containerFolder)
        await Bun.write(
          join(containerFolder, 'config.json'),
          JSON.stringify(toContainer(base, service, own, join(bundle, 'rootfs'), data)),
        )
        // A pipe would stay open as long as the container.
        const log = Bun.file(join(containerFolder, 'log'))
        const started = Bun.spawn(command('run', '--detach', '--bundle', containerFolder, name), {
          ...quiet,
          stdout: log,
          stderr: log,
        })
        if ((await started.exited) !== 0) throw new Error(`${name} does not start: ${await log.text()}`)
        await untilHealthy(runc, name, service)
      }
      await sell(into())
      expectMatch('the tool', await runc('exec', 'shop', 'turnpike', 'customer', 'list'), /cus_/)
      return undefined
    })
    await steps.step('shop and gateway of compose.yaml stop after SIGTERM', async () => {
      for (const name of wanted.toReversed()) {
        await runc('kill', name, 'TERM')
        for (let tries = 0; tries < 150 && /running/.test(await runc('list')); tries += 1) {
          if (!new RegExp(`^${name} .*running`, 'm').test(await runc('list'))) break
          await Bun.sleep(100)
        }
        expectMatch(name, await runc('list'), new RegExp(`^${name} +\\d+ +stopped`, 'm'))
      }
      return undefined
    })
  } finally {
    for (const name of wanted) await runc('delete', '--force', name).catch(() => '')
    await database?.stdin.end()
    await database?.exited
    await endSpace(space)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The OCI configuration as Docker makes it: the image’s, with the service’s settings on top. */
function toContainer(base: Bundle, service: Service, own: Record<string, string>, rootfs: string, data: string) {
  const settings = Object.entries({ ...service.environment, ...own }).map(([name, value]) => `${name}=${value}`)
  expectSame('dropped capabilities', service.cap_drop, ['ALL'])
  return {
    ...base,
    process: {
      ...base.process,
      terminal: false,
      args: [...base.process.args.slice(0, 1), ...service.command],
      env: [...base.process.env, ...settings],
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: service.security_opt?.includes('no-new-privileges:true') === true,
      rlimits: [],
    },
    root: { path: rootfs, readonly: service.read_only === true },
    mounts: [
      ...base.mounts.filter(({ destination }) => destination !== volume),
      { destination: volume, type: 'bind', source: data, options: ['rbind', 'rw'] },
    ],
    linux: { ...base.linux, namespaces: base.linux.namespaces.filter(({ type }) => type !== 'network') },
  }
}

/** Waits for the service’s health check; the gateway has none. */
async function untilHealthy(
  runc: (...args: string[]) => Promise<string>,
  name: string,
  service: Service,
): Promise<void> {
  const [how, ...args] = service.healthcheck?.test ?? []
  if (how !== 'CMD') return
  for (let tries = 0; ; tries += 1) {
    const isHealthy = await runc('exec', name, ...args).then(
      () => true,
      () => false,
    )
    if (isHealthy) return
    if (tries === 200) throw new Error(`${name} does not become healthy`)
    await Bun.sleep(300)
  }
}

async function sell(into: readonly string[]): Promise<void> {
  const body = '{"country_code":"DE","period":30,"count":1,"ipv":4}'
  const command = ['-sS', '-H', `Authorization: Bearer ${token}`, '-H', 'Content-Type: application/json', '-d', body]
  let answer = ''
  // An address is sold once the gateway that joined has tried it.
  for (let tries = 0; tries < 100 && !answer.includes('"username"'); tries += 1) {
    if (tries > 0) await Bun.sleep(300)
    answer = await run([...into, 'curl', ...command, 'http://127.0.0.1:8080/api/v1/dedicated/buy'], '/')
  }
  const { data } = JSON.parse(answer) as { data: { proxies: Record<string, string>[] } }
  const { username, password, ip, port } = data.proxies[0] ?? {}
  const proxy = `http://${username}:${password}@${ip}:${port}`
  const response = await run([...into, 'curl', '-sS', '-x', proxy, 'http://127.0.0.1:8080/healthz'], '/')
  expectSame('the answer through the proxy', response, `{"ok":true,"version":"${version}"}`)
}
