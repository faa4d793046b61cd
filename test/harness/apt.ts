/** How long one command may take: long enough for an installation. */
export const withinMs = 240_000

/** Runs a program within a bounded time; whether it failed is the caller's to judge. */
export async function run(command: readonly string[], input = ''): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([...command], {
    // What is installed for a test is not started as a service of the machine.
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

/** Another installation may be under way, in this run of the tests or elsewhere: it is waited for. */
const lockPauseMs = 3000
const mostLockPauses = 100
const isLocked = /Could not get lock|Unable to (?:acquire|lock)/

/**
 * Installs Debian packages, where that is allowed; of `one | another` the first that the machine's distribution has.
 * Undefined when it worked, else what was in the way.
 */
export async function installPackages(names: readonly string[]): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may install packages'
  if (Bun.which('apt-get') === null) return 'there is no apt-get to install them with'
  const problem = await aptGet(['update'])
  if (problem !== undefined) return problem
  const chosen = await Promise.all(names.map(chooseKnown))
  return aptGet(['install', '-y', '--no-install-recommends', ...chosen])
}

async function aptGet(words: readonly string[]): Promise<string | undefined> {
  for (let pauses = 0; ; pauses += 1) {
    const { code, out, err } = await run(['apt-get', '-q', ...words])
    if (code === 0) return undefined
    if (!isLocked.test(err) || pauses === mostLockPauses) {
      return `apt-get ${words.join(' ')} failed: ${(out + err).trimEnd().split('\n').at(-1)}`
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

/** Programs that tests use, by the Debian package that has each. */
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
}

/** Any of these shows pages; the first, which has no windows, does it for half of the work. */
export const browsers = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
export const browserPackage = 'chromium-headless-shell | chromium'

export const findBrowser = (): string | undefined =>
  browsers.map((name) => Bun.which(name)).find((path) => path !== null) ?? undefined

/** A machine with another browser does well with it, and better with the first where that is to be had. */
async function wantsBrowser(): Promise<boolean> {
  const found = findBrowser()
  if (found === undefined) return true
  const [best = ''] = browsers
  return Bun.which(best) === null && process.getuid?.() === 0 && isKnown(best)
}

/**
 * Installs what is missing of them, once and before any test looks. Tells what could not be had; whether that matters
 * is for the tests to say, which find out for themselves.
 */
export async function prepareMachine(): Promise<string | undefined> {
  const missing = Object.entries(programs).filter(([name]) => Bun.which(name) === null)
  const packages = [...new Set(missing.map(([, name]) => name))]
  if (await wantsBrowser()) packages.push(browserPackage)
  if (packages.length === 0) return undefined
  const problem = await installPackages(packages)
  return problem === undefined ? undefined : `without ${packages.join(', ')}: ${problem}`
}
