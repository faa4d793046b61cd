/** How long one command may take: long enough for an installation. */
export const withinMs = 240_000

/** Runs a program within a bounded time; whether it failed is the caller's to judge. */
export async function run(command: readonly string[], input = ''): Promise<{ code: number; out: string; err: string }> {
  const child = Bun.spawn([...command], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdin: Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: withinMs,
    killSignal: 'SIGKILL',
  })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, out, err }
}

/** Installs Debian packages, where that is allowed. Undefined when it worked, else what was in the way. */
export async function installPackages(names: readonly string[]): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may install packages'
  if (Bun.which('apt-get') === null) return 'there is no apt-get to install them with'
  // Another installation may hold the lock of the packages; it is waited for.
  const aptGet = ['apt-get', '-q', '-o', 'DPkg::Lock::Timeout=120']
  for (const words of [['update'], ['install', '-y', '--no-install-recommends', ...names]]) {
    const { code, out, err } = await run([...aptGet, ...words])
    if (code !== 0) return `apt-get ${words.join(' ')} failed: ${(out + err).trimEnd().split('\n').at(-1)}`
  }
  return undefined
}
