import { join } from 'node:path'
import type { LoadPlan, LoadResult } from './http-load.ts'
import { percentile } from './statistics.ts'

/** The result of one peer in one round. Times are milliseconds per request; pgbench prints only their mean. */
export type Sample = { readonly perSecond: number; readonly p50Ms?: number; readonly p99Ms?: number }

/** One of several ways to do the same work, measured in turns so that noise of the machine affects all. */
export type Peer<Taken extends Sample = Sample> = { readonly name: string; readonly measure: () => Promise<Taken> }

export type Rounds = ReadonlyMap<string, readonly Sample[]>

/** Measures every peer once per round. Each round begins with another peer. */
export async function alternate<Taken extends Sample>(
  peers: readonly Peer<Taken>[],
  rounds: number,
  say: (text: string) => void,
  unit = '',
): Promise<Map<string, Taken[]>> {
  const taken = new Map(peers.map((peer): [string, Taken[]] => [peer.name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < peers.length; turn += 1) {
      const peer = peers[(round + turn) % peers.length]
      if (!peer) continue
      const sample = await peer.measure()
      taken.get(peer.name)?.push(sample)
      say(`  round ${round + 1}/${rounds}  ${peer.name}: ${Math.round(sample.perSecond)}${unit}/s`)
    }
  }
  return taken
}

export const ratesOf = (rounds: Rounds, name: string): number[] =>
  (rounds.get(name) ?? []).map((sample) => sample.perSecond)

/** The speed ratio of two peers by round. Empty if one of them was not measured. */
export function ratiosOf(rounds: Rounds, name: string, reference: string): number[] {
  const references = ratesOf(rounds, reference)
  return ratesOf(rounds, name).flatMap((rate, round) => {
    const other = references[round]
    return other === undefined || other === 0 ? [] : [rate / other]
  })
}

/** So many callers in this process, each with one call at a time. */
export async function callAtOnce(
  callers: number,
  seconds: number,
  work: (call: number) => Promise<unknown>,
): Promise<Sample> {
  const tookMs: number[] = []
  const startedMs = performance.now()
  const endMs = startedMs + seconds * 1000
  let calls = 0
  const caller = async () => {
    while (performance.now() < endMs) {
      const sentMs = performance.now()
      calls += 1
      await work(calls)
      tookMs.push(performance.now() - sentMs)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const elapsedSeconds = (performance.now() - startedMs) / 1000
  return {
    perSecond: tookMs.length / elapsedSeconds,
    p50Ms: percentile(tookMs, 0.5),
    p99Ms: percentile(tookMs, 0.99),
  }
}

/** HTTP requests from a separate process. An answer other than 200 fails the bench. */
export async function loadHttp(plan: LoadPlan): Promise<LoadResult> {
  const program = join(import.meta.dir, 'http-load.ts')
  const child = Bun.spawn([process.execPath, '--no-env-file', program], {
    stdin: new Blob([JSON.stringify(plan)]),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error('the load generator failed')
  const result = JSON.parse(text) as LoadResult
  if (result.failures > 0) {
    throw new Error(`${result.failures} of ${result.answers} requests failed, the first with: ${result.firstFailure}`)
  }
  return result
}

/** The text of an HTTP request. */
export function toRequest(of: { method: 'GET' | 'POST'; path: string; token: string; body?: unknown }): string {
  const body = of.body === undefined ? '' : JSON.stringify(of.body)
  const headers = [`${of.method} /api/v1${of.path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${of.token}`]
  if (body !== '') headers.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}
