import type { RefusalCode } from '../../decide/refusals.ts'
import type { Target } from '../../protocol/authority.ts'
import type { Connected, Dialler } from '../../reach/dial.ts'
import { createConverse } from '../converse.ts'
import { patient, Side, type SideAround } from '../side.ts'
import { after, handlers } from './bun-sockets.ts'

/** Dials with Bun's sockets. */
export const createDialler = (around: SideAround): Dialler<Side> => ({
  connect: (there, from, mostMs) => connect(new Side(patient, around), there, from, mostMs),
  converse: createConverse(around.after),
})

/** One connection, paused as soon as it is there: nothing is lost before somebody listens. */
function connect(side: Side, there: Target, from: string | undefined, mostMs: number): Promise<Connected<Side>> {
  return new Promise((resolve) => {
    let isLate = false
    const cancel = after(mostMs, () => {
      isLate = true
      resolve({ refusal: 'connect_timeout' })
    })
    const options = {
      hostname: there.host,
      port: there.port,
      ...(from !== undefined && { localAddress: from }),
      allowHalfOpen: true,
      data: side,
      socket: {
        ...handlers,
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
      .finally(cancel)
  })
}

function toRefusal(error: unknown): RefusalCode {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ETIMEDOUT') return 'connect_timeout'
  return code === 'EADDRNOTAVAIL' || code === 'EADDRINUSE' ? 'address_unavailable' : 'unreachable'
}
