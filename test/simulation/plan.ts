import fc, { type Arbitrary, type Scheduler } from 'fast-check'

/** What a customer's program does, and when. `pick` chooses among what it has. */
export type Action = {
  readonly atMs: number
  readonly customer: number
  readonly what:
    | 'buy proxies'
    | 'prolong'
    | 'replace'
    | 'buy traffic'
    | 'move traffic'
    | 'buy vpn'
    | 'renew vpn'
    | 'repeat a purchase'
    | 'top up'
    | 'pay and buy'
    | 'charge back'
    | 'use traffic'
  readonly size: number
  /** Repeats before the earlier request is answered. */
  readonly isImpatient: boolean
}

export type Fault =
  /** The shop is killed at its nth await, and runs again after a while. */
  | { readonly kind: 'crash'; readonly step: number; readonly downMs: number }
  /** A gateway is killed, and runs again after a while. */
  | { readonly kind: 'kill gateway'; readonly atMs: number; readonly gateway: number; readonly downMs: number }
  /** One direction between two programs is cut for a while. */
  | { readonly kind: 'cut'; readonly atMs: number; readonly from: number; readonly to: number; readonly forMs: number }
  /** The clock of the shop or of a gateway is set. */
  | { readonly kind: 'clock'; readonly atMs: number; readonly of: number; readonly aheadMs: number }
  | { readonly kind: 'disk full'; readonly atMs: number; readonly forMs: number }
  /** The database is copied, and goes back to the copy after a while. */
  | { readonly kind: 'rewind'; readonly atMs: number; readonly forMs: number }

export type Plan = {
  readonly entropy: number
  readonly network: { readonly lost: number; readonly doubled: number; readonly late: number }
  readonly pace: { readonly waits: number; readonly maxMs: number }
  readonly actions: readonly Action[]
  readonly faults: readonly Fault[]
  /** Jobs run whose number is not among these: with fewer of them, the rest meet more often. */
  readonly idleJobs: number
  readonly scheduler: Scheduler
}

/** Actions begin within this time. */
const actingMs = 5_000
const customers = 3
export const gateways = 2
/** The ends of links. */
export const parties = ['shop', 'provider', 'customer 1', 'customer 2', 'gateway 1', 'gateway 2'] as const

const whats: readonly Action['what'][] = [
  'buy proxies',
  'buy proxies',
  'prolong',
  'replace',
  'replace',
  'buy traffic',
  'move traffic',
  'buy vpn',
  'renew vpn',
  'repeat a purchase',
  'repeat a purchase',
  'top up',
  'top up',
  'pay and buy',
  'charge back',
  'use traffic',
  'use traffic',
  'use traffic',
]

const action: Arbitrary<Action> = fc.record({
  atMs: fc.nat(actingMs),
  customer: fc.nat(customers - 1),
  what: fc.constantFrom(...whats),
  size: fc.nat(2),
  isImpatient: fc.boolean(),
})

const atMs = fc.nat(actingMs)
const soonOver = fc.nat(3000)
/** Idempotency keys are kept for a day. */
const maxAheadMs = 8 * 3_600_000

const crash = fc.record({ kind: fc.constant('crash' as const), step: fc.nat(90), downMs: soonOver })
const fault: Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: crash },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('kill gateway' as const),
      atMs,
      gateway: fc.nat(gateways - 1),
      downMs: soonOver,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('cut' as const),
      atMs,
      from: fc.nat(parties.length - 1),
      to: fc.nat(parties.length - 1),
      forMs: fc.nat(6000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('clock' as const),
      atMs,
      of: fc.constantFrom(0, 0, 1, 2),
      aheadMs: fc.integer({ min: -maxAheadMs, max: maxAheadMs }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('disk full' as const), atMs, forMs: soonOver }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rewind' as const), atMs: fc.nat(1500), forMs: fc.nat(3500) }),
  },
)

const percent = (max: number) => fc.oneof(fc.constant(0), fc.nat(max))

export type Length = 'short' | 'long'

/** A plan of one simulation. It shrinks to fewer and simpler actions and faults. */
const plansUpTo = (most: {
  readonly least: number
  readonly actions: number
  readonly faults: number
}): Arbitrary<Plan> =>
  fc.record({
    entropy: fc.noShrink(fc.nat()),
    network: fc.record({ lost: percent(25), doubled: percent(25), late: percent(15) }),
    pace: fc.record({ waits: fc.constantFrom(0, 20, 100), maxMs: fc.constantFrom(0, 5, 60) }),
    actions: fc.array(action, { minLength: most.least, maxLength: most.actions, size: 'max' }),
    faults: fc.array(fault, { maxLength: most.faults, size: 'max' }),
    idleJobs: fc.noShrink(fc.nat()),
    scheduler: fc.scheduler(),
  })

/** Short ones are for `npm test`. */
export const plans: Readonly<Record<Length, Arbitrary<Plan>>> = {
  short: plansUpTo({ least: 1, actions: 5, faults: 2 }),
  long: plansUpTo({ least: 4, actions: 16, faults: 6 }),
}
