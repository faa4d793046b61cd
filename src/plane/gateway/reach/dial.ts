import { type Address, formatAddress, readAddress } from '../../../kernel/address.ts'
import type { NodeExit } from '../../../wire/node/state.ts'
import { Side, type SideOwner } from '../carry/portable/side.ts'
import { mayName, mayReach, type Policy } from '../decide/policy.ts'
import type { RefusalCode } from '../decide/refusals.ts'
import type { Target } from '../protocol/authority.ts'
import type { Resolve } from './resolve.ts'
import { talkTo } from './upstream.ts'

/** Where a connection leaves: an address of this machine, or somebody's proxy. */
export type Way =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'exit'; readonly exit: NodeExit }

export type Dialled =
  | {
      readonly origin: Side
      /** What the origin or the upstream said already. */
      readonly early: Uint8Array
      /** Set when it leaves from another address than it should, which only a sandbox allows. */
      readonly leftFrom?: string
    }
  | { readonly refusal: RefusalCode }

export type Dial = ReturnType<typeof createDial>

const mostTries = 3

/**
 * Connects to a destination. The bytes of every address are judged, and exactly the literal that was judged is dialled: no spelling and no second
 * look-up lies between.
 */
export function createDial(deps: { policy: () => Policy; resolve: Resolve; connectMs: number }) {
  async function findAddresses(target: Target, way: Way, owner: string): Promise<Address[] | RefusalCode> {
    const policy = deps.policy()
    const versions = versionsOf(way)
    const literal = readAddress(target.host)
    if (literal) return versions.includes(literal.version) ? [literal] : 'no_such_family'
    const denial = mayName(target.host, policy)
    if (denial) return denial
    let refusal: RefusalCode = 'name_not_found'
    for (const version of versions) {
      const resolved = await deps.resolve(target.host, version, owner)
      if ('addresses' in resolved) return [...resolved.addresses]
      refusal = resolved.refusal
    }
    if (refusal !== 'name_not_found' || versions.length > 1) return refusal
    // It may have addresses, and none that this proxy can leave for.
    const others = await deps.resolve(target.host, versions[0] === 4 ? 6 : 4, owner)
    return 'addresses' in others ? 'no_such_family' : refusal
  }

  return async (target: Target, way: Way, owner: string): Promise<Dialled> => {
    const found = await findAddresses(target, way, owner)
    if (typeof found === 'string') return { refusal: found }
    const policy = deps.policy()
    const denials = found.map((address) => mayReach(address, target.port, policy))
    const allowed = found.filter((_, index) => denials[index] === undefined)
    if (allowed.length === 0) return { refusal: denials[0] ?? 'name_not_found' }
    const giveUpAt = performance.now() + deps.connectMs
    let failure: Dialled = { refusal: 'unreachable' }
    for (const address of allowed.slice(0, mostTries)) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) break
      const there = { host: formatAddress(address), port: target.port }
      failure =
        way.kind === 'address' ? await leave(there, way, policy, leftMs) : await goThrough(there, way.exit, leftMs)
      if ('origin' in failure) return failure
    }
    return failure
  }
}

/** Leaves from an address of this machine. */
async function leave(
  there: Target,
  way: Extract<Way, { kind: 'address' }>,
  policy: Policy,
  leftMs: number,
): Promise<Dialled> {
  const connected = await connect(there, way.address, leftMs)
  if (connected.refusal !== 'address_unavailable' || !policy.allowLoopback || !way.address.includes(':')) {
    return toDialled(connected)
  }
  // A sandbox sells addresses of a prefix that no laptop has: it leaves from its own and says so.
  const own = await connect(there, '::1', leftMs)
  return own.side ? { origin: own.side, early: empty, leftFrom: '::1' } : toDialled(own)
}

async function goThrough(there: Target, exit: NodeExit, leftMs: number): Promise<Dialled> {
  if (exit.kind === 'local') return toDialled(await connect(there, exit.host, leftMs))
  const startedMs = performance.now()
  const { side } = await connect({ host: exit.host, port: exit.port ?? 0 }, undefined, leftMs)
  if (!side) return { refusal: 'exit_failed' }
  const talk = talkTo(exit, there)
  return new Promise((resolve) => {
    const give = (dialled: Dialled): void => {
      clearTimeout(timer)
      // The first outcome counts: closing below is heard by nobody.
      side.own(patient)
      side.pause()
      if ('refusal' in dialled) side.abort()
      resolve(dialled)
    }
    const timer = setTimeout(() => give({ refusal: 'connect_timeout' }), leftMs - (performance.now() - startedMs))
    side.own({
      ...patient,
      onData(bytes) {
        for (const step of talk.feed(bytes)) {
          if (step.type === 'write') side.write(step.bytes)
          else give(step.type === 'open' ? { origin: side, early: step.rest } : { refusal: 'exit_failed' })
        }
      },
      onEnd: () => give({ refusal: 'exit_failed' }),
      onClose: () => give({ refusal: 'exit_failed' }),
    })
    side.write(talk.begin())
    if (side.isClosed) give({ refusal: 'exit_failed' })
    else side.resume()
  })
}

type Connected = { readonly side?: Side; readonly refusal?: RefusalCode }

/** One connection, paused as soon as it is there: nothing is lost before somebody listens. */
function connect(there: Target, from: string | undefined, leftMs: number): Promise<Connected> {
  const side = new Side(patient)
  return new Promise((resolve) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      resolve({ refusal: 'connect_timeout' })
    }, leftMs)
    const options = {
      hostname: there.host,
      port: there.port,
      ...(from !== undefined && { localAddress: from }),
      allowHalfOpen: true,
      data: side,
      socket: {
        ...Side.handlers,
        open(socket: Parameters<Side['attach']>[0]) {
          side.attach(socket)
          if (isLate) side.abort()
          else side.pause()
        },
        connectError() {},
      },
    }
    void Bun.connect<Side>(options)
      .then((): Connected => ({ side }))
      .catch((error: unknown): Connected => ({ refusal: toRefusal(error) }))
      .then(resolve)
      .finally(() => clearTimeout(timer))
  })
}

const toDialled = ({ side, refusal }: Connected): Dialled =>
  side ? { origin: side, early: empty } : { refusal: refusal ?? 'unreachable' }

function toRefusal(error: unknown): RefusalCode {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ETIMEDOUT') return 'connect_timeout'
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'address_unavailable' : 'unreachable'
}

/** An address leaves for its own kind; a local exit too; a proxy elsewhere may have both, IPv4 being the surer one. */
function versionsOf(way: Way): readonly (4 | 6)[] {
  const own = way.kind === 'address' ? way.address : way.exit.kind === 'local' ? way.exit.host : undefined
  const address = own === undefined ? undefined : readAddress(own)
  return address ? [address.version] : [4, 6]
}

const empty = new Uint8Array(0)
/** Waits for whoever comes next. */
const patient: SideOwner = { onData() {}, onEnd() {}, onDrain() {}, onClose() {} }
