/** Plaintext of a record (RFC 8446, 5.1). */
const maxInRecord = 16_384
/** Beyond so many, neighbours are joined: acknowledged bytes are then known later, never too early. */
const maxMarks = 256

/** One write: where its records begin and end in the ciphertext, and where its bytes end in the plaintext. */
type Mark = { readonly from: number; readonly end: number; readonly plainEnd: number }

/**
 * Maps a position in the ciphertext that a client has acknowledged to the plaintext that it can read: whole records.
 * Bytes of the handshake, session tickets, KeyUpdate and close_notify lie outside the marks and deliver nothing.
 */
export class DeliveryMarks {
  private marks: Mark[] = []
  private plain: number

  /** All before this position counts as delivered. */
  constructor(plain: number) {
    this.plain = plain
  }

  note(from: number, end: number, plainEnd: number): void {
    if (this.marks.length >= maxMarks) this.join()
    this.marks.push({ from, end, plainEnd })
  }

  /** Plaintext delivered once the ciphertext is acknowledged up to here. Earlier marks are forgotten. */
  confirm(acknowledged: number): number {
    let count = 0
    for (const { end, plainEnd } of this.marks) {
      if (end > acknowledged) break
      this.plain = plainEnd
      count += 1
    }
    if (count > 0) this.marks = this.marks.slice(count)
    return this.reach(acknowledged)
  }

  /** As confirm(), but changes nothing. */
  reach(position: number): number {
    let { plain } = this
    for (const { from, end, plainEnd } of this.marks) {
      if (end > position) return plain + wholeRecords(position - from, end - from, plainEnd - plain)
      plain = plainEnd
    }
    return plain
  }

  get size(): number {
    return this.marks.length
  }

  private join(): void {
    const joined: Mark[] = []
    for (let index = 0; index < this.marks.length; index += 2) {
      const [first, second] = [this.marks[index], this.marks[index + 1]]
      // The records of two writes have unknown lengths: a mark that begins at its end counts as a whole only.
      if (first) joined.push(second ? { ...second, from: second.end } : first)
    }
    this.marks = joined
  }
}

/** Plaintext in the whole records among the first bytes of a write. */
function wholeRecords(position: number, cipherBytes: number, plainBytes: number): number {
  const records = Math.ceil(plainBytes / maxInRecord)
  const overhead = (cipherBytes - plainBytes) / records
  if (position <= 0 || records < 2 || !overheads.has(overhead)) return 0
  return Math.floor(position / (maxInRecord + overhead)) * maxInRecord
}

/**
 * Header, nonce, tag and type of a record, in TLS 1.3 and 1.2. A write that carries more, such as the answer to a
 * KeyUpdate, or records of another length (RFC 6066, 4), counts as a whole only.
 */
const overheads: ReadonlySet<number> = new Set([22, 29])
