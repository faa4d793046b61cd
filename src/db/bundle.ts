import type { Value } from './transaction.ts'

type Write = { readonly sql: string; readonly values: readonly Value[] }

/** Larger writes are sent alone: their texts vary with their rows, and each would be prepared separately. */
const maxValues = 64
const maxWrites = 8
const maxTexts = 500

/** Cache: bundles have few shapes, one for each kind of sale. */
const texts = new Map<string, string>()
const tables = new Map<string, string>()

/**
 * Collects unawaited writes to different tables into one PostgreSQL statement, which costs one message instead of five.
 * Its parts do not see each other's rows, so it never holds two writes to one table.
 */
export class Bundle {
  private writes: Write[] = []
  private readonly tables = new Set<string>()
  private count = 0

  /** Takes a write in. False if it must be sent after the collected ones. */
  add(sql: string, values: readonly Value[]): boolean {
    const table = tableOf(sql)
    if (table === undefined || this.tables.has(table)) return false
    if (this.count + values.length > maxValues || this.writes.length >= maxWrites) return false
    this.writes.push({ sql, values })
    this.tables.add(table)
    this.count += values.length
    return true
  }

  /** Returns the collected writes as one statement and starts over. */
  take(): Write | undefined {
    const [only, ...others] = this.writes
    const writes = this.writes
    this.writes = []
    this.tables.clear()
    this.count = 0
    if (!only || others.length === 0) return only
    return { sql: joined(writes), values: writes.flatMap((write) => write.values) }
  }
}

/** The table of a plain write. Undefined for a write with RETURNING or WITH. */
function tableOf(sql: string): string | undefined {
  const known = tables.get(sql)
  if (known !== undefined) return known || undefined
  const plain = /\bRETURNING\b/i.test(sql) ? null : /^\s*(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+([a-z_]+)/i.exec(sql)
  if (tables.size >= maxTexts) tables.clear()
  tables.set(sql, plain?.[1] ?? '')
  return plain?.[1]
}

function joined(writes: readonly Write[]): string {
  const name = writes.map((write) => write.sql).join('\n;\n')
  const known = texts.get(name)
  if (known !== undefined) return known
  let before = 0
  const parts = writes.map((write) => {
    const shift = before
    before += write.values.length
    return write.sql.replace(/\$(\d+)/g, (_, position: string) => `$${Number(position) + shift}`)
  })
  const last = parts.pop() ?? ''
  const text = `WITH ${parts.map((part, index) => `part${index} AS (${part})`).join(', ')} ${last}`
  if (texts.size >= maxTexts) texts.clear()
  texts.set(name, text)
  return text
}
