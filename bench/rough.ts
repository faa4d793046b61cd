import { openByteOrigin } from '../test/harness/byte-origin.ts'
import { drawFrom, type Pass, passRequests, passTunnel } from '../test/harness/transfers.ts'
import type { Route } from './tunnels.ts'

/** What clients have really sent and got, in how many transfers, and what did not go as it should. */
export type Rough = { readonly transfers: number; readonly bytes: number; readonly errors: readonly string[] }

const lanes = 24
const mostErrorsKept = 100

/**
 * Customers who pay by the byte and behave as customers do: tunnels and requests of random sizes that end in order,
 * half-close, stop reading, or are reset by either side, for so long. Each knows to the byte what it has sent and got.
 */
export async function behaveRoughly(route: Route, seconds: number, seed: number): Promise<Rough> {
  const origin = openByteOrigin()
  const pass: Pass = { port: Number(route.endpoint.split(':')[1]), username: route.user, password: route.password }
  const endMs = performance.now() + seconds * 1000
  const errors: string[] = []
  let transfers = 0
  let bytes = 0
  const note = (text: string): void => {
    if (errors.length < mostErrorsKept) errors.push(text)
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
