/**
 * The static checks.
 *
 *     npm run check
 *
 * Runs every check even when one fails, and exits with 1 on any finding. A check that passed on the same
 * files and versions is not repeated.
 */
import { join } from 'node:path'
import { type Check, createPassedChecks } from './checks.ts'
import { writeClientFiles } from './clients/files.ts'
import { inSeconds, projectRoot, runProgram } from './program.ts'

/** A limit against a hang; a starved machine takes several times as long as a quiet one. */
const limitMs = 900_000

const installed = (program: string): string => join(projectRoot, 'node_modules', '.bin', program)

const checks: readonly Check[] = [
  // One pass reports type errors and broken lint rules: a `tsc` beside it would parse and check everything again.
  { name: 'types and lint', command: [installed('oxlint'), '--deny-warnings', '--report-unused-disable-directives'] },
  { name: 'format', command: [installed('biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'tidy', command: [process.execPath, 'tools/tidy/run.ts'] },
  { name: 'unused', command: [installed('knip'), '--no-progress', '--no-config-hints'] },
]

// Sources that git ignores; the checks below read them.
await writeClientFiles()
const passed = await createPassedChecks(projectRoot, join(projectRoot, 'node_modules/.cache/turnpike/passed.json'))

async function runCheck(check: Check): Promise<boolean> {
  if (passed.has(check)) {
    console.log(`ok   ${check.name} (passed before on the same files)`)
    return true
  }
  const { exitCode, output, tookMs } = await runProgram(check.command, limitMs)
  console.log(`${exitCode === 0 ? 'ok  ' : 'FAIL'} ${check.name} (${inSeconds(tookMs)})`)
  if (exitCode === 0) passed.add(check)
  else console.log(output.trimEnd())
  return exitCode === 0
}

const results: boolean[] = []
for (const check of checks) results.push(await runCheck(check))
process.exit(results.every(Boolean) ? 0 : 1)
