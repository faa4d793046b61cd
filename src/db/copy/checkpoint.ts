import type { Reader } from '../transaction.ts'

/** The newest checkpoint, which says how far the books had come. */
export async function newestCheckpoint(reader: Reader): Promise<{ number: number; hash: string } | null> {
  const row = await reader.first<{ number: bigint; hash: Uint8Array }>(
    'SELECT number, hash FROM checkpoints ORDER BY number DESC LIMIT 1',
  )
  return row ? { number: Number(row.number), hash: Buffer.from(row.hash).toString('hex') } : null
}
