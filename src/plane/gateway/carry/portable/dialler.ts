import type { RefusalCode } from '../../decide/refusals.ts'
import type { Target } from '../../protocol/authority.ts'
import type { Connected, Conversed, Dialler } from '../../reach/dial.ts'
import type { UpstreamTalk } from '../../reach/upstream.ts'
import { Side, type SideOwner } from '../side.ts'

/** Waits for whoever comes next. */
const patient: SideOwner = { onData() {}, onEnd() {}, onDrain() {}, onClose() {} }

/** Dials with Bun's sockets. */
export const dialler: Dialler<Side> = { connect, converse }

/** One connection, paused as soon as it is there: nothing is lost before somebody listens. */
function connect(there: Target, from: string | undefined, mostMs: number): Promise<Connected<Side>> {
  const side = new Side(patient)
  return new Promise((resolve) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      resolve({ refusal: 'connect_timeout' })
    }, mostMs)
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
      .then((): Connected<Side> => ({ origin: side }))
      .catch((error: unknown): Connected<Side> => ({ refusal: toRefusal(error) }))
      .then(resolve)
      .finally(() => clearTimeout(timer))
  })
}

function converse(side: Side, talk: UpstreamTalk, mostMs: number): Promise<Conversed> {
  return new Promise((resolve) => {
    const give = (conversed: Conversed): void => {
      clearTimeout(timer)
      // The first outcome counts: closing below is heard by nobody.
      side.own(patient)
      side.pause()
      if ('refusal' in conversed) side.abort()
      resolve(conversed)
    }
    const timer = setTimeout(() => give({ refusal: 'connect_timeout' }), mostMs)
    side.own({
      ...patient,
      onData(bytes) {
        for (const step of talk.feed(bytes)) {
          if (step.type === 'write') side.write(step.bytes)
          else give(step.type === 'open' ? { early: step.rest } : { refusal: 'exit_failed' })
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

function toRefusal(error: unknown): RefusalCode {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ETIMEDOUT') return 'connect_timeout'
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'address_unavailable' : 'unreachable'
}
