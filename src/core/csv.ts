export type CsvCell = string | number | boolean | null

/** RFC 4180. A text that begins like a formula, also after a separator, gets an apostrophe. */
function toCell(value: CsvCell): string {
  if (typeof value !== 'string') return String(value ?? '')
  const safe = value.replace(/(^|[;,\t\r\n])(\s*[=+\-@])/g, "$1'$2")
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A line of CSV without its end. */
export const toCsvLine = (cells: readonly CsvCell[]): string => cells.map(toCell).join(',')
