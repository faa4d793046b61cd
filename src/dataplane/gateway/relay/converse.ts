import type { After } from '../../../core/time.ts'
import type { Conversed, Dialler } from '../dial/dial.ts'
import { patient, type Side } from './side.ts'

/** Holds the handshake of a proxy elsewhere, over whatever side it was reached by. */
export const createConverse =
  (after: After): Dialler<Side>['converse'] =>
  (side, talk, mostMs) =>
    new Promise((resolve) => {
      const give = (conversed: Conversed): void => {
        cancel()
        // The first outcome counts: closing below is heard by nobody.
        side.own(patient)
        side.pause()
        if ('refusal' in conversed) side.abort()
        resolve(conversed)
      }
      const cancel = after(mostMs, () => give(silent))
      side.own({
        ...patient,
        onData(bytes) {
          for (const step of talk.feed(bytes)) {
            if (step.type === 'write') side.write(step.bytes)
            else give(step.type === 'open' ? { early: step.rest } : step)
          }
        },
        onEnd: () => give(hungUp),
        onClose: () => give(hungUp),
      })
      side.write(talk.begin())
      if (side.isClosed) give(hungUp)
      else side.resume()
    })

/** A proxy may say either of a destination that it cannot reach: it is looked at, and not blamed. */
const silent: Conversed = { refusal: 'connect_timeout', isDoubtful: true }
const hungUp: Conversed = { refusal: 'exit_failed', isDoubtful: true }
