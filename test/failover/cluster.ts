import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { installPackages, run } from '../harness/apt.ts'
import { memoryFolder } from '../harness/memory.ts'
import { batch } from '../harness/netns.ts'
import { untilTrue } from '../harness/turnpike.ts'

const pages = join(import.meta.dir, '../../docs/operate/high-availability')
const page = (name: string): string => readFileSync(join(pages, name), 'utf8')

/** The addresses of the documented files. */
export const hub = '10.0.0.1'
const bridge = 'dbs0'
const count = 3
/** Room for a database, its log and the copy of a rejoining standby. */
const diskMb = 700
const database = 'turnpike'
const role = { name: 'turnpike', password: 'PASSWORD' }
const superuser = { name: 'postgres', password: 'SUPERUSER_PASSWORD' }

const programs = {
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  nft: 'nftables',
  setpriv: 'util-linux',
}
const binaries = '/usr/lib/postgresql/15/bin'

/** The reason why this machine cannot run a cluster, or undefined. Missing Debian packages are installed. */
export async function findClusterObstacle(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'it needs root, for network namespaces'
  const missing = Object.entries(programs).flatMap(([name, each]) => (Bun.which(name) === null ? [each] : []))
  if (!existsSync(binaries)) missing.push('postgresql-15')
  if (missing.length === 0) return undefined
  const problem = await installPackages([...missing, ...(missing.includes('patroni') ? ['python3-etcd'] : [])])
  return problem === undefined ? undefined : `without ${missing.join(', ')}: ${problem}`
}

/** A machine with etcd, Patroni and PostgreSQL, in its own network and on a small disk. */
export class DatabaseNode {
  readonly name: string
  readonly address: string
  readonly disk: string
  private readonly namespace: string
  private readonly log: number

  constructor(
    readonly number: number,
    private readonly folder: string,
    private readonly owner: { readonly uid: number; readonly gid: number },
  ) {
    this.name = `db-${number}`
    this.address = `10.0.0.2${number}`
    this.namespace = `tpt${process.pid}-ha-${number}`
    this.disk = join(folder, `disk-${number}`)
    this.log = openSync(join(folder, `${this.name}.log`), 'a')
  }

  async lay(): Promise<void> {
    const { namespace, number, disk } = this
    await batch([`netns add ${namespace}`, `link add d${number} type veth peer name e0 netns ${namespace}`])
    await batch([`link set dev d${number} master ${bridge}`, `link set dev d${number} up`])
    await batch(['link set dev lo up', `address add ${this.address}/24 dev e0`, 'link set dev e0 up'], namespace)
    mkdirSync(disk)
    await must(['mount', '-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', disk])
    for (const each of [disk, this.etcd, this.sockets]) {
      mkdirSync(each, { recursive: true })
      chownSync(each, this.owner.uid, this.owner.gid)
    }
    writeFileSync(this.file, this.localised(page('patroni.yml')))
    chownSync(this.file, this.owner.uid, this.owner.gid)
  }

  /** Starts etcd and Patroni; a cluster that exists is joined. */
  start(): void {
    this.startEtcd()
    this.startPatroni()
  }

