/**
 * Plants each known race in a copy of the sources and simulates seeds until one breaks a promise.
 *
 *     npm run simulate:planted -- [--seeds N] [NAME…]
 *
 * Exits with 1 if fewer than eight races of ten are found.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '../../../tools/program.ts'
import { type PlantedRace, plantedRaces } from './races.ts'

const copied = ['src', 'test', 'tools', 'migrations', 'packages', 'package.json', 'tsconfig.json']
const minShare = 0.8

/** The first seed that breaks a promise, and which one; undefined if none does. */
async function find({ edits, engine = 'sqlite' }: PlantedRace, seeds: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-planted-'))
  try {
    for (const name of copied) cpSync(join(projectRoot, name), join(folder, name), { recursive: true })
    symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
    for (const { file, find: sought, replace } of edits) {
      const text = readFileSync(join(folder, file), 'utf8')
      if (text.split(sought).length !== 2) throw new Error(`${file} has not once: ${sought}`)
      writeFileSync(
        join(folder, file),
        text.replace(sought, () => replace),
      )
    }
    const options = ['--seeds', seeds, '--engine', engine, '--until-broken']
    const command = [process.execPath, 'test/simulation/run.ts', ...options]
    const child = Bun.spawn(command, { cwd: folder, stdout: 'pipe', stderr: 'inherit' })
    const output = await new Response(child.stdout).text()
    if ((await child.exited) === 0) return undefined
    const lines = output.split('\n')
    const at = lines.findIndex((line) => line.startsWith('seed '))
    return lines.slice(at, at + 2).join(': ')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { values, positionals } = parseArgs({ options: { seeds: { type: 'string' } }, allowPositionals: true })
const chosen = plantedRaces.filter(
  ({ name }) => positionals.length === 0 || positionals.some((each) => name.includes(each)),
)
let found = 0
for (const race of chosen) {
  const result = await find(race, values.seeds ?? '1500')
  if (result !== undefined) found += 1
  console.log(`${result === undefined ? 'not found' : 'found    '} ${race.name} (${race.fixedBy})`)
  if (result !== undefined) console.log(`          ${result}`)
}
console.log(`${found} of ${chosen.length} planted races found`)
process.exit(found >= minShare * chosen.length ? 0 : 1)
