/** Control characters of a text from outside could move the cursor of a terminal. */
// oxlint-disable-next-line no-control-regex
const visible = (text: string): string => text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '?')

const isScalar = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value)
const toCell = (value: unknown): string =>
  value === null || value === undefined
    ? '-'
    : isScalar(value)
      ? visible(String(value))
      : visible(JSON.stringify(value))

type Row = Readonly<Record<string, unknown>>
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An answer for a terminal: a line for each field, and a table for each list of objects. */
export function toLines(answer: unknown): string[] {
  if (typeof answer === 'string') return visible(answer).split('\n')
  if (!isRow(answer)) return [toCell(answer)]
  const names = Object.entries(answer).filter(([, value]) => !isTable(value))
  const width = Math.max(0, ...names.map(([name]) => name.length))
  const tables = Object.values(answer).filter(isTable)
  return [...names.map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}`), ...tables.flatMap(toTable)]
}

const isTable = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => isRow(each))

/** The scalar fields of the first row as columns. */
function toTable(list: readonly Row[]): string[] {
  const columns = Object.entries(list[0] ?? {}).flatMap(([name, value]) => (isScalar(value) ? [name] : []))
  const lines = [columns, ...list.map((row) => columns.map((name) => toCell(row[name])))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