  startEtcd(): void {
    const lines = this.localised(page('etcd.env')).matchAll(/^([A-Z0-9_]+)=(.*)$/gm)
    const env = Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]))
    // The members know each other from their folders once these exist.
    const isNew = !existsSync(join(this.etcd, 'member'))
    this.spawn(['/usr/bin/etcd'], { ...env, ...(!isNew && { ETCD_INITIAL_CLUSTER_STATE: 'existing' }) })
  }

  startPatroni(): void {
    // As systemd does with Restart=always.
    const script = join(this.folder, 'with-room.sh')
    const again = ['sh', '-c', 'while true; do "$@"; sleep 1; done', 'sh', 'sh', script]
    this.spawn([...again, join(this.disk, 'data'), '/usr/bin/patroni', this.file], {
      PATH: `${binaries}:/usr/bin:/bin`,
      LC_ALL: 'C.UTF-8',
    })
  }

  /** The ids of its processes. */
  pids(): number[] {
    const { stdout } = Bun.spawnSync(['ip', 'netns', 'pids', this.namespace])
    return stdout.toString().split('\n').filter(Boolean).map(Number)
  }

  /** Sends a signal to all its processes, or to those whose command line has the text. */
  signal(name: NodeJS.Signals, having = ''): void {
    for (const pid of this.pids()) {
      try {
        if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(having)) process.kill(pid, name)
      } catch {
        // It has ended since it was listed.
      }
    }
  }

  /** Drops all packets from and to these addresses; an empty list ends that. */
  async cutFrom(addresses: readonly string[]): Promise<void> {
    const list = addresses.join(', ')
    const rules =
      addresses.length === 0
        ? 'table inet cut\ndelete table inet cut\n'
        : `table inet cut {
            chain in { type filter hook input priority 0; ip saddr { ${list} } drop; }
            chain out { type filter hook output priority 0; ip daddr { ${list} } drop; }
          }`
    await must(['ip', 'netns', 'exec', this.namespace, 'nft', '-f', '-'], rules)
  }

  /** Writes its disk full to the last byte. */
  fill(): void {
    Bun.spawnSync(['dd', 'if=/dev/zero', `of=${this.filler}`, 'bs=64k'], { stderr: 'ignore' })
    Bun.spawnSync(['dd', 'if=/dev/zero', `of=${this.filler}-rest`, 'bs=1'], { stderr: 'ignore', timeout: 5_000 })
  }

  empty(): void {
    for (const each of [this.filler, `${this.filler}-rest`]) rmSync(each, { force: true })
  }

  /** Whether Patroni says that it leads, or follows. */
  async is(state: 'primary' | 'replica' | 'synchronous'): Promise<boolean> {
    const signal = AbortSignal.timeout(1_000)
    const answer = await fetch(`http://${this.address}:8008/${state}`, { signal }).catch(() => undefined)
    return answer?.status === 200
  }

  url(name: string, by = role): string {
    return `postgres://${by.name}:${by.password}@${this.address}:5432/${name}`
  }

  /** Asks the server itself, as its superuser. */
  async ask(sql: string, name = 'postgres'): Promise<Record<string, unknown>[]> {
    const own = new SQL({ url: this.url(name, superuser), max: 1, connectionTimeout: 3 })
    try {
      return await own.unsafe(sql)
    } finally {
      await own.close({ timeout: 0 })
    }
  }

  async remove(): Promise<void> {
    this.signal('SIGKILL')
    await untilTrue(() => this.pids().length === 0)
    await run(['ip', 'netns', 'delete', this.namespace])
    await run(['umount', this.disk])
  }

  abandon(): void {
    this.signal('SIGKILL')
    Bun.spawnSync(['ip', 'netns', 'delete', this.namespace])
    Bun.spawnSync(['umount', '-l', this.disk])
  }

  private get etcd(): string {
    return join(this.folder, `etcd-${this.number}`)
  }

  private get sockets(): string {
    return join(this.folder, `run-${this.number}`)
  }

  private get file(): string {
    return join(this.folder, `${this.name}.yml`)
  }

  private get filler(): string {
    return join(this.disk, 'filler')
  }

  /** A documented file as this machine has it. */
  private localised(text: string): string {
    const kept = /^(\s*hosts: |ETCD_INITIAL_CLUSTER=)/
    return text
      .split('\n')
      .map((line) =>
        kept.test(line) ? line : line.replaceAll('10.0.0.21', this.address).replaceAll('db-1', this.name),
      )
      .join('\n')
      .replaceAll('/var/lib/postgresql/15/turnpike', join(this.disk, 'data'))
      .replaceAll('/var/lib/postgresql/.pgpass_patroni', join(this.folder, `pgpass-${this.number}`))
      .replaceAll('/var/run/postgresql', this.sockets)
      .replaceAll('/var/lib/etcd/turnpike', this.etcd)
      .replaceAll('512MB', '64MB')
      .replaceAll('1GB', '128MB')
      .replaceAll('4GB', '256MB')
  }

  private spawn(command: readonly string[], env: Record<string, string>): void {
    const { uid, gid } = this.owner
    const drop = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--pdeathsig', 'KILL']
    Bun.spawn(['ip', 'netns', 'exec', this.namespace, ...drop, ...command], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', HOME: this.folder, ...env },
      stdin: 'ignore',
      stdout: this.log,
      stderr: this.log,
    }).unref()
  }
}

async function must(command: readonly string[], input = ''): Promise<void> {
  const { code, err } = await run(command, input)
  if (code !== 0) throw new Error(`${command.join(' ')}: ${err.trim()}`)
}

