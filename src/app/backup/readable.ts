import { accessSync, constants } from 'node:fs'
import { refuseHere } from '../../core/refusal.ts'

/** Whether this user may not read a file or folder, or may not enter a folder above it. */
export function isDenied(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EACCES'
  }
}

/** The user that this process runs as: its name, or its number if the machine has no name for it. */
export function findUserName(): string {
  const id = Bun.which('id')
  const name = id === null ? '' : Bun.spawnSync([id, '-un'], { stderr: 'ignore' }).stdout.toString().trim()
  return name === '' ? String(process.geteuid?.() ?? '') : name
}

/** Refuses a backup that this user may not read. */
export function assertReadable(paths: readonly string[]): void {
  const path = paths.find(isDenied)
  if (path === undefined) return
  throw refuseHere(
    `Permission denied reading ${path}. ` +
      `Run the command as root, or copy the backup where the user ${findUserName()} can read it.`,
  )
}
