import type { Found } from '../../../../wire/node/state.ts'
import type { Snapshot } from '../../../agent/snapshot.ts'
import type { Account } from '../../count/allowance.ts'
import type { Metering } from '../../count/metering.ts'
import type { Tally } from '../../count/tally.ts'
import {
  type Access,
  admitByPassword,
  admitBySource,
  type Moment,
  type Protocol,
  poolOf,
  standing,
  type Verdict,
} from '../../decide/admit.ts'
import type { TunnelLimits } from '../../decide/limits.ts'
import type { RefusalCode } from '../../decide/refusals.ts'
import type { ExitChooser } from '../../decide/sessions.ts'
import type { Target } from '../../protocol/authority.ts'
import type { Credentials } from '../../protocol/basic-auth.ts'
import type { Dial, Way } from '../../reach/dial.ts'
import type { Sockets } from '../sockets.ts'
import type { Side } from './side.ts'
import { Valve } from './valve.ts'

/** Somebody at the door: what it shows, how it speaks, and where it comes from. */
export type Visitor = {
  readonly credentials: Credentials | undefined
  readonly protocol: Protocol
  readonly source: string
  readonly port: number
}

/** Asks the shop about somebody the node does not know, or whose standing it doubts. */
export type Ask = (
  question: { username: string } | { source: string; port: number },
  source: string,
) => Promise<{ found: Found } | 'unasked'>

/** A way through, from one customer's connection to one destination. */
export type Passage = {
  readonly access: Access
  readonly origin: Side
  readonly early: Uint8Array
  readonly tally: Tally
  /** From the customer to the origin, and back. */
  readonly valves: { readonly up: Valve; readonly down: Valve }
  /** Facts for whoever can be told them: HTTP clients. */
  readonly extra: Readonly<Record<string, string>>
  /** When a byte last passed. */
  activeAt: number
  /** One side has said all it will say. */
  isHalfOpen: boolean
  /** Ends both sides at once; set by whoever carries the bytes. */
  cut: () => void
  /** It is over, whoever ended it. */
  finish(): void
}

/** Every no to a name or password comes this long after the question, whatever it took to find out. */
const noAfterMs = 250
/** What is said to whoever is not known. */
const strangers: readonly RefusalCode[] = ['bad_credentials', 'credentials_required']
/** How long a connection waits to hear how many bytes it may carry. */
const leaseWaitMs = 3000

export type Door = ReturnType<typeof createDoor>

