/**
 * `npm run package:try [-- --from FILE.deb]`: makes the packages, installs them into an empty Debian as somebody does
 * who has never seen them, sells from them, upgrades, removes; follows docs/operate from the first day to the last on
 * machines of its own; reads, unpacks and runs the image, by itself and as the example for Docker Compose has it; and
 * lets programs that know better look at what we wrote. Needs Debian and root, takes ten minutes, and leaves nothing
 * behind but `dist`. The last line is the verdict.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildBinary } from '../../tools/package/binary.ts'
import { buildDeb, debianVersion } from '../../tools/package/deb.ts'
import { root, run, version } from '../../tools/package/place.ts'
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
]
const lacking = await installPackages([...needed, 'curl', 'iproute2'])
if (lacking !== undefined) {
  console.error(`package:try: ${lacking}`)
  process.exit(2)
}

/** All that is made on the way is in here, and goes however the run ends but by `kill -9`; processes go even then. */
const work = mkdtempSync(join(tmpdir(), 'turnpike-try-'))
chmodSync(work, 0o755)
process.env['TMPDIR'] = work
process.on('exit', () => rmSync(work, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]))
}

await steps.step('the packages are made', async () => {
  console.log((await run([process.execPath, 'tools/package/run.ts'])).trimEnd())
  return undefined
})
const own = ownTarget()
for (const { debian } of targets) {
  await steps.step(`lintian finds no error in the package for ${debian}`, async () => {
    const said = await run(['lintian', '--no-cfg', '--fail-on', 'error', debOf(version, debian)])
    return said.trim().split('\n').length > 1 ? `warnings:\n${said.trimEnd()}` : undefined
  })
}
const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1))
const nextDeb = join(work, 'next.deb')
await steps.step(`a version after it, ${next}`, async () => {
  await buildBinary(own, join(work, 'next'), next)
  await buildDeb(own, join(work, 'next'), nextDeb, next)
  return undefined
})
// From the release before to the one that is made, or from that to one after it.
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
// The pages are those of what is made.
await tryStory(steps, made, after)
for (const { debian } of targets) await tryImage(steps, join(packages, `turnpike-${version}-${debian}.oci.tar`), debian)
await tryExamples(steps, work)
console.log(`${steps.passed()} passed, ${steps.failed()} failed`)
process.exit(steps.failed() > 0 ? 1 : 0)

function versionIn(file: string): string {
  const found = /turnpike_([^_]+)-\d+_/.exec(file)?.[1]
  if (found === undefined) throw new Error(`${file} is not called as a package of ours is`)
  return found.replace('~', '-')
}
