import { openByteOrigin } from '../test/harness/byte-origin.ts'
import { drawFrom, type Pass, passRequests, passTunnel } from '../test/harness/transfers.ts'
import type { Route } from './tunnels.ts'

/** The number and bytes of clients' transfers, and their errors. */
export type Rough = { readonly transfers: number; readonly bytes: number; readonly errors: readonly string[] }

const lanes = 24
const maxErrorsKept = 100

/**
 * Metered customers with realistic behaviour: tunnels and requests of random sizes that end in order, half-close, stop
 * reading, or are reset by either side. Each counts the bytes that it has sent and received.
 */
export async function behaveRoughly(route: Route, seconds: number, seed: number): Promise<Rough> {
  const origin = openByteOrigin()
  const pass: Pass = { port: Number(route.endpoint.split(':')[1]), username: route.user, password: route.password }
  const endMs = performance.now() + seconds * 1000
  const errors: string[] = []
  let transfers = 0
  let bytes = 0
  const note = (text: string): void => {
    if (errors.length < maxErrorsKept) errors.push(text)
  }
  const lane = async (index: number): Promise<void> => {
    const draw = drawFrom(seed + index)
    while (performance.now() < endMs) {
      try {
        const passed = await (draw.upTo(2) === 0 ? passRequests : passTunnel)(pass, origin, draw)
        if (passed.refusal !== undefined) note(passed.refusal)
        transfers += 1
        bytes += passed.sent + passed.received
      } catch (error) {
        note(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)))
  origin.stop()
  return { transfers, bytes, errors }
}
