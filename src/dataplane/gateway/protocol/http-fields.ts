import { type Field, isToken, trimBlanks } from './http-head.ts'

/** How long a message's body is: not there, so many bytes, in chunks, or (an answer only) until the connection ends. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until_close' }

/**
 * RFC 9110, 7.6.1 and what came before it: fields about this connection only. Those that begin with `proxy-` are added
 * in isHop.
 */
const hops = new Set(['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'])

/**
 * Fields that no sender may put into a trailer (RFC 9110, 6.5.1): framing, routing, authentication, connection control.
 */
const neverTrailing = new Set(
  [
    ...hops,
    'content-length',
    'host',
    'authorization',
    'expect',
    'max-forwards',
    'cookie',
    'set-cookie',
    'range',
  ].concat('content-encoding', 'content-type', 'content-range', 'cache-control', 'www-authenticate'),
)

export const isForbiddenTrailer = (name: string): boolean => neverTrailing.has(name) || name.startsWith('proxy-')

/** True for what ends here: hop-by-hop fields, all `Proxy-*`, and whatever the Connection field names. */
export const isHop = (name: string, named: ReadonlySet<string>): boolean =>
  hops.has(name) || name.startsWith('proxy-') || named.has(name)

export const valuesOf = (fields: readonly Field[], name: string): string[] =>
  fields.filter((field) => field.name === name).map((field) => field.value)

/**
 * The members of a list field in lower case, over all its lines (RFC 9110, 5.6.1). Undefined when one is not a token.
 */
export function readTokens(fields: readonly Field[], name: string): ReadonlySet<string> | undefined {
  const members = valuesOf(fields, name)
    .flatMap((value) => value.split(',').map(trimBlanks))
    .filter((member) => member !== '')
  return members.every(isToken) ? new Set(members.map((member) => member.toLowerCase())) : undefined
}

/**
 * Plain digits without leading zeros, below 10^15: never a sign, a list, a blank, or a number that loses its last
 * digit.
 */
export const readLength = (text: string): number | undefined =>
  /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined
