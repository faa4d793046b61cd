import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { findFreePort } from './free-port.ts'
import type { CertificateFiles } from './gateway-shop.ts'
import { versionOf } from './machine.ts'
import { filesAllowed, withManyFiles } from './shop-process.ts'
import type { Stage } from './stage.ts'
import type { Route } from './tunnels.ts'

/**
 * A forward proxy of another project, configured like ours: it asks for user and password, then opens a tunnel to the
 * requested destination.
 */
type ForwardProxy = {
  readonly name: string
  /** Its method, for the table. */
  readonly does: string
  readonly way: 'connect' | 'socks' | 'tls'
  readonly program: string
  readonly install: string
  /** The command that prints its version; the Debian package if the program has none. */
  readonly version: readonly string[]
  /** Whether it asks for user and password, as all but one do. */
  readonly hasLogin?: boolean
  /** Writes its configuration into the folder and returns the command that runs it in the foreground. */
  readonly prepare: (folder: string, port: number) => readonly string[]
}

/** A running proxy. */
export type RunningProxy = {
  readonly name: string
  readonly does: string
  readonly pid: number
  readonly otherPids?: readonly number[]
  readonly route: Route
}

const user = 'bench'
const password = 'bench-password'
const opensWithinMs = 10_000
const stopsWithinMs = 5_000
const pollMs = 20
/** More than any bench opens at once. */
const maxClients = 12_000

const packageVersion = (name: string): readonly string[] => ['dpkg-query', '-W', '-f', '${Package} ${Version}', name]

