import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import type { After, Clock } from '../../../core/time.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { Credentials } from '../protocol/basic-auth.ts'
import {
  admitByPassword,
  admitBySource,
  type Moment,
  type Protocol,
  type Proven,
  poolOf,
  type Verdict,
} from './admit.ts'
import type { RefusalCode } from './refusals.ts'

/** Somebody who wants to be let in: what it shows, how it speaks, and where it comes from. */
export type Visitor = {
  readonly credentials: Credentials | undefined
  readonly protocol: Protocol
  readonly source: string
  readonly port: number
}

/**
 * Asks the shop about somebody the node does not know, or whose standing it doubts. What is known of him then is in the
 * snapshot: an answer that was carried about could be older than what the shop has told since.
 */
export type Ask = (
  question: { username: string } | { source: string; port: number },
  source: string,
) => Promise<'asked' | 'unasked'>

/**
 * Refusal delay. Every refusal of a name or password comes this long after the question, or a multiple of it where the
 * lookup took longer: the time of a lookup depends on whether there is such a name.
 */
export const refusalDelayMs = 250
/** A guess that was wrong is wrong for this long, without the shop being asked again. */
const wrongForMs = 2000
const mostWrong = 10_000
/** What is said to whoever is not known. */
const saidToStrangers: readonly RefusalCode[] = ['bad_credentials', 'credentials_required']

/** What is said to whoever shows a name and a password that do not open anything, as far as can be told. */
const saidToGuessers: readonly RefusalCode[] = ['bad_credentials', 'shop_unreachable']

export type Admission = ReturnType<typeof createAdmission>

/** Says who is let in, and asks the shop before it says no. */
export function createAdmission(deps: {
  snapshot: Snapshot
  ask: Ask
  moment: () => Moment
  sha256: (text: string) => Uint8Array
  mainPort: () => number
  noteSource: (subuser: string, address: string) => void
  after: After
  /** Steady time, for the refusal delay. */
  now: Clock
  /** `refusalDelayMs` as shipped. */
  refusalDelayMs: number
}) {
  const { snapshot } = deps
  const proven: Proven = new WeakMap()
  const wrong = createWrongGuesses(deps.sha256, () => deps.moment().nowMs)

  function judge({ credentials, protocol, source, port }: Visitor): Verdict {
    const at = deps.moment()
    if (credentials) return withPool(admitByPassword(snapshot, credentials, protocol, at, deps.sha256, proven))
    if (port === deps.mainPort()) return { refusal: 'credentials_required' }
    return withPool(admitBySource(snapshot, source, port, protocol, at))
  }

  /**
   * A no is given only after the shop was asked, so that what was bought, prolonged or changed a moment ago works. The
   * way is the same whether there is such a name or not.
   */
  async function judgeAfresh(visitor: Visitor): Promise<Verdict> {
    const { credentials, source, port } = visitor
    if (credentials && wrong.has(credentials)) return { refusal: 'bad_credentials' }
    const question = credentials ? { username: nameOf(credentials.username) } : { source, port }
    const asked = await deps.ask(question, source)
    const verdict = judge(visitor)
    // Nobody is told that a password is wrong by somebody who cannot know.
    const isStranger = 'refusal' in verdict && saidToStrangers.includes(verdict.refusal)
    if (asked === 'unasked' && isStranger) return { refusal: 'shop_unreachable' }
    if (credentials && isStranger) wrong.add(credentials)
    return verdict
  }

  async function askAndJudge(visitor: Visitor): Promise<Verdict> {
    const startedAt = deps.now()
    const verdict = await judgeAfresh(visitor)
    if ('refusal' in verdict && saidToGuessers.includes(verdict.refusal)) {
      const leftMs = deps.refusalDelayMs - ((deps.now() - startedAt) % deps.refusalDelayMs)
      await new Promise<void>((resolve) => deps.after(leftMs, resolve))
    }
    return verdict
  }

  function noteSource({ source }: Visitor, verdict: Verdict): Verdict {
    if ('access' in verdict && verdict.access.kind === 'premium') {
      deps.noteSource(verdict.access.subuser.id, source)
    }
    return verdict
  }

  return {
    /** Every port but the first stands for somebody's login, and lets in who comes from the right address. */
    isPortOfSomebody: (port: number): boolean => port !== deps.mainPort(),

    /** At once for whoever is known. */
    admit(visitor: Visitor): MaybePromise<Verdict> {
      const first = judge(visitor)
      const isSure = 'access' in first || (!visitor.credentials && visitor.port === deps.mainPort())
      if (visitor.credentials) return isSure ? first : askAndJudge(visitor)
      return whenReady(isSure ? first : askAndJudge(visitor), (verdict) => noteSource(visitor, verdict))
    },
  }
}

/** Names and passwords that were found to be wrong, by their digest. */
function createWrongGuesses(sha256: (text: string) => Uint8Array, clock: () => number) {
  const foundAt = new Map<string, number>()
  const keyOf = ({ username, password }: Credentials): string =>
    Buffer.from(sha256(`${username}\0${password}`)).toString('latin1')
  return {
    has(credentials: Credentials): boolean {
      const at = foundAt.get(keyOf(credentials))
      return at !== undefined && Math.abs(clock() - at) < wrongForMs
    },
    add(credentials: Credentials): void {
      if (foundAt.size >= mostWrong) foundAt.clear()
      foundAt.set(keyOf(credentials), clock())
    },
  }
}

/** Where there is traffic may have changed as well, so it is looked at before the shop is asked. */
function withPool(verdict: Verdict): Verdict {
  if (!('access' in verdict) || verdict.access.kind !== 'premium') return verdict
  const named = poolOf(verdict.access)
  return 'refusal' in named ? named : verdict
}

/** A login ends at the first dash; a dedicated proxy's name has none. */
const nameOf = (username: string): string => username.split('-', 1)[0]?.toLowerCase().slice(0, 255) || '-'