export function createDoor(deps: {
  snapshot: Snapshot
  ask: Ask
  learn: (found: Found) => void
  moment: () => Moment
  sha256: (text: string) => Uint8Array
  limits: TunnelLimits
  chooser: ExitChooser
  dial: Dial
  metering: Metering
  sockets: Sockets
  mainPort: () => number
  /** Why nobody new can be carried now, if so. */
  closedFor: () => RefusalCode | undefined
  passages: Set<Passage>
}) {
  const { snapshot, metering } = deps

  function judge({ credentials, protocol, source, port }: Visitor): Verdict {
    const at = deps.moment()
    if (credentials) return withPool(admitByPassword(snapshot, credentials, protocol, at, deps.sha256))
    if (port === deps.mainPort()) return { refusal: 'credentials_required' }
    return withPool(admitBySource(snapshot, source, port, at))
  }

  /** A no is given only after the shop was asked, so that what was bought, prolonged or changed a moment ago works. */
  async function judgeAfresh(visitor: Visitor): Promise<Verdict> {
    const { credentials, source, port } = visitor
    const question = credentials ? { username: nameOf(credentials.username) } : { source, port }
    const asked = await deps.ask(question, source)
    if (asked !== 'unasked') deps.learn(asked.found)
    const verdict = judge(visitor)
    // Nobody is told that a password is wrong by somebody who cannot know.
    const isStranger = 'refusal' in verdict && strangers.includes(verdict.refusal)
    return asked === 'unasked' && isStranger ? { refusal: 'shop_unreachable' } : verdict
  }

  async function admit(visitor: Visitor): Promise<Verdict> {
    const first = judge(visitor)
    if ('access' in first || (!visitor.credentials && visitor.port === deps.mainPort())) return first
    const startedMs = performance.now()
    const verdict = await judgeAfresh(visitor)
    if ('refusal' in verdict && verdict.refusal === 'bad_credentials') {
      await Bun.sleep(Math.max(0, noAfterMs - (performance.now() - startedMs)))
    }
    return verdict
  }

  async function chooseWay(access: Access): Promise<{ way: Way; account: Account } | { refusal: RefusalCode }> {
    if (access.kind === 'dedicated') {
      const account = metering.accountOf({ kind: 'proxy', id: access.proxy.id })
      return { way: { kind: 'address', address: access.proxy.leave_from }, account }
    }
    const named = poolOf(access)
    if ('refusal' in named) return named
    const { pool } = named
    const choice = deps.chooser.choose(access.subuser.id, pool, access.login, deps.moment().nowMs)
    if ('refusal' in choice) return choice
    const account = metering.accountOf({ kind: 'subuser', id: access.subuser.id, pool })
    let refusal = await waitForBytes(account)
    if (refusal === 'traffic_exhausted') refusal = await waitAfresh(account, access)
    return refusal ? { refusal } : { way: { kind: 'exit', exit: choice.exit }, account }
  }

  /** The account was dry when it was last asked for; whoever bought a moment ago is not told of that. */
  async function waitAfresh(
    account: Account,
    access: Extract<Access, { kind: 'premium' }>,
  ): Promise<RefusalCode | undefined> {
    const asked = await deps.ask({ username: access.subuser.login }, ownerOf(access))
    if (asked !== 'unasked') deps.learn(asked.found)
    return waitForBytes(account)
  }

  async function pass(access: Access, target: Target, client: Side): Promise<Passage | { refusal: RefusalCode }> {
    const chosen = await chooseWay(access)
    if ('refusal' in chosen) return chosen
    const dialled = await deps.dial(target, chosen.way, ownerOf(access))
    if ('refusal' in dialled) return dialled
    const { origin, early, leftFrom } = dialled
    // Much may have happened while the connection was made.
    const refusal = client.isClosed ? 'gateway_stopping' : standing(access, snapshot, deps.moment())
    if (refusal) {
      origin.abort()
      return { refusal }
    }
    const keepsHosts = access.kind === 'premium' && access.subuser.keep_hosts
    const tally = metering.begin(chosen.account, client, keepsHosts ? target.host : undefined)
    const passage: Passage = {
      access,
      origin,
      early,
      tally,
      valves: { up: new Valve(deps.sockets, client, origin), down: new Valve(deps.sockets, origin, client) },
      extra: leftFrom === undefined ? {} : { 'X-Turnpike-Left-From': leftFrom },
      activeAt: deps.moment().nowMs,
      isHalfOpen: false,
      cut: () => {},
      finish() {
        if (!deps.passages.delete(passage)) return
        metering.finish(tally)
        deps.limits.leave(ownerOf(access), access.key)
      },
    }
    deps.passages.add(passage)
    return passage
  }

  return {
    /** Every port but the first stands for somebody's login, and lets in who comes from the right address. */
    isPortOfSomebody: (port: number): boolean => port !== deps.mainPort(),

    async admit(visitor: Visitor): Promise<Verdict> {
      const verdict = await admit(visitor)
      if ('access' in verdict && !visitor.credentials && verdict.access.kind === 'premium') {
        metering.noteSource(verdict.access.subuser.id, visitor.source)
      }
      return verdict
    },

    /** Opens a way for somebody who was let in, or says why not. */
    async open(access: Access, target: Target, client: Side): Promise<Passage | { refusal: RefusalCode }> {
      const closed = deps.closedFor()
      if (closed) return { refusal: closed }
      const most = access.kind === 'premium' ? access.subuser.tunnels : null
      const denied = deps.limits.enter(ownerOf(access), access.key, most)
      if (denied) return { refusal: denied }
      const passage = await pass(access, target, client).catch((error: unknown) => {
        deps.limits.leave(ownerOf(access), access.key)
        throw error
      })
      if ('refusal' in passage) deps.limits.leave(ownerOf(access), access.key)
      return passage
    },
  }
}

/** Where there is traffic may have changed as well, so it is looked at before the shop is asked. */
function withPool(verdict: Verdict): Verdict {
  if (!('access' in verdict) || verdict.access.kind === 'dedicated') return verdict
  const named = poolOf(verdict.access)
  return 'refusal' in named ? named : verdict
}

/** A login ends at the first dash; a dedicated proxy's name has none. */
const nameOf = (username: string): string => username.split('-', 1)[0]?.toLowerCase().slice(0, 255) || '-'

const ownerOf = (access: Access): string =>
  `owner ${(access.kind === 'dedicated' ? access.proxy : access.subuser).owner}`

/**
 * Undefined once the account has something to carry with. That there is nothing is believed only of an answer to a question that was asked after
 * he came, so that what was bought a moment ago works.
 */
function waitForBytes(account: Account): Promise<RefusalCode | undefined> | undefined {
  if (account.hasSome) return undefined
  const believed = account.answers + (account.isAsking ? 2 : 1)
  return new Promise((resolve) => {
    let asking: ReturnType<typeof setTimeout> | undefined
    const done = (refusal: RefusalCode | undefined): void => {
      clearTimeout(timer)
      clearTimeout(asking)
      forget()
      resolve(refusal)
    }
    const look = (): void => {
      if (account.hasSome) done(undefined)
      else if (account.isUsedUp && account.answers >= believed) done('traffic_exhausted')
      else if (!account.isAsking) {
        clearTimeout(asking)
        asking = setTimeout(() => account.askAfresh(), account.askAfreshInMs)
      }
    }
    const timer = setTimeout(() => done(account.isUsedUp ? 'traffic_exhausted' : 'shop_unreachable'), leaseWaitMs)
    const forget = account.onChange(look)
    look()
  })
}
