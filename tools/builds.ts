import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { digestTree, readRecord } from './checks.ts'

/** A program that builds one file or folder. */
export type Build = { readonly output: string; readonly command: readonly string[] }

/** What the console and the packed program are built from, as pathspecs of git. */
const inputs = ['src', 'migrations', 'docs', 'bin', 'tools/console', 'tools/package', 'package*.json', ':!*.test.ts']

/** Which outputs were built from exactly these files, and were not replaced since. */
export async function createBuildRecord(root: string, recordFile: string) {
  const digest = await digestTree(root, inputs)
  const stampOf = (output: string): string => {
    const found = statSync(output, { throwIfNoEntry: false })
    return found ? `${digest} ${found.ino} ${found.mtimeMs}` : crypto.randomUUID()
  }
  return {
    has: ({ output }: Build): boolean => readRecord(recordFile).get(output) === stampOf(output),
    add({ output }: Build): void {
      mkdirSync(dirname(recordFile), { recursive: true })
      const built = readRecord(recordFile).set(output, stampOf(output))
      writeFileSync(recordFile, JSON.stringify(Object.fromEntries(built)))
    },
  }
}
