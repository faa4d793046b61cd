/**
 * Preloaded by the test command into each process that runs test files. After each file it appends a line with the
 * processor seconds that this process and its descendants have used since the file before: imports, child processes
 * and browsers are included, the shared database server is not.
 */
import { afterAll } from 'bun:test'
import { appendFileSync } from 'node:fs'
import { readProcessorSeconds } from './processor-time.ts'

const measuredFile = process.env['TURNPIKE_TEST_MEASURED']
let before = 0

afterAll(() => {
  const now = readProcessorSeconds(process.pid)
  if (measuredFile) appendFileSync(measuredFile, `${JSON.stringify({ file: Bun.main, seconds: now - before })}\n`)
  before = now
})
