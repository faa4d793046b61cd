import { closeSync, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { refuseHere } from '../../core/refusal.ts'
import { createOwnFile, findFile, writeOwnFile } from '../agent/own-file.ts'
import { parseJson } from '../agent/runtime.ts'
import { must, type RunProgram } from './run.ts'

/** A change of the machine, with what is needed to undo it. */
const changeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('table'), name: z.string() }),
  z.object({ kind: z.literal('link'), name: z.string(), use: z.string() }),
  z.object({ kind: z.literal('setting'), path: z.string(), before: z.string(), after: z.string() }),
])
export type MachineChange = z.infer<typeof changeSchema>

const recordSchema = z.object({
  device: z.string(),
  /** Process id and start time: ids are reused. */
  pid: z.int().positive(),
  began: z.string(),
  changes: z.array(changeSchema).readonly(),
})

/** A peer's WireGuard session, which the next run renews without waiting for the peer. */
const sessionSchema = z.object({ public_key: z.string(), endpoint: z.string(), handshake_at: z.number() })
export type PeerSession = z.infer<typeof sessionSchema>

/** wireguard-go's control socket. */
export const socketPath = (device: string): string => `/var/run/wireguard/${device}.sock`
/** In memory and only during a restart: addresses of customers are not stored on disk. */
const sessionsPath = (device: string): string => `/var/run/wireguard/${device}.sessions`

const fileName = 'vpn-changes.json'
/** Mostly settings of network devices; containers create hundreds. */
const maxChanges = 10_000

/** Changes that the last run has not undone, and whether it still runs. */
export function readChanges(folder: string) {
  const text = findFile(join(folder, fileName))
  if (text === undefined) return undefined
  const { device, changes, pid, began } = recordSchema.parse(JSON.parse(text))
  return { device, changes, pid, runs: beganOf(pid) === began }
}

export function describeChange(change: MachineChange): string {
  if (change.kind === 'table') return `nftables: table inet ${change.name}`
  if (change.kind === 'link') return `network device ${change.name}: ${change.use}`
  if (change.before === change.after) return `${change.path}: ${change.before} again at the end`
  return `${change.path}: ${change.after}, was ${change.before}`
}

export type MachineChanges = ReturnType<typeof createChanges>

/** What a killed or restarting run has left on the machine. */
type Remains = {
  readonly pid: number
  readonly device: string
  readonly kept: readonly MachineChange[]
  readonly sessions: readonly PeerSession[]
}

/** Journal of changes, written before each is made, for the next start. It locks the folder. */
export function createChanges(folder: string, device: string, last?: Remains) {
  const changes: readonly MachineChange[] = last?.kept ?? []
  const record = { device, pid: process.pid, began: beganOf(process.pid) ?? '', changes }
  const path = join(folder, fileName)
  if (last) for (const each of [sessionsPath(last.device), path]) rmSync(each, { force: true })
  createOwnFile(path, toText(record))
  return {
    note(...added: readonly MachineChange[]): void {
      const missing = added.filter((each) => !record.changes.some((noted) => Bun.deepEquals(noted, each)))
      if (record.changes.length + missing.length > maxChanges) throw new Error('more was changed than a node changes')
      record.changes = [...record.changes, ...missing]
      writeOwnFile(path, toText(record))
    },
    strike(change: MachineChange): void {
      record.changes = record.changes.filter((each) => each !== change)
      writeOwnFile(path, toText(record))
    },
    list: (): readonly MachineChange[] => record.changes,
    close: (): void => rmSync(path, { force: true }),
    /** Leaves the changes and the sessions to the next run. */
    leave(sessions: readonly PeerSession[]): void {
      writeOwnFile(sessionsPath(device), JSON.stringify(sessions))
      writeOwnFile(path, toText({ ...record, began: '' }))
    },
  }
}

/**
 * Ends the tunnel of a killed or restarting run. Its firewall and settings stay: without address translation the
 * kernel would reset the connections of the peers. Refuses while the run is alive.
 */
export async function endLastTunnel(folder: string, run: RunProgram): Promise<Remains | undefined> {
  const remains = readChanges(folder)
  if (!remains) return undefined
  if (remains.runs) {
    throw refuseHere(`A VPN node runs here already, as process ${remains.pid}. Stop it first.`, 'vpn_node_runs')
  }
  const { device, changes, pid } = remains
  await undoChanges(changes.filter(isLink), run)
  const read = z.array(sessionSchema).safeParse(parseJson(findFile(sessionsPath(device)) ?? ''))
  const sessions = read.data ?? []
  return { pid, device, kept: changes.filter((each) => !isLink(each)), sessions }
}

/** Undoes all changes of a killed or restarting run. */
export async function clearRemains(folder: string, run: RunProgram): Promise<void> {
  const last = await endLastTunnel(folder, run)
  if (!last) return
  await undoChanges(last.kept, run)
  for (const each of [sessionsPath(last.device), join(folder, fileName)]) rmSync(each, { force: true })
}

export const isLink = (change: MachineChange): boolean => change.kind === 'link'

/** Undoes changes in reverse order; missing ones are skipped. */
export async function undoChanges(changes: readonly MachineChange[], run: RunProgram): Promise<void> {
  for (const change of changes.toReversed()) {
    if (change.kind === 'setting') {
      // The network device may be gone.
      if (existsSync(change.path)) writeSetting(change.path, change.before)
    } else if (change.kind === 'link') {
      const isThere = (await run(['ip', 'link', 'show', 'dev', change.name])).code === 0
      if (isThere) await must(run, ['ip', 'link', 'delete', 'dev', change.name])
      // A killed wireguard-go leaves its socket behind.
      rmSync(socketPath(change.name), { force: true })
    } else {
      // `add` first makes `delete` succeed in any case.
      await must(run, ['nft', '-f', '-'], `add table inet ${change.name}\ndelete table inet ${change.name}\n`)
    }
  }
}

export function writeSetting(path: string, value: string): void {
  const file = openSync(path, 'w')
  try {
    writeSync(file, `${value}\n`)
  } finally {
    closeSync(file)
  }
}

const toText = (record: z.infer<typeof recordSchema>): string => `${JSON.stringify(record, null, 2)}\n`

/** Start time of a process in clock ticks: field 22 of /proc/PID/stat. */
function beganOf(pid: number): string | undefined {
  const path = `/proc/${pid}/stat`
  if (!existsSync(path)) return undefined
  const text = readFileSync(path, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}
