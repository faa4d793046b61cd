/**
 * `npm run package:try [-- --from FILE.deb]`: builds the packages; installs, uses, upgrades and removes them in an
 * empty Debian; follows docs/operate on its own machines; reads, unpacks and runs the image alone and with
 * compose.yaml; checks the packages with lintian and the examples with the Kubernetes schemas. Needs Debian and root,
 * takes 15 minutes, and leaves only `dist`. The last line is the result.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildBinary } from '../../tools/package/binary.ts'
import { buildDeb, debianVersion } from '../../tools/package/deb.ts'
import { root, run, version } from '../../tools/package/project.ts'
import { ownTarget, targets } from '../../tools/package/targets.ts'
import { installPackages } from '../harness/apt.ts'
import { tryImage } from './container-image.ts'
import { tryDebianPackage } from './debian-package.ts'
import { openEmptyDebian } from './empty-debian.ts'
import { tryExamples } from './examples.ts'
import { createSteps } from './steps.ts'
import { tryStory } from './story.ts'

const { values } = parseArgs({ args: process.argv.slice(2), options: { from: { type: 'string' } } })
const steps = createSteps((line) => console.log(line))
const packages = join(root, 'dist/packages')
const debOf = (of: string, architecture: string) => join(packages, `turnpike_${debianVersion(of)}_${architecture}.deb`)

const needed = [
  'debootstrap',
  'systemd-container',
  'umoci',
  'skopeo',
  'runc',
  'lintian',
  'qemu-user-static',
  'docker-compose',
  'pebble',
]
const lacking = await installPackages([...needed, 'curl', 'iproute2'])
if (lacking !== undefined) {
  console.error(`package:try: ${lacking}`)
  process.exit(2)
}

/** Temporary files. They are deleted on every exit except `kill -9`; processes end even then. */
const work = mkdtempSync(join(tmpdir(), 'turnpike-try-'))
chmodSync(work, 0o755)
process.env['TMPDIR'] = work
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

await steps.step('npm run package builds the packages', async () => {
  console.log((await run([process.execPath, 'tools/package/run.ts'])).trimEnd())
  return undefined
})
const own = ownTarget()
for (const { debian } of targets) {
  await steps.step(`lintian finds no error in the package for ${debian}`, async () => {
    const warnings = await run(['lintian', '--no-cfg', '--fail-on', 'error', debOf(version, debian)])
    return warnings.trim().split('\n').length > 1 ? `warnings:\n${warnings.trimEnd()}` : undefined
  })
}
const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1))
const nextDeb = join(work, 'next.deb')
await steps.step(`the build makes a next version, ${next}`, async () => {
  await buildBinary(own, join(work, 'next'), next)
  await buildDeb(own, join(work, 'next'), nextDeb, next)
  return undefined
})
// Upgrades from the release before to the built one, or from the built one to a next version.
const made = { file: debOf(version, own.debian), version }
const after = { file: nextDeb, version: next }
const before = values.from === undefined ? undefined : { file: values.from, version: versionIn(values.from) }
const machine = await openEmptyDebian()
if (!machine.hasSystemd) steps.leaveOut('systemd', 'this machine does not let systemd-nspawn boot one')
try {
  await tryDebianPackage(machine, steps, before ?? made, before ? made : after)
} finally {
  await machine.end()
}
// The pages describe the built version.
await tryStory(steps, made, after)
for (const { debian } of targets) await tryImage(steps, join(packages, `turnpike-${version}-${debian}.oci.tar`), debian)
await tryExamples(steps, work)
console.log(`${steps.passed()} passed, ${steps.failed()} failed`)
process.exit(steps.failed() > 0 ? 1 : 0)

function versionIn(file: string): string {
  const found = /turnpike_([^_]+)-\d+_/.exec(file)?.[1]
  if (found === undefined) throw new Error(`${file} does not have the name of a Turnpike package`)
  return found.replace('~', '-')
}
