/** The parameters of a key: the argument of its English sentence. Plain JSON, safe to show. */
type ParamsIn<English, Key extends keyof English> = English[Key] extends (of: infer Params) => string
  ? Readonly<Params>
  : Readonly<Record<string, never>>

/** A catalogue in another language. A missing sentence, or one that uses an unknown parameter, does not compile. */
export type Translation<English> = {
  readonly [Key in keyof English]: English[Key] extends (of: infer Params) => string
    ? (of: Readonly<Params>) => string
    : string
}

/** A key with its parameters, which may be left out where its sentence has none. */
export type KeyAndParams<English, Rest extends readonly unknown[] = []> = {
  [Key in keyof English]: ParamsIn<English, Key> extends Readonly<Record<string, never>>
    ? [key: Key, params?: ParamsIn<English, Key>, ...rest: Rest]
    : [key: Key, params: ParamsIn<English, Key>, ...rest: Rest]
}[keyof English]

/** A key of a catalogue with the parameters of its sentence. */
export type Message<English> = {
  readonly [Key in keyof English]: { readonly reason: Key; readonly params: ParamsIn<English, Key> }
}[keyof English]

/** A function that makes the messages of one catalogue. */
export const messagesOf =
  <English>() =>
  (...[reason, params]: KeyAndParams<English>): Message<English> =>
    ({ reason, params: params ?? {} }) as Message<English>

/** The sentence of a message, whose parameters the compiler has checked where they were given. */
export function toText<Key extends string>(
  sentences: Readonly<Record<Key, unknown>>,
  { reason, params }: { readonly reason: Key; readonly params: object },
): string {
  const sentence = sentences[reason] as string | ((of: object) => string)
  return typeof sentence === 'string' ? sentence : sentence(params)
}
