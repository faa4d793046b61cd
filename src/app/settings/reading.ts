/** A setting that cannot be used stops the start with this one line. */
export class BadSetting extends Error {
  override readonly name = 'BadSetting'
}

/** One setting: an environment variable and a flag. The flag wins. */
export type Setting = {
  readonly env: string
  readonly flag: string
  readonly value: string
  readonly fallback: string
  readonly meaning: string
}

/**
 * How a part of the settings reads its own: a text, a whole number within bounds, a host, and the refusal of a bad one.
 */
export type Reading<Name extends string> = {
  readonly text: (name: Name) => string
  readonly whole: (name: Name, min: number, max: number) => number
  readonly host: (name: Name) => string
  readonly bad: (name: Name, problem: string) => Error
}

/** What stands between commas; nothing for nothing. */
export const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

/** A setting that is empty is not given. */
export const givenOf = (text: string): string | undefined => (text === '' ? undefined : text)
