import { checkAmbient } from './ambient.ts'
import { checkColumns } from './columns.ts'
import { checkCycles } from './cycles.ts'
import { checkFunctions } from './functions.ts'
import { checkHonesty } from './honesty.ts'
import { checkImports } from './imports.ts'
import { checkManifest } from './manifest.ts'
import { checkMigrations } from './migrations.ts'
import { checkNames } from './names.ts'
import { checkOrigin } from './origin.ts'
import { checkProse } from './prose.ts'
import type { Files, Violation } from './source.ts'
import { checkSql } from './sql.ts'
import { checkTimes } from './times.ts'
import { checkCasts, checkTypeNames } from './types.ts'
import { checkWaiting } from './waiting.ts'

const checks = [
  checkImports,
  checkCycles,
  checkAmbient,
  checkSql,
  checkNames,
  checkTimes,
  checkColumns,
  checkFunctions,
  checkHonesty,
  checkWaiting,
  checkOrigin,
  checkManifest,
  checkMigrations,
  checkProse,
  checkTypeNames,
  checkCasts,
]

/** Every house rule over every file, in the order of the files. */
export function checkAll(files: Files): Violation[] {
  const found = checks.flatMap((check) => check(files))
  return found.toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
}
