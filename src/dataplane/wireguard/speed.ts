import { addressToNumber, readPrefix } from '../../core/address.ts'
import type { NodePeer } from '../../node-protocol/state.ts'
import type { NodeLog } from '../agent/runtime.ts'
import type { MachineChanges } from './changes.ts'
import { queueNameOf } from './device.ts'
import type { RunProgram } from './run.ts'

/** A peer's traffic class and the filters that lead to it. */
type SpeedClass = {
  readonly mbit: number
  readonly minor: number
  readonly entries: readonly { readonly version: 4 | 6; readonly address: string; readonly handle: string }[]
}

type Limited = Readonly<Pick<NodePeer, 'id' | 'allowed' | 'speed_mbit'>>

/** Limits of tc(8): 16-bit class ids, 12-bit filter ids per row. */
const maxClasses = 0xfffe
const maxInRow = 0xfff

/** Downstream is shaped on the device, upstream on a queue device. */
type Side = { readonly device: string; readonly end: 'src' | 'dst' }

/** Computes `tc` commands. Filters are hashed by the last eight bits of the address. */
export function createSpeedPlan(sides: readonly Side[]) {
  const classes = new Map<string, SpeedClass>()
  const minors = createNumbers(maxClasses)
  const rows = new Map<string, Numbers>()

  function allocate(peer: Limited, mbit: number): SpeedClass | undefined {
    const minor = minors.take()
    if (minor === undefined) return undefined
    const entries: SpeedClass['entries'][number][] = []
    for (const address of peer.allowed) {
      const prefix = readPrefix(address)
      if (!prefix) continue
      const { version } = prefix.base
      const row = `${version === 4 ? 4 : 6}:${(addressToNumber(prefix.base) & 255n).toString(16)}`
      const items = rows.get(row) ?? createNumbers(maxInRow)
      rows.set(row, items)
      const item = items.take()
      if (item === undefined) continue
      entries.push({ version, address, handle: `${row}:${item.toString(16)}` })
    }
    return { mbit, minor, entries }
  }

  function free({ minor, entries }: SpeedClass): void {
    minors.free(minor)
    for (const { handle } of entries) {
      const at = handle.lastIndexOf(':')
      rows.get(handle.slice(0, at))?.free(Number.parseInt(handle.slice(at + 1), 16))
    }
  }

  return {
    change(passing: readonly Limited[]): { lines: string[]; unlimited: string[] } {
      const lines: string[] = []
      const unlimited: string[] = []
      const wanted = new Map(passing.map((each) => [each.id, each]))
      for (const [id, held] of classes) {
        const peer = wanted.get(id)
        if (peer && peer.speed_mbit !== null && isSameClass(held, peer)) continue
        lines.push(...sides.flatMap((side) => toRemoval(side, held)))
        free(held)
        classes.delete(id)
      }
      for (const peer of passing) {
        const held = classes.get(peer.id)
        const mbit = peer.speed_mbit
        if (mbit === null || held?.mbit === mbit) continue
        const next = held ? { ...held, mbit } : allocate(peer, mbit)
        if (!next) {
          unlimited.push(peer.id)
          continue
        }
        lines.push(...sides.flatMap((side) => [toClass(side, next), ...(held ? [] : toEntries(side, next))]))
        classes.set(peer.id, next)
      }
      return { lines, unlimited }
    },
  }
}

type Numbers = ReturnType<typeof createNumbers>

/** Allocates numbers from 1. */
function createNumbers(max: number) {
  const freed: number[] = []
  let next = 1
  return {
    take: (): number | undefined => freed.pop() ?? (next <= max ? next++ : undefined),
    free: (number: number): void => void freed.push(number),
  }
}

const isSameClass = (held: SpeedClass, peer: Limited): boolean =>
  held.entries.length === peer.allowed.length && held.entries.every((each) => peer.allowed.includes(each.address))

const hex = (number: number): string => number.toString(16)
/** Burst of 25 ms, at least a few packets. */
const burstOf = (mbit: number): number => Math.max(16_000, Math.floor((mbit * 1_000_000) / 8 / 40))

const protocolOf = (version: 4 | 6): string => (version === 4 ? 'ip' : 'ipv6')

const line = (...parts: readonly string[]): string => parts.join(' ')

const toClass = ({ device }: Side, { mbit, minor }: SpeedClass): string =>
  line(
    `class replace dev ${device} parent 1: classid 1:${hex(minor)}`,
    `htb rate ${mbit}mbit burst ${burstOf(mbit)} quantum 3000`,
  )

