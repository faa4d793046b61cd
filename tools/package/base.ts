import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './project.ts'
import type { Entry } from './tar.ts'
import type { Target } from './targets.ts'

/**
 * Debian packages of an image: the C library, OpenSSL (Debian 13's libssl3t64 provides libssl3), and the programs that
 * a VPN node runs.
 */
const wanted = ['libc6', 'libssl3', 'iproute2', 'nftables', 'wireguard-tools']

/** Dependencies that only the installation of packages needs. */
const unneeded = /^(?:adduser|base-files|cdebconf|debconf.*|dpkg|install-info|libc-bin|libdebconf.*|passwd|perl.*|tar)$/

/** Files that are copied from a package: libraries, programs and the licence. */
const kept = [
  /^(?:usr\/)?lib(?:64)?\/(?:[^/]+\/)?[^/]+\.so[^/]*$/,
  /^(?:usr\/)?s?bin\/(?:ip|nft|tc|wg)$/,
  /^usr\/share\/doc\/[^/]+\/copyright$/,
]

export type Base = { readonly entries: readonly Entry[]; readonly packages: readonly string[] }

/**
 * Downloads Debian packages for a processor from the apt sources of the machine that builds, and reads their files. It
 * uses the Debian release of that machine and installs nothing on it.
 */
export async function readBase(target: Target): Promise<Base> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-base-'))
  try {
    const archives = await download(target, folder)
    const tree = join(folder, 'tree')
    mkdirSync(tree)
    const packages: string[] = []
    for (const archive of archives) {
      const [name = '', release = ''] = (await run(['dpkg-deb', '--show', join(folder, 'archives', archive)]))
        .trim()
        .split('\t')
      if (unneeded.test(name)) continue
      await run(['dpkg-deb', '--extract', join(folder, 'archives', archive), tree])
      packages.push(`${name} ${release}`)
    }
    return { entries: entriesOf(tree), packages: packages.toSorted() }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs apt with an empty package status and its own state and cache folders. */
async function download(target: Target, folder: string): Promise<string[]> {
  for (const part of ['state/lists/partial', 'archives/partial']) mkdirSync(join(folder, part), { recursive: true })
  writeFileSync(join(folder, 'status'), '')
  const settings = {
    'APT::Architecture': target.debian,
    'APT::Architectures': target.debian,
    'APT::Sandbox::User': 'root',
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': folder,
    'Dir::Cache::archives': join(folder, 'archives'),
  }
  // Only Debian's own package source is used.
  const own = '/etc/apt/sources.list.d/debian.sources'
  if (existsSync(own)) Object.assign(settings, { 'Dir::Etc::sourcelist': own, 'Dir::Etc::sourceparts': '-' })
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  await run(['apt-get', '-q', ...options, 'update'])
  await run(['apt-get', '-qy', ...options, 'install', '--download-only', '--no-install-recommends', ...wanted])
  return readdirSync(join(folder, 'archives'))
    .filter((name) => name.endsWith('.deb'))
    .toSorted()
}

/** The merged /usr layout of Debian 12: /bin, /sbin, /lib and /lib64 are links to folders below /usr. */
function entriesOf(tree: string): Entry[] {
  const found = readdirSync(tree, { recursive: true, withFileTypes: true }).map((entry) => ({
    entry,
    path: join(entry.parentPath, entry.name).slice(tree.length + 1),
  }))
  const inUsr = (path: string) => (path.startsWith('usr/') ? path : `usr/${path}`)
  const files = found
    .filter(({ path }) => kept.some((pattern) => pattern.test(path)))
    .flatMap(({ entry, path }): Entry[] => {
      if (entry.isSymbolicLink()) {
        const to = readlinkSync(join(tree, path))
        return [{ kind: 'link', path: inUsr(path), mode: 0o777, to }]
      }
      if (!entry.isFile()) return []
      const mode = path.endsWith('/copyright') ? 0o644 : 0o755
      return [{ kind: 'file', path: inUsr(path), mode, content: readFileSync(join(tree, path)) }]
    })
  const merged = ['bin', 'sbin', 'lib', 'lib64'].map(
    (name): Entry => ({ kind: 'link', path: name, mode: 0o777, to: `usr/${name}` }),
  )
  return [...merged, ...files]
}
