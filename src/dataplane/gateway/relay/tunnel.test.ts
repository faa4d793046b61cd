import { describe, expect, test } from 'bun:test'
import { sha256, someProxy } from '../../../../test/harness/desired.ts'
import type { MaybePromise } from '../../../core/maybe-promise.ts'
import { Snapshot } from '../../agent/snapshot.ts'
import { admitByPassword } from '../access/admission.ts'
import type { ChosenWay } from '../access/exit-choice.ts'
import { createTunnelLimits } from '../access/limits.ts'
import { createRecheck } from '../access/recheck.ts'
import type { Dialled } from '../dial/dial.ts'
import { Metering } from '../metering/metering.ts'
import { ignoringOwner, Side } from '../sides/side.ts'
import { createSockets } from '../system/sockets.ts'
import { ProxyTunnels } from './tunnel.ts'

const nowMs = 500_000
const moment = () => ({ nowMs, lastContactAt: nowMs })
const newSide = () => new Side(ignoringOwner, { after: () => () => {}, noteHeld() {} })

/** A customer with a limit of one tunnel, and the given exit choice and dial. */
function openOne(setup: { choose?: () => never; dial: () => MaybePromise<Dialled<Side>> }) {
  const snapshot = new Snapshot()
  snapshot.apply({ proxies: [someProxy()], subusers: [], exits: [] })
  const agent = { wantLease() {}, giveBack() {}, noteNow() {} }
  const metering = new Metering<Side>({
    agent,
    watch: () => undefined,
    countTunnels: () => 0,
    clock: () => nowMs,
    after: () => () => {},
  })
  const chosen: ChosenWay = {
    way: { kind: 'address', address: '192.0.2.9' },
    allowance: metering.allowanceOf({ kind: 'proxy', id: 1 }),
  }
  const limits = createTunnelLimits({ tunnels: 1, newPerSecond: 100, namesPerSecond: 100 }, () => nowMs)
  const tunnels = new ProxyTunnels({
    snapshot,
    moment,
    limits,
    chooseWay: setup.choose ?? (() => chosen),
    dial: setup.dial,
    metering,
    sockets: createSockets('darwin'),
    open: createRecheck({ snapshot, moment, idleMs: 1000 }),
    closedFor: () => undefined,
  })
  const pair = { username: 'tp1abcd', password: 'secret' }
  const verdict = admitByPassword(snapshot, pair, 'http', moment(), sha256, new WeakMap())
  if ('refusal' in verdict) throw new Error(verdict.refusal)
  const { access } = verdict
  return {
    /** The shop deletes the proxy. */
    end: () => void snapshot.apply({ proxies: [someProxy({ state: 'gone' })], subusers: [], exits: [] }),
    open: async () => tunnels.open(access, { host: '192.0.2.1', port: 443 }, newSide()),
    isFree: () => limits.enter(access.owner, access.key, null) === undefined && tunnels.dialling === 0,
  }
}

const fault = (): never => {
  throw new Error('a bug')
}

describe('the tunnel count of a customer', () => {
  test.each([
    ['a refusal of the destination at once', { dial: () => ({ refusal: 'connect_refused' }) as const }],
    ['a later refusal of the destination', { dial: () => Promise.resolve({ refusal: 'connect_refused' } as const) }],
  ])('a tunnel does not count for the tunnel limit after %s', async (_, setup) => {
    const customer = openOne(setup)
    expect(await customer.open()).toEqual({ refusal: 'connect_refused' })
    expect(customer.isFree()).toBe(true)
  })

  test.each([
    ['a fault in choosing the exit', { choose: fault, dial: fault }],
    ['a fault in dialling', { dial: fault }],
    ['a later fault in dialling', { dial: () => Promise.reject(new Error('a bug')) }],
    ['a dial without a result', { dial: () => Promise.resolve(undefined as never) }],
  ])('%s throws and does not count for the tunnel limit', async (_, setup) => {
    const customer = openOne(setup)
    expect(await customer.open().catch((error: unknown) => error instanceof Error)).toBe(true)
    expect(customer.isFree()).toBe(true)
  })

  test('a customer whose proxy ends during the dial gets expired, not bad_credentials, and the origin is closed', async () => {
    const dialling = Promise.withResolvers<Dialled<Side>>()
    const customer = openOne({ dial: () => dialling.promise })
    const opened = customer.open()
    customer.end()
    let isAborted = false
    const origin = Object.assign(newSide(), { abort: () => void (isAborted = true) })
    dialling.resolve({ origin })
    expect(await opened).toEqual({ refusal: 'expired' })
    expect([isAborted, customer.isFree()]).toEqual([true, true])
  })

  test('a tunnel counts for the tunnel limit until finish(), which may be called twice', async () => {
    const customer = openOne({ dial: () => ({ origin: newSide() }) })
    const tunnel = await customer.open()
    expect(await customer.open()).toEqual({ refusal: 'too_many_tunnels' })
    if ('refusal' in tunnel) throw new Error(tunnel.refusal)
    tunnel.finish()
    tunnel.finish()
    expect(customer.isFree()).toBe(true)
  })
})
