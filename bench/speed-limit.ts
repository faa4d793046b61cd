import { openByteOrigin } from '../test/harness/byte-origin.ts'
import { openEngine, passwordOf } from '../test/harness/engine.ts'
import { lineOf, openTunnel } from '../test/harness/transfers.ts'
import type { WireClient } from '../test/harness/wire-client.ts'
import type { Bench, Context } from './context.ts'
import { type Row, ratioRow } from './report.ts'

const limit = 2_000_000
const lineBytes = 40
const tunnelsAtOnce = 3
const minShare = 0.9
const moreThanEver = 1_000_000_000_000
const kinds = process.platform === 'linux' ? (['linux', 'portable'] as const) : (['portable'] as const)

/** The share of its speed limit that a credential reaches, on each engine. Tests check that it never exceeds it. */
export const speedLimit: Bench = {
  name: 'speed-limit',
  about: 'three tunnels of one credential with a speed limit of 2 MB/s',
  async run(context) {
    const rows: Row[] = []
    for (const kind of kinds) {
      const shares = await measureShares(kind, context)
      rows.push(ratioRow(`achieved rate / speed limit, ${kind} engine`, shares, { min: minShare }))
    }
    return rows
  },
}

async function measureShares(kind: (typeof kinds)[number], { seconds, rounds }: Context): Promise<number[]> {
  const stand = openEngine({ kind, speeds: () => ({ subuser: limit }), leaseBytes: 1_000_000 })
  const origin = openByteOrigin()
  const username = 'pavel-pool-residential'
  const pass = { port: stand.port, username, password: passwordOf(username) }
  const clients: WireClient[] = []
  for (let index = 0; index < tunnelsAtOnce; index += 1) {
    const id = `limited-${index}`
    origin.expect({ id, up: lineBytes, down: moreThanEver, afterwards: 'stay' })
    const { client } = await openTunnel(pass, 'connect', { host: '127.0.0.1', port: origin.port })
    await client.send(lineOf(id, lineBytes))
    clients.push(client)
  }
  const relayed = (): number => clients.reduce((sum, { total }) => sum + total, 0)
  const shares: number[] = []
  // One round before the first that counts, to empty the token bucket.
  for (let round = 0; round <= rounds; round += 1) {
    const [fromMs, from] = [performance.now(), relayed()]
    await Bun.sleep(seconds * 1000)
    const share = ((relayed() - from) * 1000) / (performance.now() - fromMs) / limit
    if (round > 0) shares.push(share)
  }
  for (const client of clients) client.close()
  origin.stop()
  await stand.stop()
  return shares
}
