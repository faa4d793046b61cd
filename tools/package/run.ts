/**
 * `npm run package [-- binary deb image] [--cpu x64|arm64]`: builds packages into `dist/packages`: one executable file,
 * a Debian package and a container image, by default for both processors, and a bill of materials (CycloneDX).
 */
import { mkdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildConsole } from '../console/build.ts'
import { buildBinary } from './binary.ts'
import { buildDeb, debianVersion } from './deb.ts'
import { buildImage } from './image.ts'
import { root, version } from './project.ts'
import { writeBom } from './sbom.ts'
import { type Target, targets } from './targets.ts'

const forms = ['binary', 'deb', 'image'] as const
const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { cpu: { type: 'string' } },
})
const unknown = positionals.filter((given) => !forms.some((form) => form === given))
const chosen = targets.filter((target) => values.cpu === undefined || values.cpu === target.cpu)
if (unknown.length > 0 || chosen.length === 0) {
  console.error(`package: takes ${forms.join(', ')} and --cpu ${targets.map((each) => each.cpu).join('|')}`)
  process.exit(2)
}
const isWanted = (form: (typeof forms)[number]): boolean => positionals.length === 0 || positionals.includes(form)

const folder = join(root, 'dist/packages')
const made: string[] = []

async function make(path: string, work: (path: string) => Promise<void>): Promise<void> {
  const startedMs = performance.now()
  await work(path)
  made.push(path)
  const megabytes = (statSync(path).size / 1e6).toFixed(1)
  console.log(`${basename(path)}  ${megabytes} MB, made in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
}

async function makeFor(target: Target): Promise<void> {
  const binary = join(folder, `turnpike-${version}-linux-${target.cpu}`)
  await make(binary, (path) => buildBinary(target, path))
  if (isWanted('deb')) {
    await make(join(folder, `turnpike_${debianVersion(version)}_${target.debian}.deb`), (path) =>
      buildDeb(target, binary, path),
    )
  }
  if (isWanted('image')) {
    await make(join(folder, `turnpike-${version}-${target.debian}.oci.tar`), (path) => buildImage(target, binary, path))
  }
}

mkdirSync(folder, { recursive: true })
await buildConsole()
for (const target of chosen) await makeFor(target)
await make(join(folder, `turnpike-${version}.cdx.json`), writeBom)
const digests = made.map(async (path) => {
  const digest = new Bun.CryptoHasher('sha256').update(await Bun.file(path).bytes()).digest('hex')
  return `${digest}  ${basename(path)}\n`
})
await Bun.write(join(folder, 'SHA256SUMS'), (await Promise.all(digests)).join(''))
console.log(`All of it is in ${folder}, with SHA256SUMS.`)
