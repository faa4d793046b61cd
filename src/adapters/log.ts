import type { Log } from '../core/log.ts'

/** From the quietest; each includes those before it. */
export const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof logLevels)[number]

/** One JSON object per line, or a readable line on a terminal. Secrets are redacted. */
export function createLog(level: LogLevel, role: string, write: (line: string) => void, forEyes = false): Log {
  const max = logLevels.indexOf(level)
  const at =
    (name: LogLevel) =>
    (event: string, fields: Record<string, unknown> = {}) => {
      if (logLevels.indexOf(name) > max) return
      const entry = { at: new Date().toISOString(), level: name, role, event, ...fields }
      const plain = name === 'error' || name === 'debug' ? plainWhole : plainBrief
      write(`${redact(forEyes ? toReadable(entry, fields, plain) : JSON.stringify(entry, plain))}\n`)
    }
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') }
}

function toReadable(
  entry: { at: string; level: string; role: string; event: string },
  fields: Record<string, unknown>,
  plain: Plain,
): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined)
  const details = shown.map(([name, value]) => {
    const text = JSON.stringify({ [name]: value }, plain).slice(JSON.stringify(name).length + 2, -1)
    return `${name}=${text}`
  })
  return [entry.at.slice(11, 19), entry.level.padEnd(5), `${entry.role}:`, entry.event, ...details].join(' ')
}

const maxCauses = 5
const secretNames = /pass(word)?|secret|token_text|authorization|private_?key|cookie/i

type Plain = (name: string, value: unknown) => unknown

/** Errors are written with their causes, bigints as texts, and fields named like secrets are redacted. */
const plainWith =
  (hasStack: boolean): Plain =>
  (name, value) => {
    if (secretNames.test(name)) return '[redacted]'
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Error ? toPlainError(value, maxCauses, hasStack) : value
  }

/** Faults have their stack; warnings do not. */
const plainWhole = plainWith(true)
const plainBrief = plainWith(false)

/** An error may be its own cause, so causes are limited. */
function toPlainError(error: Error, causesLeft: number, hasStack: boolean): object {
  const { name, message, stack, cause } = error
  const isDeeper = cause instanceof Error
  const shown = isDeeper ? causesLeft > 0 && { cause: toPlainError(cause, causesLeft - 1, hasStack) } : { cause }
  return { error: name, message, ...(hasStack && { stack }), ...shown }
}

/**
 * Redacts tokens of customers and operators, one-time links and sessions, keys and secrets of nodes, bearer headers,
 * credentials in URLs, password digests, secret links and WireGuard keys anywhere in a text.
 */
export function redact(text: string): string {
  return text
    .replace(/tp_(live|test)_[A-Za-z0-9]+/g, 'tp_$1_[redacted]')
    .replace(/tp([jnols])_[a-z0-9]+/g, 'tp$1_[redacted]')
    .replace(/(Bearer )[^\s"\\]+/gi, '$1[redacted]')
    .replace(/(:\/\/[^\s:/@"\\]*:)[^\s@"\\]+@/g, '$1[redacted]@')
    .replace(/(\$argon2\w+\$)[^\s"\\]+/g, '$1[redacted]')
    .replace(/(\/vpn\/s\/)[A-Za-z0-9_-]+/g, '$1[redacted]')
    .replace(/((?:PrivateKey|PresharedKey)\s*=\s*)[A-Za-z0-9+/]{43}=/g, '$1[redacted]')
}
