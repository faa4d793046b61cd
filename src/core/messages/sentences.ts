import type { en } from './en.ts'

/** Why a request is refused, for programs. */
export type Reason = keyof typeof en

/** What the sentence of a reason says besides its fixed words: plain JSON, safe to show. */
export type ParamsOf<Named extends Reason> = (typeof en)[Named] extends (of: infer Params) => string
  ? Readonly<Params>
  : Readonly<Record<string, never>>

/** A sentence for each reason. A missing one, or one that uses a parameter that is not given, does not compile. */
export type Sentences = {
  readonly [Named in Reason]: (typeof en)[Named] extends (of: infer Params) => string
    ? (of: Readonly<Params>) => string
    : string
}

/** The sentence of a refusal, whose constructor has checked that the parameters are those of its reason. */
export function toSentence(sentences: Sentences, reason: Reason, params: object): string {
  const sentence = sentences[reason] as string | ((of: object) => string)
  return typeof sentence === 'string' ? sentence : sentence(params)
}
