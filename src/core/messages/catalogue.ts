/** What a sentence says besides its fixed words: plain JSON, safe to show. */
type ParamsIn<Sentence> = Sentence extends (of: infer Params) => string
  ? Readonly<Params>
  : Readonly<Record<string, never>>

/** The same sentences in another language. A missing one, or one that uses an unknown parameter, does not compile. */
export type Translation<Sentences> = {
  readonly [Key in keyof Sentences]: Sentences[Key] extends (of: infer Params) => string
    ? (of: Readonly<Params>) => string
    : string
}

/** A key of a catalogue with the parameters of its sentence. */
export type Message<Sentences> = {
  readonly [Key in keyof Sentences]: { readonly reason: Key; readonly params: ParamsIn<Sentences[Key]> }
}[keyof Sentences]

/** The arguments that make a message; a sentence without parameters takes its key alone. */
export type MessageArguments<Sentences> = {
  readonly [Key in keyof Sentences]: Sentences[Key] extends string
    ? readonly [reason: Key]
    : readonly [reason: Key, params: ParamsIn<Sentences[Key]>]
}[keyof Sentences]

/** A function that makes the messages of one catalogue. */
export const messagesOf =
  <Sentences>() =>
  (...[reason, params]: MessageArguments<Sentences>): Message<Sentences> =>
    ({ reason, params: params ?? {} }) as Message<Sentences>

/** The sentence of a message, whose maker has checked that the parameters are those of its key. */
export function toText<Sentences>(
  sentences: Translation<Sentences>,
  { reason, params }: { readonly reason: keyof Sentences; readonly params: object },
): string {
  const sentence: unknown = sentences[reason]
  return typeof sentence === 'string' ? sentence : (sentence as (of: object) => string)(params)
}
