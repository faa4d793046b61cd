/** Labels of a metric. Never a customer or an address: there would be too many series. */
type Labels = Readonly<Record<string, string>>
type Sample = { readonly labels?: Labels; readonly value: number }
type Reading = number | readonly Sample[] | undefined
type Read = () => Reading | Promise<Reading>

/** Series past this limit are not counted. */
const maxSeries = 500

type Family = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly lines: () => Promise<readonly string[]>
}

/** Metrics of one process in Prometheus' text format (0.0.4). */
export class Metrics {
  private readonly families: Family[] = []

  counter(name: string, help: string) {
    const counts = new Map<string, { labels: Labels; value: number }>()
    this.addRead('counter', name, help, () => [...counts.values()])
    return {
      add(labels: Labels = {}, by = 1): void {
        const key = keyOf(labels)
        const known = counts.get(key)
        if (known) known.value += by
        else if (counts.size < maxSeries) counts.set(key, { labels, value: by })
      },
    }
  }

  /** A value read on each scrape; undefined leaves it out. */
  gauge(name: string, help: string, read: Read): void {
    this.addRead('gauge', name, help, read)
  }

  /** A counter read on each scrape. */
  total(name: string, help: string, read: Read): void {
    this.addRead('counter', name, help, read)
  }

  histogram(name: string, help: string, bounds: readonly number[]) {
    const kept = new Map<string, { labels: Labels; counts: number[]; sum: number }>()
    const lines = async () => [...kept.values()].flatMap((each) => bucketLines(name, bounds, each))
    this.families.push({ name, type: 'histogram', help, lines })
    return {
      observe(labels: Labels, value: number): void {
        const key = keyOf(labels)
        const known = kept.get(key) ?? { labels, counts: [...bounds, 0].map(() => 0), sum: 0 }
        if (!kept.has(key) && kept.size >= maxSeries) return
        kept.set(key, known)
        const bucket = bounds.findIndex((bound) => value <= bound)
        const at = bucket < 0 ? bounds.length : bucket
        known.counts[at] = (known.counts[at] ?? 0) + 1
        known.sum += value
      },
    }
  }

  async write(): Promise<string> {
    const parts = await Promise.all(
      this.families.map(async ({ name, type, help, lines }) => {
        const found = await lines().catch(() => [])
        return found.length === 0 ? [] : [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...found]
      }),
    )
    return `${parts.flat().join('\n')}\n`
  }

  private addRead(type: 'counter' | 'gauge', name: string, help: string, read: Read): void {
    const lines = async () => samplesOf(await read()).map((each) => lineOf(name, each))
    this.families.push({ name, type, help, lines })
  }
}

const samplesOf = (reading: Reading): readonly Sample[] =>
  reading === undefined ? [] : typeof reading === 'number' ? [{ value: reading }] : reading.slice(0, maxSeries)

function bucketLines(
  name: string,
  bounds: readonly number[],
  of: { readonly labels: Labels; readonly counts: readonly number[]; readonly sum: number },
): string[] {
  let upTo = 0
  const buckets = [...bounds.map(String), '+Inf'].map((le, index) => {
    upTo += of.counts[index] ?? 0
    return lineOf(`${name}_bucket`, { labels: { ...of.labels, le }, value: upTo })
  })
  return [
    ...buckets,
    lineOf(`${name}_sum`, { labels: of.labels, value: of.sum }),
    lineOf(`${name}_count`, { labels: of.labels, value: upTo }),
  ]
}

const lineOf = (name: string, { labels = {}, value }: Sample): string => `${name}${labelsOf(labels)} ${toNumber(value)}`

/** Key of a series within one metric; the label names of a metric are always the same. */
function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\n`
  return key
}

function labelsOf(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const escapeValue = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

function toNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}
