import { z } from 'zod'

/**
 * What a node says of the ranges that it was told of, once it has tried them. Each is said whole, so it may come twice,
 * late or not at all: the next one says it again.
 */

const count = z.int().nonnegative()

export const mostRangesTried = 500
/** A range of more addresses than two to this power is a block: drawn from, not tried singly, and spoken of as one. */
export const mostTriedSingly = 20
/** A range that is in more pieces than this is said to serve in the first of them only. */
export const mostRuns = 2000
export const mostProblems = 20
/** Runs in one report, over all ranges. */
export const mostRunsAtOnce = 20_000

/** Addresses of a range that follow one another: the first one's place in it, and how many. A block is one address. */
const runSchema = z.tuple([count, z.int().positive()])

export const triedBodySchema = z.object({
  ranges: z
    .array(
      z.object({
        id: z.int().positive(),
        served: z.array(runSchema).max(mostRuns),
        problems: z
          .array(z.object({ first: count, count: z.int().positive(), problem: z.string().regex(/^[a-z_]{1,40}$/) }))
          .max(mostProblems),
        /** Who the shop saw when the node called from an address of it, if that was somebody else. */
        seen_as: z.string().max(45).nullable(),
      }),
    )
    .max(mostRangesTried)
    .refine(
      (ranges) => ranges.reduce((sum, each) => sum + each.served.length, 0) <= mostRunsAtOnce,
      `must have at most ${mostRunsAtOnce} runs`,
    )
    .refine((ranges) => new Set(ranges.map((each) => each.id)).size === ranges.length, 'must not name a range twice'),
})
export type TriedBody = z.infer<typeof triedBodySchema>
export type TriedRange = TriedBody['ranges'][number]

/** `POST /node/v1/tried`: that it was taken. */
export const triedAnswerSchema = z.object({ now: count })
export type TriedAnswer = z.infer<typeof triedAnswerSchema>

/** `GET /node/v1/seen`: called from an address that is tried; the answer is who the shop saw. */
export const seenSchema = z.object({ from: z.string().max(45) })
