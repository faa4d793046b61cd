import { Resolver } from 'node:dns/promises'
import { type Address, addressFromNumber, readAddress } from '../../../core/address.ts'
import type { After, Clock } from '../../../core/time.ts'

type Resolved =
  | { readonly addresses: readonly Address[] }
  | { readonly refusal: 'name_not_found' | 'resolver_failed' | 'too_many_names' }

const timeoutMs = 2000
const maxKept = 10_000
const maxInFlight = 500
const minTtlMs = 5000
const maxTtlMs = 300_000
const missTtlMs = 5000

export type Resolve = (name: string, version: 4 | 6, owner: string) => Promise<Resolved>

/** Resolves a name to addresses with their TTL in seconds. */
export type Lookup = (name: string, version: 4 | 6) => Promise<readonly { address: string; ttl: number }[]>

/** Caching resolver on sockets, not threads, with a rate limit per customer. */
export function createResolve(deps: {
  clock: Clock
  after: After
  /** A token for each name that a customer asks for. */
  questions: { take(owner: string): boolean }
  lookup?: Lookup
}): Resolve {
  const kept = new Map<string, { readonly resolved: Resolved; readonly endsAt: number }>()
  const asking = new Map<string, Promise<Resolved>>()
  const lookup = deps.lookup ?? createLookup()

  async function ask(key: string, name: string, version: 4 | 6): Promise<Resolved> {
    const found = await within(lookup(name, version), deps.after).catch(toFailure)
    const resolved = toResolved(found)
    if (kept.size >= maxKept) kept.clear()
    kept.set(key, { resolved, endsAt: deps.clock() + ('refusal' in resolved ? missTtlMs : ttlOf(found)) })
    return resolved
  }

  return (name, version, owner) => {
    // RFC 6761, 6.3: never looked up. The policy decides whether it may be reached.
    if (isWithin(name, 'localhost')) return Promise.resolve(localhost[version])
    // RFC 6761, 6.4: never looked up, has no address.
    if (isWithin(name, 'invalid')) return Promise.resolve({ refusal: 'name_not_found' })
    const key = `${version} ${name}`
    const known = kept.get(key)
    if (known && deps.clock() < known.endsAt) return Promise.resolve(known.resolved)
    const pending = asking.get(key)
    if (pending) return pending
    if (!deps.questions.take(owner)) return Promise.resolve({ refusal: 'too_many_names' })
    if (asking.size >= maxInFlight) return Promise.resolve({ refusal: 'resolver_failed' })
    const started = ask(key, name, version).finally(() => asking.delete(key))
    asking.set(key, started)
    return started
  }
}

/** The system's resolver. It reads the system's settings when it opens, and again when `findVersion` changes. */
export function createLookup(findVersion: () => string = () => ''): Lookup {
  const open = () => ({ version: findVersion(), resolver: new Resolver({ timeout: timeoutMs, tries: 2 }) })
  let current = open()
  return (name, version) => {
    if (findVersion() !== current.version) current = open()
    const { resolver } = current
    return version === 4 ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true })
  }
}

const isWithin = (name: string, zone: string): boolean => name === zone || name.endsWith(`.${zone}`)

type Answer = Awaited<ReturnType<Lookup>> | 'name_not_found' | 'resolver_failed'

/** The shortest TTL, within bounds. */
function ttlOf(found: Answer): number {
  const ttlMs = typeof found === 'string' ? 0 : Math.min(...found.map((each) => each.ttl * 1000))
  return Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs)
}

/** An answer without a valid address counts as not found. */
function toResolved(found: Answer): Resolved {
  if (typeof found === 'string') return { refusal: found }
  const addresses = found.flatMap((each) => readAddress(each.address) ?? [])
  return addresses.length === 0 ? { refusal: 'name_not_found' } : { addresses }
}

/** A resolver that knows no such name has answered. */
export function toFailure(error: unknown): 'name_not_found' | 'resolver_failed' {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /ENOTFOUND|ENODATA|NXDOMAIN|NOTFOUND|NODATA/.test(code) ? 'name_not_found' : 'resolver_failed'
}

function within<Value>(work: Promise<Value>, after: After): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = after(timeoutMs, () => reject(new Error('the resolver did not answer in time')))
    work.then(resolve, reject).finally(cancel)
  })
}

const localhost: Readonly<Record<4 | 6, Resolved>> = {
  4: { addresses: [addressFromNumber(4, 0x7f_00_00_01n)] },
  6: { addresses: [addressFromNumber(6, 1n)] },
}