/** Three database machines, and one HAProxy for each shop, by the documented files. */
export class Cluster {
  private readonly proxies: Bun.Subprocess[] = []

  private constructor(
    readonly folder: string,
    readonly nodes: readonly DatabaseNode[],
    /** For each shop, the addresses of the leader and of the standbys. */
    readonly urls: readonly { readonly primary: string; readonly standby: string }[],
  ) {}

  /** The thread is in a network of its own already. */
  static async open(shops: number): Promise<Cluster> {
    const folder = mkdtempSync(join(memoryFolder, 'turnpike-failover-'))
    const owner = { uid: await idOf('-u'), gid: await idOf('-g') }
    chownSync(folder, owner.uid, owner.gid)
    copyFileSync(join(pages, 'with-room.sh'), join(folder, 'with-room.sh'))
    const nodes = Array.from({ length: count }, (_, at) => new DatabaseNode(at + 1, folder, owner))
    const urls = Array.from({ length: shops }, (_, at) => {
      const urlAt = (port: number) => `postgres://${role.name}:${role.password}@127.0.0.1:${port}/${database}`
      return { primary: urlAt(5_000 + 10 * at), standby: urlAt(5_001 + 10 * at) }
    })
    const cluster = new Cluster(folder, nodes, urls)
    process.on('exit', () => {
      if (existsSync(folder) && process.env['TURNPIKE_STORM_KEEP'] === undefined) cluster.abandon()
    })
    try {
      await batch([
        `link add ${bridge} type bridge`,
        `link set dev ${bridge} up`,
        `address add ${hub}/24 dev ${bridge}`,
      ])
      for (const each of nodes) await each.lay()
      for (const each of nodes) each.start()
      await untilTrue(() => cluster.isHealthy())
      const leader = await cluster.findLeader()
      await leader?.ask(`CREATE ROLE ${role.name} LOGIN PASSWORD '${role.password}' IN ROLE pg_monitor`)
      for (const each of [database, 'probe']) await leader?.ask(`CREATE DATABASE ${each} OWNER ${role.name}`)
      await leader?.ask('CREATE TABLE written (id TEXT PRIMARY KEY)', 'probe')
      await leader?.ask(`GRANT ALL ON written TO ${role.name}`, 'probe')
      for (const at of urls.keys()) cluster.startProxy(at)
      return cluster
    } catch (error) {
      await cluster.close()
      throw error
    }
  }

  async findLeader(): Promise<DatabaseNode | undefined> {
    const leads = await Promise.all(this.nodes.map((each) => each.is('primary')))
    return this.nodes[leads.indexOf(true)]
  }

  /** One leader, two standbys that replicate, and one of them that Patroni would let lead: it has every commit. */
  async isHealthy(): Promise<boolean> {
    const leader = await this.findLeader()
    const sql = `SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'`
    const states = (await leader?.ask(sql).catch(() => [])) ?? []
    if (states.length !== count - 1 || !states.some((each) => each['sync_state'] === 'sync')) return false
    const mayLead = await Promise.all(this.nodes.map((each) => each.is('synchronous')))
    return mayLead.includes(true)
  }

  /** The same, synchronously: for a process that ends. */
  abandon(): void {
    for (const each of this.nodes) each.abandon()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async close(): Promise<void> {
    for (const each of this.proxies) each.kill('SIGKILL')
    for (const each of this.nodes) await each.remove()
    if (process.env['TURNPIKE_STORM_KEEP'] === undefined) rmSync(this.folder, { recursive: true, force: true })
  }

  private startProxy(at: number): void {
    const file = join(this.folder, `haproxy-${at}.cfg`)
    const text = page('haproxy.cfg')
      .replace(':5000', `:${5_000 + 10 * at}`)
      .replace(':5001', `:${5_001 + 10 * at}`)
    writeFileSync(file, `global\n    maxconn 500\n\n${text}`)
    const log = openSync(join(this.folder, `haproxy-${at}.log`), 'a')
    const command = ['setpriv', '--pdeathsig', 'KILL', Bun.which('haproxy') ?? 'haproxy', '-db', '-f', file]
    this.proxies.push(Bun.spawn(command, { stdin: 'ignore', stdout: log, stderr: log }))
  }
}

/** PostgreSQL's user, which the Debian package makes. */
async function idOf(flag: string): Promise<number> {
  const { code, out } = await run(['id', flag, 'postgres'])
  return code === 0 ? Number(out) : 65_534
}
