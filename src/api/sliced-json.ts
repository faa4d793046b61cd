import { z } from './operation.ts'
import { sliceRows } from './pages.ts'

/** `JSON.stringify(schema.parse(value))`. Before each slice of a long list in the value it waits for `nextSlice`. */
export async function writeInSlices(schema: z.ZodType, value: unknown, nextSlice: () => Promise<void>) {
  const long = findLongList(schema, value)
  if (!long) return JSON.stringify(schema.parse(value))
  const slices: string[] = []
  for (let at = 0; at < long.rows.length; at += sliceRows) {
    await nextSlice()
    const slice = long.rows.slice(at, at + sliceRows).map((row) => z.parse(long.item, row))
    slices.push(JSON.stringify(slice).slice(1, -1))
  }
  const members = Object.entries(long.schema.parse(long.withoutRows))
    .filter(([, each]) => each !== undefined)
    .map(
      ([name, each]) => `${JSON.stringify(name)}:${name === long.name ? `[${slices.join()}]` : JSON.stringify(each)}`,
    )
  return `{${members.join()}}`
}

function findLongList(schema: z.ZodType, value: unknown) {
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return undefined
  for (const [name, rows] of Object.entries(value)) {
    const list: unknown = schema.shape[name]
    if (!(list instanceof z.ZodArray) || !Array.isArray(rows) || rows.length <= sliceRows) continue
    return { schema, name, rows, item: list.element, withoutRows: { ...value, [name]: [] } }
  }
  return undefined
}
