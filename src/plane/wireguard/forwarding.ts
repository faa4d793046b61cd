import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type Changes, writeSetting } from './changes.ts'

const net = '/proc/sys/net'

/** Whether the machine passed on packets of others before the node began. Undefined: it does not have that protocol. */
export type Forwarding = { readonly v4: boolean; readonly v6: boolean | undefined }

export function readForwarding(): Forwarding {
  const path6 = `${net}/ipv6/conf/all/forwarding`
  return { v4: read(`${net}/ipv4/ip_forward`) === '1', v6: existsSync(path6) ? read(path6) === '1' : undefined }
}

/**
 * Lets the machine pass packets on. The kernel moves other settings along, there and back (Documentation/networking/ip-sysctl), so
 * what an operator had settled about them is noted first and comes back last.
 */
export function turnOnForwarding(changes: Changes): void {
  const before = readForwarding()
  if (!before.v4) {
    keep(changes, `${net}/ipv4/conf/all/accept_redirects`)
    for (const device of devicesOf('ipv4')) keepForwarding(changes, `${net}/ipv4/conf/${device}/forwarding`)
    change(changes, `${net}/ipv4/ip_forward`, '1')
  }
  if (before.v6 !== false) return
  for (const device of devicesOf('ipv6')) {
    keepForwarding(changes, `${net}/ipv6/conf/${device}/forwarding`)
    // A machine that forwards does not listen to its router, and loses its own way out, unless the device is told to go on: 2.
    const listens = `${net}/ipv6/conf/${device}/accept_ra`
    if (device !== 'default' && read(listens) === '1') change(changes, listens, '2')
  }
  change(changes, `${net}/ipv6/conf/all/forwarding`, '1')
}

const devicesOf = (family: string): string[] =>
  readdirSync(`${net}/${family}/conf`).filter((name) => name !== 'all' && name !== 'lo')

function change(changes: Changes, path: string, after: string): void {
  changes.note({ kind: 'setting', path, before: read(path), after })
  writeSetting(path, after)
}

/** Not changed here, but by what follows. */
function keep(changes: Changes, path: string): void {
  if (read(path) === '0') changes.note({ kind: 'setting', path, before: '0', after: '0' })
}

/** One device that forwards by itself on a machine that does not as a whole. */
function keepForwarding(changes: Changes, path: string): void {
  if (read(path) === '1') changes.note({ kind: 'setting', path, before: '1', after: '1' })
}

const read = (path: string): string => readFileSync(path, 'utf8').trim()
