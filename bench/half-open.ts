import type { ProxyPeer } from './compare-proxies.ts'
import type { Context } from './context.ts'
import { type Row, ratioRow, timeRow } from './report.ts'
import type { TunnelResult, Tunnels } from './tunnels.ts'

const halfOpen = 10_000
/** The median of an honest handshake beside half-open ones, against one without them. */
const aloneTarget = { max: 1.1 }
/** The p99 of ours beside half-open ones, against that of an earlier version. */
const beforeTarget = { max: 1 }

type Times = { readonly alone: TunnelResult; readonly beside: TunnelResult }

/** One new tunnel at a time, with and without half-open handshakes in the same round, through each proxy in turn. */
export async function measureHalfOpen(
  { seconds, rounds, say }: Context,
  tunnels: Tunnels,
  proxies: readonly ProxyPeer[],
): Promise<Row[]> {
  const taken = new Map(proxies.map(({ name }): [string, Times[]] => [name, []]))
  const failures = new Map<string, number>()
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, route } of proxies) {
      const measure = () => tunnels.run({ route, tunnels: 1, bytes: 1024, seconds })
      const alone = await measure()
      const held = await tunnels.holdHalfOpen(route.endpoint, halfOpen)
      const beside = await measure()
      await held.release()
      failures.set(name, (failures.get(name) ?? 0) + alone.errors + beside.errors)
      if (alone.tunnels > 0 && beside.tunnels > 0) taken.get(name)?.push({ alone, beside })
      const write = ({ p50Ms, p99Ms }: TunnelResult): string => `${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`
      say(`  round ${round + 1}/${rounds}  ${name}: ${write(alone)}; half-open: ${write(beside)}`)
    }
  }
  const rows = proxies.flatMap(({ name, isOurs }) => {
    const failed = failures.get(name) ?? 0
    return toRows(`${name}${failed === 0 ? '' : `, ${failed} FAILED`}`, taken.get(name) ?? [], isOurs === true)
  })
  return [...rows, ...toBeforeRows(proxies, taken)]
}

const what = `a new tunnel over TLS beside ${halfOpen.toLocaleString('en-US')} half-open handshakes`

function toRows(name: string, times: readonly Times[], isOurs: boolean): Row[] {
  if (times.length === 0) return [{ what: `${what}, ${name}`, figure: 'no tunnel was opened', rounds: [] }]
  const ratiosOf = (of: (result: TunnelResult) => number) => times.map(({ alone, beside }) => of(beside) / of(alone))
  const besideOf = (of: (result: TunnelResult) => number) => times.map(({ beside }) => of(beside))
  const ratios = ratiosOf(({ p50Ms }) => p50Ms)
  return [
    timeRow(
      `${what}, ${name}, p50`,
      besideOf(({ p50Ms }) => p50Ms),
    ),
    ratioRow(`${what}, ${name}, p50 against none`, ratios, isOurs ? aloneTarget : undefined),
    timeRow(
      `${what}, ${name}, p99`,
      besideOf(({ p99Ms }) => p99Ms),
    ),
    ratioRow(
      `${what}, ${name}, p99 against none`,
      ratiosOf(({ p99Ms }) => p99Ms),
    ),
  ]
}

/** Ours against an earlier version, if one is measured. */
function toBeforeRows(proxies: readonly ProxyPeer[], taken: ReadonlyMap<string, readonly Times[]>): Row[] {
  const [ours, earlier] = [proxies[0], proxies.find(({ name }) => name === 'before')]
  if (!ours || !earlier) return []
  const others = taken.get(earlier.name) ?? []
  const ratios = (taken.get(ours.name) ?? []).flatMap(({ beside }, round) => {
    const other = others[round]
    return other ? [beside.p99Ms / other.beside.p99Ms] : []
  })
  return [ratioRow(`${what}, p99 of ${ours.name} against ${earlier.name}`, ratios, beforeTarget)]
}
