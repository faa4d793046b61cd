import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const inMemory = '/dev/shm'
/** Many times what a whole run needs at once. */
const enoughBytes = 2 * 1024 ** 3

/**
 * Where tests keep databases and data folders: in memory, where creating a PostgreSQL database takes a tenth of the
 * processor time that it takes on a disk. With TMPDIR, or where there is too little memory, in the usual folder.
 */
export const memoryFolder: string = process.env['TMPDIR'] === undefined && isRoomy(inMemory) ? inMemory : tmpdir()

function isRoomy(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > enoughBytes
  } catch {
    return false
  }
}
