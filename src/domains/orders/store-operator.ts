import type { Tx } from '../../db/transaction.ts'

type Kept = { readonly request: string; readonly answer: string }

/** Takes a key for the first time, or tells what was done under it. Whoever has it at the same moment is waited for. */
export async function takeKey(tx: Tx, key: string, request: string, nowMs: number): Promise<Kept | undefined> {
  const taken = await tx.run(
    `INSERT INTO operator_answers (key, request, answer, at) VALUES ($1, $2, '', $3) ON CONFLICT (key) DO NOTHING`,
    [key, request, nowMs],
  )
  if (taken === 1) return undefined
  return tx.first<Kept>('SELECT request, answer FROM operator_answers WHERE key = $1', [key])
}

export function writeAnswer(tx: Tx, key: string, answer: string): void {
  tx.send('UPDATE operator_answers SET answer = $2 WHERE key = $1', [key, answer])
}
