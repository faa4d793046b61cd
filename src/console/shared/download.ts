/** Gives somebody a file. */
export function download(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}

/**
 * A line of CSV (RFC 4180). What a spreadsheet would take for a formula is written so that it does not.
 */
const toLine = (cells: readonly (string | number | null)[]): string =>
  cells
    .map((cell) => {
      const text = cell === null ? '' : String(cell)
      const safe = typeof cell === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
    })
    .join(',')

export const toCsv = (lines: readonly (readonly (string | number | null)[])[]): string =>
  lines.map((line) => `${toLine(line)}\r\n`).join('')
