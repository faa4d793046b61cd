import { join } from 'node:path'

/** The program of the Debian package, which installs the pages of docs/ into its documentation folder. */
const [packagedProgram, packagedDocs] = ['/usr/lib/turnpike/turnpike', '/usr/share/doc/turnpike']

/** The path of a page of docs/ on this machine. */
export const docsPage = (page: string, program = process.execPath): string =>
  join(program === packagedProgram ? packagedDocs : 'docs', page)

/** Command line that starts this program as another process, from its sources or packed into one file. */
export const toProcess = (args: readonly string[]): string[] => {
  const program = Bun.isStandaloneExecutable ? [] : [...process.execArgv, join(import.meta.dir, 'turnpike.ts')]
  return [process.execPath, ...program, ...args]
}
