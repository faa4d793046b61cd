import type { Translation } from './catalogue.ts'
import type { en } from './en.ts'

/** The stable key of a refusal, for programs. */
export type Reason = keyof typeof en

/** The sentence of each reason, in one language. */
export type Sentences = Translation<typeof en>