const toEntries = ({ device, end }: Side, { minor, entries }: SpeedClass): string[] =>
  entries.map(({ version, address, handle }) => {
    const [table, row] = handle.split(':')
    return line(
      `filter add dev ${device} parent 1: protocol ${protocolOf(version)} prio ${version} handle ${handle}`,
      `u32 ht ${table}:${row}: match ${version === 4 ? 'ip' : 'ip6'} ${end} ${address} flowid 1:${hex(minor)}`,
    )
  })

const toRemoval = ({ device }: Side, { minor, entries }: SpeedClass): string[] => [
  ...entries.map(({ version, handle }) =>
    line(
      `filter delete dev ${device} parent 1: protocol ${protocolOf(version)} prio ${version}`,
      `handle ${handle} u32`,
    ),
  ),
  `class delete dev ${device} classid 1:${hex(minor)}`,
]

/** Empty queues of one side. Address offsets: RFC 791 3.1, RFC 8200 3. */
function toFrame({ device, end }: Side): string[] {
  const [at4, at6] = end === 'src' ? [12, 20] : [16, 36]
  const table = (version: 4 | 6, at: number) => {
    const filter = `filter add dev ${device} parent 1: prio ${version}`
    const protocol = `protocol ${protocolOf(version)}`
    return [
      `${filter} handle ${version}: ${protocol} u32 divisor 256`,
      `${filter} ${protocol} u32 match u32 0 0 at 0 hashkey mask 0x000000ff at ${at} link ${version}:`,
    ]
  }
  return [`qdisc add dev ${device} root handle 1: htb default 0`, ...table(4, at4), ...table(6, at6)]
}

export type Speed = ReturnType<typeof createSpeed>

/** Applies speed limits. If `tc` fails, that is logged once and traffic passes unlimited. */
export function createSpeed(device: string, changes: MachineChanges, run: RunProgram, log: NodeLog) {
  const queue = queueNameOf(device)
  let state: { plan: ReturnType<typeof createSpeedPlan> } | 'none yet' | 'given up' = 'none yet'

  async function batch(lines: readonly string[]): Promise<boolean> {
    const { code, err } = await run(['tc', '-batch', '-'], `${lines.join('\n')}\n`)
    if (code === 0) return true
    log.warn('speed limits are not kept', { problem: err.trim().slice(0, 500) })
    state = 'given up'
    return false
  }

  /** Upstream needs an ifb device; without one only downstream is limited. */
  async function openQueue(): Promise<Side | undefined> {
    const note = { kind: 'link', name: queue, use: 'queues what peers send' } as const
    changes.note(note)
    const { code, err } = await run(['ip', 'link', 'add', 'dev', queue, 'type', 'ifb'])
    const isUp = code === 0 && (await run(['ip', 'link', 'set', 'dev', queue, 'up'])).code === 0
    if (isUp) return { device: queue, end: 'src' }
    log.warn('what peers send is not limited', { problem: err.trim() })
    changes.strike(note)
    return undefined
  }

  async function open(): Promise<void> {
    const down: Side = { device, end: 'dst' }
    if (!(await batch(toFrame(down)))) return
    const up = await openQueue()
    if (!up) {
      state = { plan: createSpeedPlan([down]) }
      return
    }
    const redirect = [
      `qdisc add dev ${device} handle ffff: ingress`,
      line(
        `filter add dev ${device} parent ffff: protocol all prio 1`,
        `u32 match u32 0 0 action mirred egress redirect dev ${queue}`,
      ),
    ]
    if (await batch([...toFrame(up), ...redirect])) state = { plan: createSpeedPlan([down, up]) }
  }

  return {
    /** Set up with the first limited peer. */
    async keep(passing: readonly Limited[]): Promise<void> {
      if (state === 'none yet' && passing.some((each) => each.speed_mbit !== null)) await open()
      if (typeof state === 'string') return
      const { lines, unlimited } = state.plan.change(passing)
      if (lines.length > 0) await batch(lines)
      if (unlimited.length > 0) log.warn('no limit left for peers', { count: unlimited.length })
    },

    async reset(): Promise<void> {
      if (typeof state === 'string') return
      await run(['ip', 'link', 'delete', 'dev', queue])
      for (const change of changes.list()) if (change.kind === 'link' && change.name === queue) changes.strike(change)
      state = 'none yet'
    },
  }
}
