import { type Format, useFormat } from './format.ts'
import { useWords } from './language.tsx'
import { Facts } from './parts.tsx'
import { Rows } from './rows.tsx'
import { type Trade, tradeWords } from './trade-words.ts'

type Record = Readonly<{ [name: string]: unknown }>

/** What the values of a field are called, where they have names. */
function namesOf(name: string, trade: Trade): Trade['fields'] {
  if (name === 'pool' || name === 'pool_type') return trade.pools
  if (name === 'ipv') return trade.ipvs
  return name === 'status' ? trade.states : {}
}

/** A value as people write it: what its name says it is decides how. */
function write(name: string, value: unknown, format: Format, trade: Trade): string {
  if (value === null || value === undefined) return '—'
  const isPlain = typeof value === 'string' || typeof value === 'number'
  const named = isPlain ? namesOf(name, trade)[value] : undefined
  if (named !== undefined) return named
  if (name.startsWith('country') && typeof value === 'string') return format.country(value)
  if (name.endsWith('_rub') && typeof value === 'number') return format.exactMoney(value)
  if ((name === 'gb' || name.endsWith('_gb')) && typeof value === 'number') return format.gigabytes(value)
  if (name === 'kopecks') return format.exactMoney(Number(value) / 100)
  if (name.endsWith('_at') && typeof value === 'number') return format.moment(new Date(value).toISOString())
  if (name.endsWith('_at') && typeof value === 'string') return format.moment(value)
  if ((name === 'bytes' || name.endsWith('_bytes')) && typeof value === 'number') return format.bytes(value)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** A record whose fields the shop may add to: each is shown, by its own name where there is no better one. */
export function RecordFacts({ of }: { readonly of: Record }) {
  const format = useFormat()
  const trade = useWords(tradeWords)
  return (
    <Facts
      of={Object.entries(of).map(([name, value]) => [trade.fields[name] ?? name, write(name, value, format, trade)])}
    />
  )
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
  const trade = useWords(tradeWords)
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const columns = names.map((name) => ({
    name,
    label: trade.fields[name] ?? name,
    show: (row: Record) => {
      const page = pageOf(name, row[name])
      const text = write(name, row[name], format, trade)
      return page === undefined ? text : <a href={page}>{text}</a>
    },
  }))
  return <Rows label={label} rows={rows} columns={columns} keyOf={(row) => JSON.stringify(row)} />
}
