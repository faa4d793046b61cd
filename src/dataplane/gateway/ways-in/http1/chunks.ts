import { isForbiddenTrailer, LineReader, readField, toLatin1 } from './head.ts'

type ChunkOptions = {
  /** Emit chunks again, or only their bytes. */
  readonly reencode: boolean
  /** For responses: tolerate blanks after a size and drop any trailer. */
  readonly mends: boolean
}

/** Up to 4 GiB per chunk. */
const maxSizeDigits = 8
/** RFC 9112, 7.1.1: limits of a size line and of all extensions of one body. */
const maxSizeLine = 256
const maxExtensionBytes = 16 * 1024
const maxTrailerBytes = 8 * 1024
const crlf = toLatin1('\r\n')
const lastChunk = toLatin1('0\r\n\r\n')

/** Parses a chunked body (RFC 9112, 7.1) without buffering. Extensions and trailers are checked and dropped. */
export class ChunkReader {
  state: 'size' | 'bytes' | 'bytes_end' | 'trailer' | 'done' | 'fault' = 'size'
  problem = ''
  private readonly lines = new LineReader()
  private left = 0
  private extensionBytes = 0
  private trailerBytes = 0

  constructor(private readonly options: ChunkOptions) {}

  /** Appends output to `out`; returns the position where it stopped. */
  read(chunk: Uint8Array, from: number, out: Uint8Array[]): number {
    let at = from
    while (at < chunk.length && this.state !== 'done' && this.state !== 'fault') {
      at = this.state === 'bytes' ? this.passBytes(chunk, at, out) : this.readLine(chunk, at, out)
    }
    return at
  }

  private passBytes(chunk: Uint8Array, from: number, out: Uint8Array[]): number {
    const to = Math.min(chunk.length, from + this.left)
    out.push(chunk.subarray(from, to))
    this.left -= to - from
    if (this.left === 0) this.state = 'bytes_end'
    return to
  }

  private readLine(chunk: Uint8Array, from: number, out: Uint8Array[]): number {
    const progress = this.lines.read(chunk, from, this.maxForLine())
    if (progress === 'too_long' || progress === 'malformed') return this.fail(from, this.complaint())
    if (progress === 'line') this.takeLine(this.lines.text, out)
    return this.lines.next
  }

  private maxForLine(): number {
    if (this.state === 'size') return maxSizeLine
    // After the trailer limit, only the final empty line fits.
    return this.state === 'trailer' ? maxTrailerBytes - this.trailerBytes : 0
  }

  private complaint(): string {
    if (this.state === 'size') return 'malformed chunk size'
    return this.state === 'trailer' ? 'malformed trailer' : 'chunk longer than its size'
  }

  private takeLine(line: string, out: Uint8Array[]): void {
    if (this.state === 'size') this.takeSize(line, out)
    else if (this.state === 'trailer') this.takeTrailer(line, out)
    else {
      if (this.options.reencode) out.push(crlf)
      this.state = 'size'
    }
  }

  /** Rejects `0x10`, `+5`, `-1`, ` 5` and `5 `. */
  private takeSize(line: string, out: Uint8Array[]): void {
    const pattern = this.options.mends ? /^([0-9a-fA-F]+)[ \t]*(;.*)?$/ : /^([0-9a-fA-F]+)(?:[ \t]*(;.*))?$/
    const [, digits = '', extension = ''] = pattern.exec(line) ?? []
    this.extensionBytes += extension.length
    if (digits === '' || digits.length > maxSizeDigits || this.extensionBytes > maxExtensionBytes) {
      this.fail(0, this.complaint())
      return
    }
    this.left = Number.parseInt(digits, 16)
    this.state = this.left === 0 ? 'trailer' : 'bytes'
    if (this.left > 0 && this.options.reencode) out.push(toLatin1(`${this.left.toString(16)}\r\n`))
  }

  private takeTrailer(line: string, out: Uint8Array[]): void {
    if (line === '') {
      if (this.options.reencode) out.push(lastChunk)
      this.state = 'done'
      return
    }
    this.trailerBytes += line.length + 2
    const field = readField(line)
    const isWrong = !field || (isForbiddenTrailer(field.name) && !this.options.mends)
    if (isWrong) this.fail(0, this.complaint())
  }

  private fail(at: number, problem: string): number {
    this.state = 'fault'
    this.problem = problem
    return at
  }
}
