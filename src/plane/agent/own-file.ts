import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes a file of the node's own, whole or not at all, for nobody else's eyes. It is on the disk when this returns. */
export function writeOwnFile(path: string, text: string): void {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const draft = `${path}.new`
  const fd = openSync(draft, 'w', 0o600)
  try {
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, path)
  const names = openSync(folder, 'r')
  try {
    fsyncSync(names)
  } finally {
    closeSync(names)
  }
}

/** The text of a file, or undefined when there is none. */
export function findFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
