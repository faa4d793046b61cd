import type { JsonSchema } from './description.ts'

/** Fields of answers that are secrets, whatever the operation. */
const secretFields: ReadonlySet<string> = new Set(['config', 'password', 'secret', 'subscription_url', 'token'])

/** Fields that hold lists of proxies as text, with a password in each line. A file that is no JSON is `text`. */
const textsOf: Readonly<Record<string, readonly string[]>> = {
  exportDedicated: ['proxies', 'text'],
  generateProxies: ['domain', 'ip', 'proxies'],
}

const mask = '(masked)'

const isSecretOf = (operation: string, name: string): boolean =>
  secretFields.has(name) || (textsOf[operation]?.includes(name) ?? false)

/** Whether an answer of this schema may hold a secret. */
export function hasSecrets(
  operation: string,
  answer: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
): boolean {
  const seen = new Set<string>()
  const search = (schema: JsonSchema): boolean => {
    if (schema.$ref !== undefined) {
      if (seen.has(schema.$ref)) return false
      seen.add(schema.$ref)
      return search(schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? {})
    }
    const fields = Object.entries(schema.properties ?? {})
    if (fields.some(([name, field]) => isSecretOf(operation, name) || search(field))) return true
    return [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])].some(search)
  }
  return search(answer)
}

/** The answer without its secrets, and the names of the fields that were masked. */
export function maskSecrets(operation: string, answer: unknown): { readonly data: unknown; readonly masked: string[] } {
  const masked = new Set<string>()
  const hide = (value: unknown, name: string): unknown => {
    if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
    if (Array.isArray(value)) return value.map((each) => hide(each, name))
    if (typeof value === 'object') return copy(value)
    masked.add(name)
    return mask
  }
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, isSecretOf(operation, name) ? hide(each, name) : copy(each)]),
    )
  }
  return { data: copy(answer), masked: [...masked] }
}
