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
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Writes a file atomically, mode 0600, flushed to disk. */
export function writeOwnFile(path: string, text: string): void {
  const draft = `${path}.new`
  writeFlushed(draft, 'w', text)
  renameSync(draft, path)
  flushFolder(path)
}

/** Like writeOwnFile, but fails if the file exists. */
export function createOwnFile(path: string, text: string): void {
  writeFlushed(path, 'wx', text)
  flushFolder(path)
}

/** Undefined if the file does not exist. Restores mode 0600, which a backup may have lost. */
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

/** Opens a file for writing with mode 0600, also if it exists with another mode. */
export function openOwn(path: string, flags: 'w' | 'wx' | 'a'): number {
  const fd = openSync(path, flags, 0o600)
  if ((fstatSync(fd).mode & 0o077) !== 0) fchmodSync(fd, 0o600)
  return fd
}

function writeFlushed(path: string, flags: 'w' | 'wx', text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openOwn(path, flags)
  try {
    writeFileSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** A rename is durable once its folder is flushed. */
function flushFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
