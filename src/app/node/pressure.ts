import type { Log } from '../../core/log.ts'
import type { Pressure } from '../../dataplane/gateway/relay/engine.ts'

/** On each call, logs which resources were exhausted since the last call, if any. */
export function createPressureLog(log: Pick<Log, 'warn'>, read: () => Pressure): () => void {
  let last: Pressure = { spared: 0, turnedAway: 0, starved: 0 }
  return () => {
    const { spared, turnedAway, starved } = read()
    // An engine that was started again counts from the beginning.
    const since = (now: number, before: number): number => (now < before ? now : now - before)
    const fields = {
      closed_to_make_room: since(spared, last.spared),
      turned_away: since(turnedAway, last.turnedAway),
      without_descriptor: since(starved, last.starved),
    }
    last = { spared, turnedAway, starved }
    if (Object.values(fields).some((count) => count > 0)) log.warn('gateway full', fields)
  }
}
