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

/** Installs Debian packages, where that is allowed. Undefined when it worked, else what was in the way. */
export async function installPackages(names: readonly string[]): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may install packages'
  if (Bun.which('apt-get') === null) return 'there is no apt-get to install them with'
  for (const words of [['update'], ['install', '-y', '--no-install-recommends', ...names]]) {
    for (let pauses = 0; ; pauses += 1) {
      const { code, out, err } = await run(['apt-get', '-q', ...words])
      if (code === 0) break
      if (!isLocked.test(err) || pauses === mostLockPauses) {
        return `apt-get ${words.join(' ')} failed: ${(out + err).trimEnd().split('\n').at(-1)}`
      }
      await Bun.sleep(lockPauseMs)
    }
  }
  return undefined
}

/** Programs that tests use, by the Debian package that has each. */
const programs = {
  chromium: 'chromium',
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

/**
 * Installs what is missing of them, once and before any test looks. Tells what could not be had; whether that matters
 * is for the tests to say, which find out for themselves.
 */
export async function prepareMachine(): Promise<string | undefined> {
  const missing = Object.entries(programs).filter(([name]) => Bun.which(name) === null)
  if (missing.length === 0) return undefined
  const packages = [...new Set(missing.map(([, name]) => name))]
  const problem = await installPackages(packages)
  return problem === undefined ? undefined : `without ${packages.join(', ')}: ${problem}`
}
