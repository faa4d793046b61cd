import { type KeyAndParams, type ParamsIn, toSentence } from './sentences.ts'

/** A key of a catalogue with the parameters of its sentence. */
export type Message<Sentences> = {
  readonly [Key in keyof Sentences]: { readonly reason: Key; readonly params: ParamsIn<Sentences, Key> }
}[keyof Sentences]

/** The arguments that make a message; a sentence without parameters takes its key alone. */
export type MessageArguments<Sentences> = KeyAndParams<Sentences>

/** A function that makes the messages of one catalogue. */
export const messagesOf =
  <Sentences>() =>
  (...[reason, params]: MessageArguments<Sentences>): Message<Sentences> =>
    ({ reason, params: params ?? {} }) as Message<Sentences>

/** The sentence of a message. */
export const toText = <Key extends string>(
  sentences: Readonly<Record<Key, unknown>>,
  { reason, params }: { readonly reason: Key; readonly params: object },
): string => toSentence(sentences, reason, params)
