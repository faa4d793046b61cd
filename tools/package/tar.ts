/** An entry of an archive. The owner is a numeric id. */
export type Entry = {
  readonly path: string
  readonly mode: number
  readonly owner?: number
} & (
  | { readonly kind: 'file'; readonly content: Uint8Array }
  | { readonly kind: 'folder' }
  | { readonly kind: 'link'; readonly to: string }
)

const block = 512
const kinds = { file: '0', folder: '5', link: '2' } as const

/** A ustar archive (POSIX.1-1988). The same entries give the same bytes. */
export function toTar(entries: readonly Entry[], seconds: number): Uint8Array {
  const parts = entries.flatMap((entry) => {
    const content = entry.kind === 'file' ? entry.content : new Uint8Array()
    return [headerOf(entry, content.length, seconds), content, new Uint8Array(-content.length & (block - 1))]
  })
  return Buffer.concat([...parts, new Uint8Array(2 * block)])
}

function headerOf(entry: Entry, size: number, seconds: number): Uint8Array {
  const header = Buffer.alloc(block)
  const { name, prefix } = split(entry.kind === 'folder' ? `${entry.path}/` : entry.path)
  const octal = (value: number, at: number, digits: number) =>
    header.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1')
  header.write(name, 0, 'utf8')
  octal(entry.mode, 100, 7)
  octal(entry.owner ?? 0, 108, 7)
  octal(entry.owner ?? 0, 116, 7)
  octal(size, 124, 11)
  octal(seconds, 136, 11)
  header.write(kinds[entry.kind], 156, 'latin1')
  if (entry.kind === 'link') header.write(fitting(entry.to, 100), 157, 'utf8')
  header.write('ustar\x0000', 257, 'latin1')
  header.write(prefix, 345, 'utf8')
  // The checksum is computed with spaces in its own field.
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

/** Splits a path over 100 bytes at a slash into the `prefix` and `name` fields. */
function split(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  const at = path.lastIndexOf('/', path.length - 2)
  return { name: fitting(path.slice(at + 1), 100), prefix: fitting(path.slice(0, Math.max(0, at)), 155) }
}

function fitting(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) > maxBytes) throw new RangeError(`${text} is too long for an archive`)
  return text
}
