import { expect, test } from 'bun:test'
import { z } from './operation.ts'
import { readInSlices } from './pages.ts'
import { writeInSlices } from './sliced-json.ts'

const schema = z.object({
  total: z.int(),
  rows: z.array(z.object({ id: z.int(), name: z.string().optional() })),
  next_cursor: z.string().nullable(),
  note: z.string().optional(),
})

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ id, ...(id % 2 === 0 && { name: `"${id}"` }), secret: 'not declared' }))

test.each([0, 1, 50, 51, 100, 101, 170])(
  'writeInSlices writes %i rows as JSON.stringify does, without undeclared fields, 50 in a slice',
  async (count) => {
    const value = { next_cursor: null, rows: rowsOf(count), total: count, extra: 1 }
    let slices = 0
    const written = await writeInSlices(schema, value, async () => void (slices += 1))
    expect(written).toBe(JSON.stringify(schema.parse(value)))
    expect(slices).toBe(count <= 50 ? 0 : Math.ceil(count / 50))
  },
)

test('writeInSlices refuses a list with one row that does not fit the schema', async () => {
  const value = { next_cursor: null, rows: [...rowsOf(120), { id: 'x' }], total: 1 }
  expect(await writeInSlices(schema, value, async () => {}).catch(String)).toContain('invalid_type')
})

test('readInSlices reads 120 rows in slices of 50, 50 and 20, each after the last row of the slice before', async () => {
  const asked: unknown[] = []
  let pauses = 0
  const read = async (last: number | undefined, limit: number) => {
    asked.push([last, limit])
    const from = (last ?? 0) + 1
    return Array.from({ length: Math.min(limit, 130 - from + 1) }, (_, at) => from + at)
  }
  const rows = await readInSlices(120, read, async () => void (pauses += 1))
  expect([rows.length, rows.at(-1), pauses]).toEqual([120, 120, 2])
  expect(asked).toEqual([
    [undefined, 50],
    [50, 50],
    [100, 20],
  ])
  asked.length = 0
  expect((await readInSlices(500, read, async () => {})).length).toBe(130)
  expect(asked.length).toBe(3)
})
