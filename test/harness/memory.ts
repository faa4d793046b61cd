import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const inMemory = '/dev/shm'
/** Many times the size that a whole run needs at once. */
const enoughBytes = 2 * 1024 ** 3

/**
 * The folder for databases and data folders: in memory, where creating a PostgreSQL database takes a tenth of the
 * processor time. With TMPDIR, or with too little memory, the usual folder.
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
