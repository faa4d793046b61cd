import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

/**
 * Writes a file of the node's own, whole or not at all, for nobody else's eyes. It is on the disk when this returns.
 */
export function writeOwnFile(path: string, text: string): void {
  const draft = `${path}.new`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFlushed(draft, 'w', text)
  renameSync(draft, path)
  flushFolder(path)
}

/** The same for a file that must not be there yet: of two who make it at once, one succeeds. */
export function createOwnFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFlushed(path, 'wx', text)
  flushFolder(path)
}

/**
 * The text of a file of one's own, or undefined when there is none. One that was put back from somewhere may have come
 * with other rights; it is its owner's alone from now on.
 */
export function findFile(path: string): string | undefined {
  try {
    const { mode, uid } = statSync(path)
    if ((mode & 0o077) !== 0 && uid === process.geteuid?.()) chmodSync(path, 0o600)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Opens a file to write to, for its owner alone, also where a run before left it open to others. */
export function openOwn(path: string, flags: 'w' | 'wx' | 'a'): number {
  const fd = openSync(path, flags, 0o600)
  if ((fstatSync(fd).mode & 0o077) !== 0) fchmodSync(fd, 0o600)
  return fd
}

function writeFlushed(path: string, flags: 'w' | 'wx', text: string): void {
  const fd = openOwn(path, flags)
  try {
    // Written through to the end: one write may take less than all of it.
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** A name is on the disk only when its folder is. */
function flushFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
