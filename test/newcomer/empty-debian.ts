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
import { root, run } from '../../tools/package/project.ts'
import { apart, childOf, endSpace } from './apart.ts'

/** A minimal Debian with systemd and curl, in its own namespaces. */
export type Machine = {
  readonly folder: string
  /** True when systemd runs; otherwise the test starts services by hand, as their units specify. */
  readonly hasSystemd: boolean
  /** Runs a shell line as root and returns both output streams. Throws if the line fails. */
  sh(line: string): Promise<string>
  /** Starts a shell line and does not wait for it. */
  start(line: string): Bun.Subprocess
  /** Command prefix that runs a program of the host in this machine’s network. */
  readonly inItsNetwork: readonly string[]
  /** Kills the machine and deletes its folder. */
  end(): Promise<void>
}

const release = 'bookworm'
const included = ['curl', 'dbus', 'procps', 'systemd', 'systemd-sysv']

/** The Debian mirror of this machine’s own apt sources. */
function findMirror(): string {
  const lists = ['/etc/apt/sources.list', '/etc/apt/sources.list.d/debian.sources'].filter((path) => existsSync(path))
  const text = lists.map((path) => readFileSync(path, 'utf8')).join('\n')
  const found = /^(?:URIs:|deb(?: \[[^\]]*\])?) +(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(text)
  if (!found?.[1]) throw new Error('this machine names no mirror of Debian')
  return found[1]
}

/** Builds the base system once; each run starts with a copy of it. */
async function makeBase(more: readonly string[]): Promise<string> {
  const kept = join(root, 'dist/newcomer', `${[release, ...more].join('+')}.tar`)
  if (existsSync(kept)) return kept
  mkdirSync(join(root, 'dist/newcomer'), { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-debootstrap-'))
  try {
    const packages = `--include=${[...included, ...more].join(',')}`
    // Package scripts expect TMPDIR to exist inside the new system.
    const env = { TMPDIR: '/tmp' }
    await run(['debootstrap', '--variant=minbase', packages, release, folder, findMirror()], '/', env)
    // Renamed only when complete.
    await run(['tar', '-C', folder, '--exclude=./var/cache/apt/archives/*.deb', '-cf', `${kept}.partial`, '.'], '/')
    renameSync(`${kept}.partial`, kept)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return kept
}

/** Opens a machine with extra packages. Its network has no route to the host. */
export async function openEmptyDebian(more: readonly string[] = []): Promise<Machine> {
  const base = await makeBase(more)
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-newcomer-'))
  await run(['tar', '-C', folder, '-xf', base], '/')
  // The machine’s users need access, too.
  chmodSync(folder, 0o755)
  const booted = await boot(folder)
  return booted ?? openByHand(folder)
}

const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/** Boots with systemd; undefined where this machine does not allow that. */
async function boot(folder: string): Promise<Machine | undefined> {
  // A machine has the tun device, which every user may open; udev makes it so.
  const tun = `${folder}.tun`
  await run(['mknod', '--mode=666', tun, 'c', '10', '200'], '/')
  const options = ['--quiet', '--boot', '--private-network', '--register=no', '--keep-unit', `--directory=${folder}`]
  options.push(`--bind=${tun}:/dev/net/tun`)
  // The unified cgroup hierarchy of current Debian releases.
  const env = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' }
  const host = Bun.spawn([...apart, 'systemd-nspawn', ...options], { ...quiet, env })
  const machine = enter(folder, host, () => childOf(childOf(host.pid)), true)
  const isUp = 'systemctl is-system-running | grep -E "running|degraded"'
  if (await untilSucceeds(host, () => machine.sh(isUp))) return machine
  await endSpace(host)
  return undefined
}

async function openByHand(folder: string): Promise<Machine> {
  const more = ['--net', '--uts', '--ipc', `--root=${folder}`]
  const host = Bun.spawn([...apart, ...more, '/bin/sleep', 'infinity'], quiet)
  const machine = enter(folder, host, () => childOf(host.pid), false)
  if (!(await untilSucceeds(host, () => machine.sh('true')))) throw new Error('no namespaces can be made here')
  await run([...machine.inItsNetwork, 'ip', 'link', 'set', 'lo', 'up'], '/')
  return machine
}

const maxTries = 240

async function untilSucceeds(host: Bun.Subprocess, ask: () => Promise<unknown>): Promise<boolean> {
  for (let tries = 0; tries < maxTries && host.exitCode === null; tries += 1) {
    const isDone = await ask().then(
      () => true,
      () => false,
    )
    if (isDone) return true
    await Bun.sleep(500)
  }
  return false
}

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Enters the machine through its first process. */
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

/** Removes the control groups that systemd-nspawn leaves behind, except those in use. */
function removeGroups(): void {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  const groups = lines.flatMap((line) => {
    const [, controllers = '', own = ''] = line.split(':')
    const hierarchy = controllers.replace('name=', '')
    return ['', 'unified', hierarchy].map((name) => join('/sys/fs/cgroup', name, own))
  })
  for (const group of new Set(groups)) {
    for (const name of ['payload', 'supervisor']) removeGroup(join(group, name))
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
    // Another container uses the group.
  }
}
