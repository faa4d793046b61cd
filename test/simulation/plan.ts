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
    | 'refund'
  readonly size: number
  /** Repeats before the earlier request is answered. */
  readonly isImpatient: boolean
}

type Fault =
  /** The shop is killed at its nth await, and runs again after a while. */
  { readonly kind: 'crash'; readonly step: number; readonly downMs: number }

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

const whats: readonly Action['what'][] = [
  'buy proxies',
  'buy proxies',
  'prolong',
  'replace',
  'buy traffic',
  'move traffic',
  'buy vpn',
  'renew vpn',
  'repeat a purchase',
  'repeat a purchase',
  'refund',
]

const action: Arbitrary<Action> = fc.record({
  atMs: fc.nat(actingMs),
  customer: fc.nat(customers - 1),
  what: fc.constantFrom(...whats),
  size: fc.nat(2),
  isImpatient: fc.boolean(),
})

const fault: Arbitrary<Fault> = fc.record({
  kind: fc.constant('crash' as const),
  step: fc.nat(160),
  downMs: fc.nat(3000),
})

const percent = (max: number) => fc.oneof(fc.constant(0), fc.nat(max))

/** A plan of one simulation. It shrinks to fewer and simpler actions and faults. */
export const plans: Arbitrary<Plan> = fc.record({
  entropy: fc.noShrink(fc.nat()),
  network: fc.record({ lost: percent(25), doubled: percent(25), late: percent(15) }),
  pace: fc.record({ waits: fc.constantFrom(0, 20, 100), maxMs: fc.constantFrom(0, 5, 60) }),
  actions: fc.array(action, { minLength: 1, maxLength: 16, size: 'max' }),
  faults: fc.array(fault, { maxLength: 3, size: 'max' }),
  idleJobs: fc.noShrink(fc.nat()),
  scheduler: fc.scheduler(),
})
