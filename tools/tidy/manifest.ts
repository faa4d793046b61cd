import { type Files, lineAt, type Violation } from './source.ts'

const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']
const exact = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

type Manifest = Readonly<Record<string, Readonly<Record<string, string>> | undefined>>

export function checkManifest(files: Files): Violation[] {
  const text = files.get('package.json')
  const manifest = text === undefined ? {} : (JSON.parse(text) as Manifest)
  return [...checkVersions(manifest, text ?? ''), ...checkScripts(manifest, text ?? ''), ...checkMigrations(files)]
}

/** Each dependency has the exact version that was tested. */
function checkVersions(manifest: Manifest, text: string): Violation[] {
  const wanted = groups.flatMap((group) => Object.entries(manifest[group] ?? {}))
  const loose = wanted.filter(([, version]) => !exact.test(version))
  return loose.map(([name, version]) => ({
    path: 'package.json',
    line: lineAt(text, Math.max(0, text.indexOf(`"${name}": "${version}"`))),
    rule: 'exact-version',
    explanation: `${name} ${version} is a range; write the version that was tested`,
  }))
}

/** Only a direct dependency, whose version package.json fixes, may run an install script. */
function checkScripts(manifest: Manifest, text: string): Violation[] {
  const chosen = new Set(groups.flatMap((group) => Object.keys(manifest[group] ?? {})))
  const unlisted = Object.keys(manifest['allowScripts'] ?? {}).filter((name) => !chosen.has(name))
  return unlisted.map((name) => ({
    path: 'package.json',
    line: lineAt(text, Math.max(0, text.indexOf(`"${name}":`))),
    rule: 'install-script',
    explanation: `${name} is not one of our own dependencies; its install script must not run`,
  }))
}

/**
 * Migrations run in the order of their numbers, so a gap or a repeat means that one was lost or two were written at
 * once.
 */
function checkMigrations(files: Files): Violation[] {
  const paths = [...files.keys()].filter((path) => path.startsWith('migrations/') && !path.endsWith('.md')).toSorted()
  return paths.flatMap((path, index) => {
    const number = /^migrations\/(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.sql$/.exec(path)?.[1]
    const expected = String(index + 1).padStart(4, '0')
    if (number === expected) return []
    const explanation = number === undefined ? 'a migration is named NNNN-name.sql' : `expected number ${expected} here`
    return [{ path, line: 1, rule: 'migration-name', explanation }]
  })
}
