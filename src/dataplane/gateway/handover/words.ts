import { z } from 'zod'

/**
 * What two processes of one gateway say to each other over a socket in its folder, a line of JSON each: the later one
 * asks, the earlier one answers.
 */

const port = z.int().min(1).max(65_535)

export const questionSchema = z.discriminatedUnion('ask', [
  /** Who is it? */
  z.object({ ask: z.literal('who') }),
  /** May its listeners be shared? Those from the `from`th on come with the answer, as descriptors. */
  z.object({ ask: z.literal('listeners'), from: z.int().nonnegative() }),
  /** All is taken over: it listens no more. Answered once that is so. */
  z.object({ ask: z.literal('leave') }),
])
export type Question = z.infer<typeof questionSchema>

const noSchema = z.object({ no: z.string().max(300) })
export const whoSchema = z.object({
  pid: z.int().positive(),
  version: z.string().max(50),
  hostname: z.string().max(255),
  port,
  /** Another has taken over from it already. */
  leaving: z.boolean(),
})
export type Who = z.infer<typeof whoSchema>
export const listenersSchema = z.object({ ports: z.array(port), more: z.boolean() })
export const leftSchema = z.object({ left: z.literal(true) })

export const answerSchema = z.union([noSchema, whoSchema, listenersSchema, leftSchema])
export type Answer = z.infer<typeof answerSchema>
