import { type Format, useFormat } from './format.ts'
import { useWords } from './language.tsx'
import { Facts } from './parts.tsx'
import { Rows } from './rows.tsx'
import { tradeWords } from './trade-words.ts'

type Record = Readonly<{ [name: string]: unknown }>

/** A value as people write it: what its name says it is decides how. */
function write(name: string, value: unknown, format: Format): string {
  if (value === null || value === undefined) return '—'
  if (name === 'kopecks') return format.exactMoney(Number(value) / 100)
  if (name.endsWith('_at') && typeof value === 'number') return format.moment(new Date(value).toISOString())
  if (name.endsWith('_at') && typeof value === 'string') return format.moment(value)
  if (name.endsWith('_bytes') && typeof value === 'number') return format.bytes(value)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** A record whose fields the shop may add to: each is shown, by its own name where there is no better one. */
export function RecordFacts({ of }: { readonly of: Record }) {
  const format = useFormat()
  const { fields } = useWords(tradeWords)
  return <Facts of={Object.entries(of).map(([name, value]) => [fields[name] ?? name, write(name, value, format)])} />
}

/** Several of them, of one kind. A value that names a thing with a page of its own leads there. */
export function RecordRows({
  label,
  rows,
  pageOf,
}: {
  readonly label: string
  readonly rows: readonly Record[]
  readonly pageOf: (name: string, value: unknown) => string | undefined
}) {
  const format = useFormat()
  const { fields } = useWords(tradeWords)
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const columns = names.map((name) => ({
    name,
    label: fields[name] ?? name,
    show: (row: Record) => {
      const page = pageOf(name, row[name])
      const text = write(name, row[name], format)
      return page === undefined ? text : <a href={page}>{text}</a>
    },
  }))
  return <Rows label={label} rows={rows} columns={columns} keyOf={(row) => JSON.stringify(row)} />
}
