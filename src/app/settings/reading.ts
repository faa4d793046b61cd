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

/** A setting; its flag is the variable's name in lower case with dashes, unless given. */
export const setting = (
  env: string,
  value: string,
  fallback: string,
  meaning: string,
  flag = env.replace('TURNPIKE_', '').toLowerCase().replaceAll('_', '-'),
): Setting => ({ env, flag, value, fallback, meaning })

/** Reads settings by name: a text, a whole number within bounds, a host; `bad` makes the refusal of a wrong value. */
export type Reading<Name extends string> = {
  readonly text: (name: Name) => string
  readonly whole: (name: Name, min: number, max: number) => number
  readonly host: (name: Name) => string
  readonly bad: (name: Name, problem: string) => Error
}

/** The non-empty parts between commas. */
export const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)

export const givenOf = (text: string): string | undefined => (text === '' ? undefined : text)
