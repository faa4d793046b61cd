import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type Change, type Changes, writeSetting } from './changes.ts'

const net = '/proc/sys/net'

/** Whether the machine passed on packets of others before the node began. Undefined: it does not have that protocol. */
export type Forwarding = { readonly v4: boolean; readonly v6: boolean | undefined }

export function readForwarding(): Forwarding {
  const path6 = `${net}/ipv6/conf/all/forwarding`
  return { v4: read(`${net}/ipv4/ip_forward`) === '1', v6: existsSync(path6) ? read(path6) === '1' : undefined }
}

type Setting = Extract<Change, { kind: 'setting' }>

/**
 * Lets the machine pass packets on. The kernel moves other settings along, there and back
 * (Documentation/networking/ip-sysctl), so what an operator had settled about them is noted first and comes back last.
 */
export function turnOnForwarding(changes: Changes): void {
  const { v4, v6 } = readForwarding()
  const settings = [...(v4 ? [] : plan4()), ...(v6 === false ? plan6() : [])]
  changes.note(...settings)
  for (const { path, before, after } of settings) if (before !== after) writeSetting(path, after)
}

const plan4 = (): Setting[] => [
  ...kept(`${net}/ipv4/conf/all/accept_redirects`, '0'),
  ...devicesOf('ipv4').flatMap((device) => kept(`${net}/ipv4/conf/${device}/forwarding`, '1')),
  ...changed(`${net}/ipv4/ip_forward`, '0', '1'),
]

/**
 * A machine that forwards does not listen to its router, and loses its own way out, unless the device is told to go on:
 * 2.
 */
const plan6 = (): Setting[] => [
  ...devicesOf('ipv6').flatMap((device) => [
    ...kept(`${net}/ipv6/conf/${device}/forwarding`, '1'),
    ...(device === 'default' ? [] : changed(`${net}/ipv6/conf/${device}/accept_ra`, '1', '2')),
  ]),
  ...changed(`${net}/ipv6/conf/all/forwarding`, '0', '1'),
]

/** From one value to another. A setting that has neither is the operator's. */
const changed = (path: string, before: string, after: string): Setting[] =>
  read(path) === before ? [{ kind: 'setting', path, before, after }] : []

/** Not changed here, but by what follows: noted if it is as it would not be afterwards. */
const kept = (path: string, value: string): Setting[] => changed(path, value, value)

const devicesOf = (family: string): string[] =>
  readdirSync(`${net}/${family}/conf`).filter((name) => name !== 'all' && name !== 'lo')

const read = (path: string): string => readFileSync(path, 'utf8').trim()
