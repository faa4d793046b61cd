import { join } from 'node:path'

/** Command line that starts this program as another process, from its sources or packed into one file. */
export const toProcess = (args: readonly string[]): string[] => {
  const program = Bun.isStandaloneExecutable ? [] : [...process.execArgv, join(import.meta.dir, 'turnpike.ts')]
  return [process.execPath, ...program, ...args]
}
