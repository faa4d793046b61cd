import fc from 'fast-check'
import { type Length, plans } from './plan.ts'
import { type Outcome, simulate } from './simulation.ts'
import type { Template } from './template.ts'

export type SeedResult = Outcome & {
  /** The shortest plan that breaks the same seed, in words; undefined if no promise was broken. */
  readonly failure: string | undefined
}

/** A failing plan is made simpler for so many runs at most. */
const usualRuns = 300

/** Runs the plan of a seed; the same seed is the same run. */
export async function runSeed(
  template: Template,
  seed: number,
  length: Length,
  maxRuns = usualRuns,
): Promise<SeedResult> {
  const seen: { outcome: Outcome; runs: number } = { outcome: { trace: [], purchases: 0, crashes: 0 }, runs: 0 }
  const property = fc.asyncProperty(plans[length], async (plan) => {
    seen.runs += 1
    // Keeps the shortest plan that was found until then.
    if (seen.runs > maxRuns) return
    seen.outcome = await simulate(template, plan)
  })
  const checked = await fc.check(property, { seed, numRuns: 1, endOnFailure: false })
  if (!checked.failed) return { ...seen.outcome, failure: undefined }
  const [plan] = checked.counterexample ?? []
  const { actions, faults, network } = plan ?? {}
  const text = checked.errorInstance instanceof Error ? checked.errorInstance.message : String(checked.errorInstance)
  const shape = JSON.stringify({ actions: actions?.length, faults, network })
  return { ...seen.outcome, failure: `${text}\n(shrunk ${checked.numShrinks} times to ${shape})` }
}
