import { z } from 'zod'
import { problem } from '../core/messages/problems.ts'

const count = z.int().nonnegative()

export const maxRangesTried = 500
/** A range larger than two to this power is sampled and reported as one address. */
export const maxTriedSingly = 20
/** Further runs of a range are not reported. */
export const maxRuns = 2000
export const maxProblems = 20
/** Runs in one report, over all ranges. */
export const maxRunsAtOnce = 20_000

/** Results of address trials. Each range is reported whole, so a lost report is repaired by the next. */
export const triedBodySchema = z.object({
  ranges: z
    .array(
      z.object({
        id: z.int().positive(),
        /** Offset and count of consecutive addresses; a block is one address. */
        served: z.array(z.tuple([count, z.int().positive()])).max(maxRuns),
        problems: z
          .array(z.object({ first: count, count: z.int().positive(), problem: z.string().regex(/^[a-z_]{1,40}$/) }))
          .max(maxProblems),
        /** The address that the shop saw, if it differed. */
        seen_as: z.string().max(45).nullable(),
      }),
    )
    .max(maxRangesTried)
    .refine(
      (ranges) => ranges.reduce((sum, each) => sum + each.served.length, 0) <= maxRunsAtOnce,
      problem('max_items', { max: maxRunsAtOnce }),
    )
    .refine((ranges) => new Set(ranges.map((each) => each.id)).size === ranges.length, problem('duplicates')),
})
export type TriedBody = z.infer<typeof triedBodySchema>
export type TriedRange = TriedBody['ranges'][number]

/** `POST /node/v1/tried`. */
export const triedAnswerSchema = z.object({ now: count })

/** `GET /node/v1/seen`: the address that the shop saw. */
export const seenSchema = z.object({ from: z.string().max(45) })
