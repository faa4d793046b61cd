import { join } from 'node:path'

/** What starts a command of this program as a process of its own: run from its sources, or packed into one file. */
export const toProcess = (words: readonly string[]): string[] => {
  const program = Bun.isStandaloneExecutable ? [] : [...process.execArgv, join(import.meta.dir, 'turnpike.ts')]
  return [process.execPath, ...program, ...words]
}
