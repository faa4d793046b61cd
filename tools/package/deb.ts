import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { toManual } from './manual.ts'
import { root, run, version, writtenAtSeconds } from './project.ts'
import type { Target } from './targets.ts'
import { installedProgram, packagedUnits } from './units.ts'

const source = join(import.meta.dir, 'debian')

/** Debian version: `~` sorts a pre-release before its release, and `-1` is the revision of the package. */
export const debianVersion = (of: string): string => `${of.replace('-', '~')}-1`

/** Builds the Debian package of a compiled program with dpkg-deb. */
export async function buildDeb(target: Target, binary: string, outfile: string, of = version): Promise<void> {
  const tree = mkdtempSync(join(tmpdir(), 'turnpike-deb-'))
  try {
    chmodSync(tree, 0o755)
    const seconds = await writtenAtSeconds()
    await fill(tree, target, binary, of, seconds)
    const env = { SOURCE_DATE_EPOCH: String(seconds) }
    await run(['dpkg-deb', '--build', '--root-owner-group', '-Zgzip', '-z6', tree, outfile], root, env)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

async function fill(tree: string, target: Target, binary: string, of: string, seconds: number): Promise<void> {
  const units = packagedUnits()
  const write = (path: string, content: string | Uint8Array, mode = 0o644) => put(tree, path, content, mode)
  const text = (name: string) => Bun.file(join(source, name)).text()
  const at = new Date(seconds * 1000)
  await write(installedProgram, await Bun.file(binary).bytes(), 0o755)
  await write('usr/bin/turnpike', await text('turnpike.sh'), 0o755)
  // postinst installs it as /etc/turnpike/turnpike.env if there is none.
  await write('usr/share/turnpike/turnpike.env', await text('turnpike.env'))
  for (const { name, text: unit } of units) await write(`usr/lib/systemd/system/${name}`, unit)
  await write('usr/share/man/man1/turnpike.1.gz', zipped(toManual(at.toISOString().slice(0, 10))))
  await fillDocs(tree, toChangelog(of, at))
  await write('usr/share/lintian/overrides/turnpike', await text('lintian-overrides'))
  const kilobytes = Math.ceil(sizeOf(tree) / 1024)
  const control = (await text('control'))
    .replace('@version@', debianVersion(of))
    .replace('@architecture@', target.debian)
    .replace('@size@', String(kilobytes))
    .replace('@libc@', await minLibc(binary))
  await write('DEBIAN/control', control)
  await write('DEBIAN/md5sums', await digestsOf(tree))
  const names = units.map((unit) => unit.name)
  const fields = {
    '@units@': names.join(' '),
    '@restarted@': names.filter((name) => !['turnpike.target', 'turnpike-gateway.service'].includes(name)).join(' '),
  }
  for (const script of ['postinst', 'prerm', 'postrm']) {
    await write(
      `DEBIAN/${script}`,
      (await text(script)).replace(/@\w+@/g, (field) => fields[field as keyof typeof fields]),
      0o755,
    )
  }
}

/** Files of the project's root that the docs and the README lead to. */
const rootPages = [
  'packages/client/README.md',
  'packages/python/README.md',
  'README.md',
  'README.ru.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'ROADMAP.md',
]

/**
 * Adds the docs with their pictures and example files, and the changelogs. Links out of `docs` lead to files of the
 * same folder, and links to the units to the package's own.
 */
export async function fillDocs(tree: string, changelog: string): Promise<void> {
  const folder = 'usr/share/doc/turnpike'
  const toInstalled = (text: string) =>
    text
      .replaceAll('](CHANGELOG.md)', '](changelog.gz)')
      .replaceAll(/\]\((?:\.\.\/operate\/)?systemd\)/g, '](/usr/lib/systemd/system)')
  const written = [
    ...new Bun.Glob('**/*.{md,yml,yaml,json,conf,cfg,sh,service,timer,env,png,webp}').scanSync(join(root, 'docs')),
  ]
  for (const path of written.filter((each) => !each.startsWith('operate/systemd/'))) {
    const up = '../'.repeat(path.split('/').length - 1)
    const file = Bun.file(join(root, 'docs', path))
    const content = path.endsWith('.md')
      ? toInstalled((await file.text()).replaceAll(`](${up}../`, `](${up}`))
      : await file.bytes()
    await put(tree, `${folder}/${path}`, content, 0o644)
  }
  for (const name of rootPages) {
    const text = await Bun.file(join(root, name)).text()
    await put(tree, `${folder}/${name}`, toInstalled(text.replaceAll('](docs/', '](')), 0o644)
  }
  await put(tree, `${folder}/copyright`, await Bun.file(join(source, 'copyright')).text(), 0o644)
  await put(tree, `${folder}/changelog.gz`, zipped(await Bun.file(join(root, 'CHANGELOG.md')).text()), 0o644)
  await put(tree, `${folder}/changelog.Debian.gz`, zipped(changelog), 0o644)
}

const toChangelog = (of: string, at: Date): string =>
  `turnpike (${debianVersion(of)}) stable; urgency=medium\n\n  * Version ${of}; changelog.gz tells what is new.\n\n` +
  ` -- Turnpike maintainers <turnpike@packages.invalid>  ${at.toUTCString().replace('GMT', '+0000')}\n`

/** gzip without file name and time, so that the same text gives the same bytes. */
const zipped = (content: string): Uint8Array => gzipSync(content, { level: 9 })

async function put(tree: string, path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const whole = join(tree, path)
  mkdirSync(dirname(whole), { recursive: true, mode: 0o755 })
  await Bun.write(whole, content)
  chmodSync(whole, mode)
}

const filesIn = (tree: string): string[] =>
  readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(tree.length + 1))
    .toSorted()

const sizeOf = (tree: string): number => filesIn(tree).reduce((sum, path) => sum + statSync(join(tree, path)).size, 0)

async function digestsOf(tree: string): Promise<string> {
  const lines = filesIn(tree)
    .filter((path) => !path.startsWith('DEBIAN/'))
    .map(async (path) => `${Bun.MD5.hash(await Bun.file(join(tree, path)).bytes(), 'hex')}  ${path}\n`)
  return (await Promise.all(lines)).join('')
}

/** The oldest glibc version that has every symbol of the program. */
async function minLibc(binary: string): Promise<string> {
  const named = await run(['grep', '-aoE', 'GLIBC_2\\.[0-9]+', binary])
  const newest = Math.max(...[...named.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor)))
  return `2.${newest}`
}
