import { existsSync } from 'node:fs'

/** Time limit of one command, long enough for an installation. */
export const withinMs = 240_000

/** Runs a program within the time limit; the caller checks its exit code. */
export async function run(command: readonly string[], input = ''): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([...command], {
    // Packages installed for a test do not start services.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdin: Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
  })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, out, err }
}

/** Another installation may hold the lock: it is retried. */
const lockPauseMs = 3000
const maxLockPauses = 100
const isLocked = /Could not get lock|Unable to (?:acquire|lock)/

/**
 * Installs Debian packages. Of `one | another` it takes the first that the distribution has. Returns undefined on
 * success, else the problem.
 */
export async function installPackages(names: readonly string[]): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may install packages'
  if (Bun.which('apt-get') === null) return 'there is no apt-get to install them with'
  const problem = await aptGet(['update'])
  if (problem !== undefined) return problem
  const chosen = await Promise.all(names.map(chooseKnown))
  return aptGet(['install', '-y', '--no-install-recommends', ...chosen])
}

async function aptGet(args: readonly string[]): Promise<string | undefined> {
  for (let pauses = 0; ; pauses += 1) {
    const { code, out, err } = await run(['apt-get', '-q', ...args])
    if (code === 0) return undefined
    if (!isLocked.test(err) || pauses === maxLockPauses) {
      return `apt-get ${args.join(' ')} failed: ${(out + err).trimEnd().split('\n').at(-1)}`
    }
    await Bun.sleep(lockPauseMs)
  }
}

async function chooseKnown(name: string): Promise<string> {
  const alternatives = name.split(' | ')
  for (const each of alternatives.slice(0, -1)) if (await isKnown(each)) return each
  return alternatives.at(-1) ?? name
}

const isKnown = async (name: string): Promise<boolean> => (await run(['apt-cache', 'show', name])).code === 0

/** Programs that tests use, by their Debian package. */
const programs = {
  curl: 'curl',
  wget: 'wget',
  wg: 'wireguard-tools',
  'wireguard-go': 'wireguard-go',
  nft: 'nftables',
  ip: 'iproute2',
  aiosmtpd: 'python3-aiosmtpd',
  prometheus: 'prometheus',
  pebble: 'pebble',
  socksify: 'dante-client',
  git: 'git',
  nghttp: 'nghttp2-client',
  v2ray: 'v2ray',
  trojan: 'trojan',
  pg_dump: 'postgresql-client',
}

/** Python modules that tests use, by their Debian package. */
const pythonModules = { socks: 'python3-socks', h2: 'python3-h2', requests: 'python3-requests' }
const hasModule = (name: string): boolean =>
  [`${name}.py`, name].some((file) => existsSync(`/usr/lib/python3/dist-packages/${file}`))

/** Modules of Node that tests use, by their Debian package, and their folder for NODE_PATH. */
const nodeModules = { undici: 'node-undici', socks: 'node-socks' }
export const nodeModulesFolder = '/usr/share/nodejs'

/** Browsers that the tests can use. The first has no windows and needs half of the processor time. */
export const browsers = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
export const browserPackage = 'chromium-headless-shell | chromium'

export const findBrowser = (): string | undefined =>
  browsers.map((name) => Bun.which(name)).find((path) => path !== null) ?? undefined

/** Whether to install a browser: none is there, or root can install the cheapest one. */
async function wantsBrowser(): Promise<boolean> {
  const found = findBrowser()
  if (found === undefined) return true
  const [best = ''] = browsers
  return Bun.which(best) === null && process.getuid?.() === 0 && isKnown(best)
}

/**
 * Installs the missing programs, once and before any test. Returns a message about those that could not be installed;
 * each test checks for its own programs.
 */
export async function prepareMachine(): Promise<string | undefined> {
  const missing = [
    ...Object.entries(programs).filter(([name]) => Bun.which(name) === null),
    ...Object.entries(pythonModules).filter(([name]) => !hasModule(name)),
    ...Object.entries(nodeModules).filter(([name]) => !existsSync(`${nodeModulesFolder}/${name}`)),
  ]
  const packages = [...new Set(missing.map(([, name]) => name))]
  if (await wantsBrowser()) packages.push(browserPackage)
  if (packages.length === 0) return undefined
  const problem = await installPackages(packages)
  return problem === undefined ? undefined : `without ${packages.join(', ')}: ${problem}`
}
