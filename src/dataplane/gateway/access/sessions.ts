import type { ProxyLogin } from '../../../core/login.ts'
import type { NodeExit } from '../../../node-protocol/state.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { ExitHealth } from './exit-health.ts'
import { offersPlace } from './supplier-login.ts'

/** Exits that fit and can be left through, and those of them that are near: ours, or nobody's in particular. */
type Fitting = { readonly fit: readonly NodeExit[]; readonly near: readonly NodeExit[] }
/** As long as no exit has changed, nor how any is doing. */
type FittingNow = Fitting & { readonly all: readonly NodeExit[]; readonly generation: number }
type Session = { exit: string; endsAt: number; turn: number }

/** `session` names a customer's session and its turn, alike on every gateway. */
export type Choice =
  | { readonly exit: NodeExit; readonly session?: string }
  | { readonly refusal: 'no_exit' | 'session_lost' }

const mostSessions = 100_000
const mostFilters = 1000
const shippedMinutes = 10

export type ExitChooser = ReturnType<typeof createExitChooser>

/**
 * Chooses where a premium connection leaves. Geography is honoured or refused. A session keeps its exit for its time,
 * from its first use; each exit draws a number from the session's name, so that every gateway, and this one after a
 * restart, begins with the same one.
 */
export function createExitChooser(deps: {
  snapshot: Snapshot
  random: () => number
  health: Pick<ExitHealth, 'isUp' | 'generation'>
  /** The gateway that this is. Exits of others are left to those who ask for them or find no other. */
  self?: string
}) {
  const { health } = deps
  const sessions = new Map<string, Session>()
  const fitting = new Map<string, FittingNow>()

  /** The same login comes again and again, as the same object. */
  const fittingLogin = new WeakMap<ProxyLogin, FittingNow>()

  function findFitting(pool: string, login: ProxyLogin): Fitting {
    const all = deps.snapshot.exitsOf(pool)
    const last = fittingLogin.get(login)
    if (last?.all === all && last.generation === health.generation) return last
    const found = fitAfresh(all, pool, login)
    fittingLogin.set(login, found)
    return found
  }

  function fitAfresh(all: readonly NodeExit[], pool: string, login: ProxyLogin): FittingNow {
    const { generation } = health
    const key = placeKey(pool, login)
    const known = fitting.get(key)
    // The array is another one as soon as any exit has changed.
    if (known?.all === all && known.generation === generation) return known
    const fit = all.filter((exit) => health.isUp(exit.id) && fits(exit, login))
    const near = fit.filter((exit) => exit.node === null || exit.node === deps.self)
    if (fitting.size >= mostFilters) fitting.clear()
    const found = { all, generation, fit, near: near.length > 0 ? near : fit }
    fitting.set(key, found)
    return found
  }

  function drawAnother(exits: readonly NodeExit[], failed: readonly NodeExit[]): NodeExit | undefined {
    const among = failed.length === 0 ? exits : exits.filter((exit) => !failed.some((each) => each.id === exit.id))
    return among[Math.floor(deps.random() * among.length)]
  }

  function begin(key: string, exits: readonly NodeExit[], login: ProxyLogin, turn: number, nowMs: number): Choice {
    const session = `${key} ${turn}`
    const exit = draw(exits, session)
    if (!exit) return { refusal: 'no_exit' }
    if (sessions.size >= mostSessions) forgetSome(sessions, nowMs)
    const minutes = login.session?.ttlMinutes ?? shippedMinutes
    sessions.set(key, { exit: exit.id, endsAt: nowMs + minutes * 60_000, turn })
    return { exit, session }
  }

  return {
    /** `failed` are exits that have just failed this very connection; with a session there is but one. */
    choose(owner: string, pool: string, login: ProxyLogin, nowMs: number, failed: readonly NodeExit[] = []): Choice {
      const { fit: exits, near } = findFitting(pool, login)
      if (!login.session) {
        const exit = drawAnother(near, failed) ?? drawAnother(exits, failed)
        return exit ? { exit } : { refusal: 'no_exit' }
      }
      const key = `${owner} ${login.session.name} ${placeKey(pool, login)}`
      const known = sessions.get(key)
      if (!known) return begin(key, exits, login, 0, nowMs)
      if (nowMs >= known.endsAt) return begin(key, exits, login, known.turn + 1, nowMs)
      const exit = deps.snapshot.findExit(known.exit)
      if (exit && health.isUp(exit.id)) return { exit, session: `${key} ${known.turn}` }
      // Said once, aloud: whoever relies on one address must know that it is another from here on.
      sessions.delete(key)
      return { refusal: 'session_lost' }
    },

    get size(): number {
      return sessions.size
    },
  }
}

function fits(exit: NodeExit, login: ProxyLogin): boolean {
  if (exit.offers !== null) return offersPlace(exit, login)
  const has = (list: readonly string[], value: string): boolean => list.length === 0 || list.includes(value)
  return (
    has(login.countries, exit.country) &&
    has(login.states, exit.state) &&
    has(login.cities, exit.city) &&
    has(login.zips, exit.zip) &&
    (login.asns.length === 0 || (exit.asn !== null && login.asns.includes(exit.asn)))
  )
}

const placeKey = (pool: string, { countries, states, cities, zips, asns }: ProxyLogin): string =>
  [pool, ...[countries, states, cities, zips, asns].map((list) => list.join('.'))].join('|')

/** The exit with the largest number drawn: when one goes, only its own sessions move. */
function draw(exits: readonly NodeExit[], subject: string): NodeExit | undefined {
  let best: NodeExit | undefined
  let most = -1
  for (const exit of exits) {
    const drawn = Bun.hash.xxHash32(`${subject} ${exit.id}`)
    if (drawn > most) [best, most] = [exit, drawn]
  }
  return best
}

/** What has ended goes first; if nothing has, the oldest tenth goes, so that a flood of names cannot grow the table. */
function forgetSome(sessions: Map<string, Session>, nowMs: number): void {
  for (const [key, session] of sessions) if (nowMs >= session.endsAt) sessions.delete(key)
  let left = sessions.size - Math.floor(mostSessions * 0.9)
  for (const key of sessions.keys()) {
    if (left <= 0) return
    sessions.delete(key)
    left -= 1
  }
}