const tinyproxy: ForwardProxy = {
  name: 'tinyproxy',
  does: 'a thread each',
  way: 'connect',
  program: 'tinyproxy',
  version: ['tinyproxy', '-v'],
  install: 'apt-get install tinyproxy',
  prepare: (folder, port) => {
    const file = join(folder, 'tinyproxy.conf')
    const lines = [
      `Port ${port}`,
      'Listen 127.0.0.1',
      `MaxClients ${maxClients}`,
      `BasicAuth ${user} ${password}`,
      'Timeout 600',
      'LogLevel Critical',
      `LogFile "${join(folder, 'log')}"`,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return ['tinyproxy', '-d', '-c', file]
  },
}

/** Debian's folder for the helpers of Squid, which checks a password once and caches the result. */
const squidLogin = '/usr/lib/squid/basic_ncsa_auth'

const makeSquid = (certificate?: CertificateFiles): ForwardProxy => ({
  name: 'Squid',
  does: 'one thread, epoll, cache off',
  way: certificate ? 'tls' : 'connect',
  program: 'squid',
  version: ['squid', '-v'],
  install: certificate ? 'apt-get install squid-openssl' : 'apt-get install squid',
  prepare: (folder, port) => {
    const file = join(folder, 'squid.conf')
    const passwords = join(folder, 'passwords')
    // The helper accepts a bare MD5.
    writeFileSync(passwords, `${user}:${new Bun.CryptoHasher('md5').update(password).digest('hex')}\n`)
    const lines = [
      certificate
        ? `https_port 127.0.0.1:${port} tls-cert=${certificate.cert} tls-key=${certificate.key}`
        : `http_port 127.0.0.1:${port}`,
      `auth_param basic program ${squidLogin} ${passwords}`,
      'acl known proxy_auth REQUIRED',
      'http_access allow known',
      'http_access deny all',
      'cache deny all',
      'access_log none',
      `cache_log ${join(folder, 'log')}`,
      'pid_filename none',
      'netdb_filename none',
      'pinger_enable off',
      'max_filedescriptors 32768',
      'shutdown_lifetime 0 seconds',
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    // Started by root it switches to another user, who must read and write here.
    chmodSync(folder, 0o777)
    return ['squid', '-N', '-f', file]
  },
})

const microsocks: ForwardProxy = {
  name: 'microsocks',
  does: 'a thread each',
  way: 'socks',
  program: 'microsocks',
  version: packageVersion('microsocks'),
  install: 'apt-get install microsocks',
  prepare: (_, port) => ['microsocks', '-i', '127.0.0.1', '-p', String(port), '-u', user, '-P', password],
}

/** Knows only passwords of system users, so it asks for none: less work than all others. */
const dante: ForwardProxy = {
  name: 'Dante',
  does: 'processes, no password',
  way: 'socks',
  program: 'danted',
  version: packageVersion('dante-server'),
  install: 'apt-get install dante-server',
  hasLogin: false,
  prepare: (folder, port) => {
    const file = join(folder, 'danted.conf')
    const lines = [
      `logoutput: ${join(folder, 'log')}`,
      `internal: 127.0.0.1 port = ${port}`,
      'external: 127.0.0.1',
      'socksmethod: none',
      'clientmethod: none',
      'client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }',
      'socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }',
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return ['danted', '-f', file]
  },
}

/** Not in Debian; its project offers packages. */
const threeProxy = (way: 'connect' | 'socks'): ForwardProxy => ({
  name: '3proxy',
  does: 'a thread each, splice',
  way,
  program: '3proxy',
  version: ['3proxy', '--version'],
  install: 'a package from 3proxy.org, which Debian does not have',
  prepare: (folder, port) => {
    const file = join(folder, `3proxy-${way}.cfg`)
    const service = `${way === 'connect' ? 'proxy' : 'socks'} -p${port} -i127.0.0.1`
    const lines = [`users ${user}:CL:${password}`, 'auth strong', `allow ${user}`, `maxconn ${maxClients}`, service]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return ['3proxy', file]
  },
})

const all: readonly ForwardProxy[] = [
  tinyproxy,
  makeSquid(),
  threeProxy('connect'),
  microsocks,
  dante,
  threeProxy('socks'),
]

/** Debian keeps servers out of the PATH of ordinary users. */
const findProgram = (name: string): string | undefined =>
  Bun.which(name) ?? ['/usr/sbin', '/usr/local/sbin'].map((folder) => join(folder, name)).find(existsSync)

/** The versions of all installed proxies. */
export const versionsOfProxies = (): string[] =>
  [...new Map([...all, makeHaproxy({ cert: '', key: '' }, 0)].map((each) => [each.program, each])).values()].flatMap(
    ({ name, program, version }) => {
      const [command = '', ...args] = version
      const found = findProgram(program) && versionOf([findProgram(command) ?? command, ...args])
      return found
        ? [
            found
              .replace(/^Squid Cache: Version|^HAProxy version/, (text) => text.split(' ')[0] ?? '')
              .replace(/ \d{4}\/.*$/, '')
              .replace(/^(?=v?\d)/, `${name} `),
          ]
        : []
    },
  )

/** Starts Dante, or names the command that installs it. */
export async function startDante(stage: Stage, say: (text: string) => void): Promise<RunningProxy | undefined> {
  const program = findProgram(dante.program)
  if (program === undefined) say(`  ${dante.name} is NOT measured: it is not installed (${dante.install})`)
  return program === undefined ? undefined : start(stage, dante, program)
}

/** Starts every installed proxy, and names the others with the command that installs them. */
export async function startForwardProxies(stage: Stage, say: (text: string) => void): Promise<RunningProxy[]> {
  const running: RunningProxy[] = []
  for (const each of all) {
    const program = findProgram(each.program)
    if (program === undefined)
      say(`  ${each.name} (${each.way}) is NOT measured: it is not installed (${each.install})`)
    else running.push(await start(stage, each, program))
  }
  return running
}

/** Terminates TLS and passes the bytes to another proxy. */
const makeHaproxy = (certificate: CertificateFiles, behindPort: number): ForwardProxy => ({
  name: 'HAProxy and tinyproxy',
  does: 'threads',
  way: 'tls',
  program: 'haproxy',
  version: ['haproxy', '-v'],
  install: 'apt-get install haproxy tinyproxy',
  prepare: (folder, port) => {
    const file = join(folder, 'haproxy.cfg')
    const both = join(folder, 'both.pem')
    writeFileSync(both, readFileSync(certificate.cert, 'utf8') + readFileSync(certificate.key, 'utf8'), { mode: 0o600 })
    const lines = [
      'global',
      `  fd-hard-limit ${Math.min(maxClients * 2, filesAllowed())}`,
      'defaults',
      '  mode tcp',
      '  timeout connect 10s',
      '  timeout client 600s',
      '  timeout server 600s',
      'listen tls',
      `  bind 127.0.0.1:${port} ssl crt ${both}`,
      `  server tinyproxy 127.0.0.1:${behindPort}`,
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    return ['haproxy', '-db', '-f', file]
  },
})

/** Starts Squid with TLS, and HAProxy in front of tinyproxy. Names those that are not installed. */
export async function startTlsProxies(
  stage: Stage,
  say: (text: string) => void,
  certificate: CertificateFiles,
): Promise<RunningProxy[]> {
  const running: RunningProxy[] = []
  const squid = makeSquid(certificate)
  const program = findProgram(squid.program)
  const hasTls = program !== undefined && Bun.spawnSync([program, '-v']).stdout.toString().includes('--with-openssl')
  if (hasTls) running.push(await start(stage, squid, program))
  else say(`  Squid is NOT measured: it is not installed with OpenSSL (${squid.install})`)
  const haproxy = findProgram('haproxy')
  const behind = findProgram(tinyproxy.program)
  if (haproxy && behind) {
    const { route, pid } = await start(stage, tinyproxy, behind)
    const front = makeHaproxy(certificate, Number(route.endpoint.split(':')[1]))
    running.push({ ...(await start(stage, front, haproxy)), otherPids: [pid] })
  } else say('  HAProxy and tinyproxy are NOT measured: they are not installed (apt-get install haproxy tinyproxy)')
  return running
}

async function start(stage: Stage, proxy: ForwardProxy, program: string): Promise<RunningProxy> {
  const { name, does, way, prepare, hasLogin = true } = proxy
  const port = await findFreePort()
  const [, ...args] = prepare(stage.makeFolder(), port)
  const child = Bun.spawn(withManyFiles([program, ...args]), { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
  stage.atEnd(async () => {
    child.kill('SIGTERM')
    const killer = setTimeout(() => child.kill('SIGKILL'), stopsWithinMs)
    await child.exited
    clearTimeout(killer)
  })
  for (const startedMs = performance.now(); !(await isOpen(port)); await Bun.sleep(pollMs)) {
    if (child.exitCode !== null || performance.now() - startedMs > opensWithinMs)
      throw new Error(`${name} did not open: ${[program, ...args].join(' ')}`)
  }
  const login = hasLogin ? { user, password } : { user: '', password: '' }
  return { name, does, pid: child.pid, route: { way, endpoint: `127.0.0.1:${port}`, ...login } }
}

function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => {
    socket.destroy()
    resolve(true)
  })
  socket.once('error', () => resolve(false))
  return promise
}
