import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A static check: a program that exits with 0 when it finds nothing. */
export type Check = { readonly name: string; readonly command: readonly string[] }

/** Digest of every file that git tracks or would track, with its path; of all files without `pathspecs`. */
export async function digestTree(root: string, pathspecs: readonly string[] = []): Promise<string> {
  const listing = Bun.spawnSync(['git', 'ls-files', '-co', '--exclude-standard', '-z', '--', ...pathspecs], {
    cwd: root,
  })
  const hash = new Bun.CryptoHasher('sha256')
  // Outside a git checkout nothing is remembered: the digest is new each time.
  if (listing.exitCode !== 0) return crypto.randomUUID()
  for (const path of listing.stdout.toString().split('\0').filter(Boolean).toSorted()) {
    const file = Bun.file(join(root, path))
    hash.update(`${path}\0`)
    if (await file.exists()) hash.update(await file.bytes())
  }
  return hash.digest('hex')
}

/** Which checks passed on exactly these files with exactly this command. */
export async function createPassedChecks(
  root: string,
  recordFile: string,
): Promise<{ has(check: Check): boolean; add(check: Check): void }> {
  const digest = await digestTree(root)
  const key = ({ name, command }: Check): string => `${name} ${command.slice(1).join(' ')}`
  const passed = readRecord(recordFile)
  return {
    has: (check) => passed.get(key(check)) === digest,
    add(check) {
      passed.set(key(check), digest)
      mkdirSync(dirname(recordFile), { recursive: true })
      writeFileSync(recordFile, JSON.stringify(Object.fromEntries(passed)))
    },
  }
}

/** A missing or damaged record means that every check runs. */
export function readRecord(recordFile: string): Map<string, string> {
  try {
    const record: unknown = JSON.parse(readFileSync(recordFile, 'utf8'))
    const entries = typeof record === 'object' && record !== null ? Object.entries(record) : []
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  } catch {
    return new Map()
  }
}
