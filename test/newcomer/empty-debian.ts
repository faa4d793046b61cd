import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run } from '../../tools/package/place.ts'

/** A Debian with nothing in it but what starts services and fetches pages, run apart from this machine. */
export type Machine = {
  readonly folder: string
  /** Whether services are started by systemd; otherwise by hand, as their units say. */
  readonly hasSystemd: boolean
  /** Runs a line of shell as root; what it printed, both streams. A line that fails throws. */
  sh(line: string): Promise<string>
  /** Starts a line of shell that goes on. */
  start(line: string): Bun.Subprocess
  end(): Promise<void>
}

const release = 'bookworm'
const included = 'curl,dbus,procps,systemd,systemd-sysv'

/** The mirror that this machine has its own packages from. */
function findMirror(): string {
  const lists = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].filter((path) => existsSync(path))
  const text = lists.map((path) => readFileSync(path, 'utf8')).join('\n')
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) +(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(text)
  if (!found?.[1]) throw new Error('this machine names no mirror of Debian')
  return found[1]
}

/** Made once and kept: what is tried begins with a copy of it. */
async function makeBase(): Promise<string> {
  const kept = join(root, 'dist/newcomer', `${release}.tar`)
  if (existsSync(kept)) return kept
  mkdirSync(join(root, 'dist/newcomer'), { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-debootstrap-'))
  try {
    await run(['debootstrap', '--variant=minbase', `--include=${included}`, release, folder, findMirror()], '/')
    await run(['tar', '-C', folder, '--exclude=./var/cache/apt/archives/*.deb', '-cf', kept, '.'], '/')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return kept
}

/** Its network is its own: nothing here meets what runs on this machine. */
export async function openEmptyDebian(): Promise<Machine> {
  const base = await makeBase()
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-newcomer-'))
  await run(['tar', '-C', folder, '-xf', base], '/')
  const booted = await boot(folder)
  return booted ?? openByHand(folder)
}

const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/** With systemd in charge, where this machine lets it. */
async function boot(folder: string): Promise<Machine | undefined> {
  const options = ['--quiet', '--boot', '--private-network', '--register=no', '--keep-unit', `--directory=${folder}`]
  const host = Bun.spawn(['systemd-nspawn', ...options], quiet)
  const machine = await enter(folder, host, true)
  if (!machine) return undefined
  for (let tries = 0; tries < 120; tries += 1) {
    const state = await machine.sh('systemctl is-system-running || true').catch(() => '')
    if (/running|degraded/.test(state)) return machine
    if (host.exitCode !== null) break
    await Bun.sleep(500)
  }
  host.kill('SIGKILL')
  await host.exited
  return undefined
}

async function openByHand(folder: string): Promise<Machine> {
  const apart = ['--net', '--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', '--mount-proc']
  const host = Bun.spawn(['unshare', ...apart, `--root=${folder}`, '/bin/sleep', 'infinity'], quiet)
  const machine = await enter(folder, host, false)
  if (!machine) throw new Error('no namespaces can be made here')
  return machine
}

/** The first process inside, through which everything else comes in. */
async function enter(folder: string, host: Bun.Subprocess, hasSystemd: boolean): Promise<Machine | undefined> {
  const leader = await findChild(host)
  if (leader === undefined) return undefined
  const into = ['nsenter', `--target=${leader}`, '--mount', '--net', '--pid', '--uts', '--ipc']
  await run([...into.slice(0, 2), '--net', 'ip', 'link', 'set', 'lo', 'up'], '/').catch(() => '')
  const shell = (line: string) => [
    ...into,
    '--root',
    '--wd=/',
    '/usr/bin/env',
    '-i',
    `PATH=${path}`,
    'HOME=/root',
    '/bin/sh',
    '-ec',
    line,
  ]
  return {
    folder,
    hasSystemd,
    sh: (line) => run(shell(`{ ${line}\n} 2>&1`), '/'),
    start: (line) => Bun.spawn(shell(line), { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' }),
    async end() {
      host.kill(hasSystemd ? 'SIGTERM' : 'SIGKILL')
      await Promise.race([host.exited, Bun.sleep(20_000)])
      host.kill('SIGKILL')
      await host.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

async function findChild(host: Bun.Subprocess): Promise<number | undefined> {
  for (let tries = 0; tries < 50 && host.exitCode === null; tries += 1) {
    const tasks = `/proc/${host.pid}/task`
    const children = existsSync(tasks)
      ? readdirSync(tasks).flatMap((task) => readFileSync(`${tasks}/${task}/children`, 'utf8').trim().split(' '))
      : []
    const child = children.map(Number).find((pid) => pid > 0)
    if (child !== undefined) return child
    await Bun.sleep(100)
  }
  return undefined
}
