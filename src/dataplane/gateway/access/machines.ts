import { readAddress, readClientPrefix, unmap } from '../../../core/address.ts'
import type { Sha256 } from '../../../core/chain.ts'
import { type KeyKind, placeLastsMs, placeReportMs, proofOfKey } from '../../../core/device-places.ts'
import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import { hmac } from '../../agent/exit-keys.ts'
import type { DevicePlace, ProvenPlace } from '../../agent/places.ts'
import type { Claim } from '../ways-in/request.ts'
import type { Access } from './admission.ts'

/** The machines of VPN devices, on the main thread: asks the shop, which knows those of all gateways. */
export type AskPlaces = {
  /** Whether a machine may open its first tunnel. */
  ask(of: ProvenPlace): Promise<boolean>
  /** Machines that have carried bytes, and when. */
  touch(active: readonly (ProvenPlace & { readonly at: number })[]): void
}

/** Activity reaches the main thread within this time. */
const noteEveryMs = 1000
const maxMachines = 100_000

/** `usedAt`: when it last had an open tunnel. */
type Machine = { readonly of: ProvenPlace; activeAt: number; notedAt: number; usedAt: number }

type DeviceAccess = Extract<Access, { kind: 'device' }>

/** The network of a client: its family, and a digest of its IPv4 address or IPv6 /64 that differs between devices. */
export function placeOf(device: string, source: string, sha256: Sha256): string {
  const address = readAddress(source)
  const plain = address && unmap(address)
  const prefix = readClientPrefix(source) ?? source
  const digest = Buffer.from(sha256(`place ${device} ${plain?.version ?? ''} ${prefix}`)).toString('hex')
  return `${plain?.version ?? 4}${digest.slice(0, 16)}`
}

/** The key of a device in a claim that was right. */
const keyOf = (claim: Claim): readonly [kind: KeyKind, key: string] | undefined =>
  claim.kind === 'key'
    ? [claim.protocol, claim.key]
    : claim.kind === 'password'
      ? ['password', claim.credentials.password]
      : undefined

/** The machines that use VPN devices through this reactor. A key that is copied is a device on several machines. */
export class Machines {
  private readonly known = new Map<string, Machine>()
  private notedAt = 0

  constructor(
    private readonly deps: {
      readonly places?: AskPlaces | undefined
      readonly clock: () => number
      readonly sha256: Sha256
      /** This gateway. */
      readonly node: string
    },
  ) {}

  /** The access of a machine that may use its device; undefined if all slots are taken. */
  enter(access: DeviceAccess, source: string, claim: Claim): MaybePromise<DeviceAccess | undefined> {
    const { places, clock, sha256, node } = this.deps
    const presented = keyOf(claim)
    // After its end a device reaches the shop only: its customer must be able to pay.
    if (!places || !presented || access.isInGrace) return access
    const device = access.device.id
    const place = placeOf(device, source, sha256)
    const key = `${device} ${place}`
    const entered = { ...access, machine: key }
    const known = this.known.get(key)
    const nowMs = clock()
    if (known && nowMs - known.activeAt < placeReportMs) return entered
    const [kind, secret] = presented
    const proof = proofOfKey(hmac, secret, node, device, place)
    const of = { device, place, key: kind, ...(access.exit !== undefined && { exit: access.exit }), proof }
    return whenReady(places.ask(of), (isAdmitted) => {
      if (!isAdmitted) return undefined
      for (const oldest of this.known.keys().take(this.known.size < maxMachines ? 0 : 1)) this.known.delete(oldest)
      this.known.set(key, { of, activeAt: nowMs, notedAt: nowMs, usedAt: nowMs })
      return entered
    })
  }

  /** A tunnel of a machine was active then. False if the machine may not use its device any more. */
  note({ machine }: DeviceAccess, activeAt: number, nowMs: number): boolean {
    if (machine === undefined) return true
    const known = this.known.get(machine)
    if (!known) return false
    known.activeAt = Math.max(known.activeAt, activeAt)
    known.usedAt = nowMs
    return true
  }

  refuse(places: readonly DevicePlace[]): void {
    for (const { device, place } of places) this.known.delete(`${device} ${place}`)
  }

  /** Passes activity on. */
  tick(nowMs: number): void {
    if (nowMs - this.notedAt < noteEveryMs && nowMs >= this.notedAt) return
    this.notedAt = nowMs
    const active = []
    for (const [key, machine] of this.known) {
      if (nowMs - machine.usedAt > placeLastsMs) this.known.delete(key)
      if (machine.activeAt <= machine.notedAt) continue
      machine.notedAt = machine.activeAt
      active.push({ ...machine.of, at: machine.activeAt })
    }
    if (active.length > 0) this.deps.places?.touch(active)
  }
}
