import { resolve } from 'node:path'

/** A setting that cannot be used stops the start with this one line. */
export class BadSetting extends Error {
  override readonly name = 'BadSetting'
}

/** Parses the text of a setting. `bad` makes the error of a wrong text. */
export type Read<Value> = (text: string, bad: (problem: string) => BadSetting) => Value

/** One setting: an environment variable and a flag. The flag wins. `value` is the placeholder that help shows. */
export type Setting<Value = unknown> = {
  readonly env: string
  readonly flag: string
  readonly value: string
  readonly fallback: string
  readonly read: Read<Value>
}

type Settings = Readonly<Record<string, Setting>>

export type ConfigOf<All extends Settings> = { readonly [Name in keyof All]: ReturnType<All[Name]['read']> }

/** A setting; its flag is the variable's name in lower case with dashes, unless given. */
export const setting = <Value>(
  env: string,
  value: string,
  fallback: string,
  read: Read<Value>,
  flag = env.replace('TURNPIKE_', '').toLowerCase().replaceAll('_', '-'),
): Setting<Value> => ({ env, flag, value, fallback, read })

/** The value is left out: it may hold a password. */
export const badSetting = ({ env, flag }: Setting, problem: string): BadSetting =>
  new BadSetting(`${env} (--${flag}) ${problem}.`)

/** Reads settings from their texts, or refuses the first bad one, naming it and what it takes. */
export function readSettings<All extends Settings>(all: All, textOf: (setting: Setting) => string): ConfigOf<All> {
  const read = (each: Setting) => each.read(textOf(each), (problem) => badSetting(each, problem))
  return Object.fromEntries(Object.entries(all).map(([name, each]) => [name, read(each)])) as ConfigOf<All>
}

/** A text that `parse` accepts: it returns undefined for any other. */
export const parsed =
  <Value>(parse: (text: string) => Value | undefined, problem: string): Read<Value> =>
  (text, bad) => {
    const value = parse(text)
    if (value === undefined) throw bad(problem)
    return value
  }

export const optional =
  <Value>(read: Read<Value>): Read<Value | undefined> =>
  (text, bad) =>
    text === '' ? undefined : read(text, bad)

/** The parts between commas. */
export const listOf =
  <Value>(read: Read<Value>): Read<readonly Value[]> =>
  (text, bad) =>
    partsOf(text).map((part) => read(part, bad))

export const anyText: Read<string> = (text) => text
export const path: Read<string> = (text) => resolve(text)

export const matching = (pattern: RegExp, problem: string): Read<string> =>
  parsed((text) => (pattern.test(text) ? text : undefined), problem)

export const oneOf = <Choice extends string>(choices: readonly Choice[], problem: string): Read<Choice> =>
  parsed((text) => choices.find((each) => each === text), problem)

export const onOff: Read<boolean> = (text, bad) => oneOf(['on', 'off'], 'must be on or off')(text, bad) === 'on'

export const whole = (min: number, max: number): Read<number> =>
  parsed((text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  }, `must be a whole number from ${min} to ${max}`)

/** `first-last`. */
export const portRange = parsed((text) => {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text)
  const [first, last] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)]
  return first < 1024 || last > 65_535 || last < first ? undefined : { first, last }
}, 'must be two ports from 1024 to 65535, like 20000-29999')

export const host = matching(/^[A-Za-z0-9.:_-]{1,255}$/, 'must be an address or a host name')

/** `host:port`, with an IPv6 address in brackets. */
export const listenAddress = (lastPort: number, problem: string) =>
  parsed((text) => {
    const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]{1,255})):(\d{1,5})$/.exec(text)
    const port = Number(match?.[3] ?? 0)
    return match && port >= 1 && port <= lastPort ? { host: match[1] ?? match[2] ?? '', port } : undefined
  }, problem)

/** The non-empty parts between commas. */
export const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
