import { emptyHead, type Sha256 } from './chain.ts'

/** Running digest over lines, in batches of a thousand. */
export class LineDigest {
  lines = 0
  private digest = emptyHead
  private waiting: string[] = []

  constructor(private readonly sha256: Sha256) {}

  add(line: string): void {
    this.lines += 1
    this.waiting.push(line)
    if (this.waiting.length === 1000) this.flush()
  }

  finish(): Uint8Array {
    if (this.waiting.length > 0) this.flush()
    return this.digest
  }

  private flush(): void {
    this.digest = this.sha256(this.digest.toHex() + this.waiting.join(''))
    this.waiting = []
  }
}
