import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run } from '../../tools/package/place.ts'
import { apart, childOf, endSpace } from './apart.ts'

/** A Debian with nothing in it but what starts services and fetches pages, run apart from this machine. */
export type Machine = {
  readonly folder: string
  /** Whether services are started by systemd; otherwise by hand, as their units say. */
  readonly hasSystemd: boolean
  /** Runs a line of shell as root; what it printed, both streams. A line that fails throws. */
  sh(line: string): Promise<string>
  /** Starts a line of shell that goes on. */
  start(line: string): Bun.Subprocess
  /** How a program of this machine is run in its network. */
  readonly inItsNetwork: readonly string[]
  /** As the power does it, and nothing of it is left. */
  end(): Promise<void>
}

const release = 'bookworm'
const included = ['curl', 'dbus', 'procps', 'systemd', 'systemd-sysv']

/** The mirror that this machine has its own packages from. */
function findMirror(): string {
  const lists = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].filter((path) => existsSync(path))
  const text = lists.map((path) => readFileSync(path, 'utf8')).join('\n')
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) +(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(text)
  if (!found?.[1]) throw new Error('this machine names no mirror of Debian')
  return found[1]
}

/** Made once and kept: what is tried begins with a copy of it. */
async function makeBase(more: readonly string[]): Promise<string> {
  const kept = join(root, 'dist/newcomer', `${[release, ...more].join('+')}.tar`)
  if (existsSync(kept)) return kept
  mkdirSync(join(root, 'dist/newcomer'), { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-debootstrap-'))
  try {
    const packages = `--include=${[...included, ...more].join(',')}`
    // What packages run as they are set up looks for the folder of passing files inside.
    const env = { TMPDIR: '/tmp' }
    await run(['debootstrap', '--variant=minbase', packages, release, folder, findMirror()], '/', env)
    // Under its name once it is whole.
    await run(['tar', '-C', folder, '--exclude=./var/cache/apt/archives/*.deb', '-cf', `${kept}.partial`, '.'], '/')
    renameSync(`${kept}.partial`, kept)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return kept
}

/** With some more packages, if asked for. Its network is its own: nothing in it meets what runs on this machine. */
export async function openEmptyDebian(more: readonly string[] = []): Promise<Machine> {
  const base = await makeBase(more)
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-newcomer-'))
  await run(['tar', '-C', folder, '-xf', base], '/')
  // Its own users have to come in too.
  chmodSync(folder, 0o755)
  const booted = await boot(folder)
  return booted ?? openByHand(folder)
}

const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/** With systemd in charge, where this machine lets it. */
async function boot(folder: string): Promise<Machine | undefined> {
  const options = ['--quiet', '--boot', '--private-network', '--register=no', '--keep-unit', `--directory=${folder}`]
  // In the form that a Debian of today has.
  const env = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' }
  const host = Bun.spawn([...apart, 'systemd-nspawn', ...options], { ...quiet, env })
  const machine = enter(folder, host, () => childOf(childOf(host.pid)), true)
  const isUp = 'systemctl is-system-running | grep -E "running|degraded"'
  if (await becomes(host, () => machine.sh(isUp))) return machine
  await endSpace(host)
  return undefined
}

async function openByHand(folder: string): Promise<Machine> {
  const more = ['--net', '--uts', '--ipc', `--root=${folder}`]
  const host = Bun.spawn([...apart, ...more, '/bin/sleep', 'infinity'], quiet)
  const machine = enter(folder, host, () => childOf(host.pid), false)
  if (!(await becomes(host, () => machine.sh('true')))) throw new Error('no namespaces can be made here')
  await run([...machine.inItsNetwork, 'ip', 'link', 'set', 'lo', 'up'], '/')
  return machine
}

const mostTries = 240

async function becomes(host: Bun.Subprocess, ask: () => Promise<unknown>): Promise<boolean> {
  for (let tries = 0; tries < mostTries && host.exitCode === null; tries += 1) {
    const isSo = await ask().then(
      () => true,
      () => false,
    )
    if (isSo) return true
    await Bun.sleep(500)
  }
  return false
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Everything comes in through the first process inside. */
function enter(folder: string, host: Bun.Subprocess, findFirst: () => number, hasSystemd: boolean): Machine {
  const spaces = ['--mount', '--net', '--pid', '--uts', '--ipc', '--root', '--wd']
  const shell = (line: string) => {
    const into = ['nsenter', `--target=${findFirst()}`, ...spaces]
    return [...into, '/usr/bin/env', '-i', `PATH=${path}`, 'HOME=/root', '/bin/sh', '-ec', line]
  }
  return {
    folder,
    hasSystemd,
    sh: async (line) => run(shell(`{ ${line}\n} 2>&1`), '/'),
    start: (line) => Bun.spawn(shell(line), quiet),
    get inItsNetwork() {
      return ['nsenter', `--target=${findFirst()}`, '--net']
    },
    async end() {
      await endSpace(host)
      rmSync(folder, { recursive: true, force: true })
      removeGroups()
    },
  }
}

/** The control groups that systemd-nspawn makes below its own and leaves behind. Those that are in use stay. */
function removeGroups(): void {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  const places = lines.flatMap((line) => {
    const [, controllers = '', own = ''] = line.split(':')
    const hierarchy = controllers.replace('name=', '')
    return ['', 'unified', hierarchy].map((name) => join('/sys/fs/cgroup', name, own))
  })
  for (const place of new Set(places)) {
    for (const name of ['payload', 'supervisor']) removeGroup(join(place, name))
  }
}

function removeGroup(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeGroup(join(folder, entry.name))
  }
  try {
    rmdirSync(folder)
  } catch {
    // Somebody else's container is in it.
  }
}
