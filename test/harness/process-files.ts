import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** `socket:[INODE]` of each TCP connection of the process's network to a port (proc(5), /proc/PID/net/tcp). */
function findSocketsTo(port: number, pid: number): ReadonlySet<string> {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n').slice(1))
  const fields = rows.map((row) => row.trim().split(/\s+/))
  return new Set(fields.filter(([, , remote]) => remote?.endsWith(end)).map((row) => `socket:[${row[9]}]`))
}

/**
 * What the open descriptors of a process refer to. Without its connections to the shop, of which the HTTP client keeps
 * one to four open, and without the journal, which is open while counts wait for the shop.
 */
export function readProcessFiles(pid: number, shopPort: number): readonly string[] {
  const toShop = findSocketsTo(shopPort, pid)
  const readTarget = (fd: string): string | undefined => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`)
    } catch {
      // Closed since the folder was read.
      return undefined
    }
  }
  const targets = readdirSync(`/proc/${pid}/fd`).map(readTarget)
  const isOwn = (target: string): boolean => !toShop.has(target) && !target.includes('/journal-')
  return targets.filter((target) => target !== undefined).filter(isOwn)
}
