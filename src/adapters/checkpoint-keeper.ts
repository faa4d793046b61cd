import { open } from 'node:fs/promises'

/** A checkpoint as it is kept where the database cannot reach: its number, its hash and when it was made. */
export type Kept = { readonly number: number; readonly hash: string; readonly madeAt: string }

const answerWithinMs = 10_000
const mostAttempts = 3

/**
 * Writes checkpoints down elsewhere: a line of a file, which reaches the disk before this returns, and a POST to a URL,
 * tried three times. Fails if either did; the next checkpoint covers what this one does.
 */
export function createCheckpointKeeper(to: { readonly file: string | undefined; readonly url: string | undefined }) {
  return async function keep(checkpoint: Kept): Promise<void> {
    const text = JSON.stringify({ number: checkpoint.number, hash: checkpoint.hash, made_at: checkpoint.madeAt })
    const outcomes = await Promise.allSettled([
      to.file === undefined ? undefined : append(to.file, text),
      to.url === undefined ? undefined : post(to.url, text),
    ])
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failed) throw failed.reason as Error
  }
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.appendFile(`${text}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function post(url: string, body: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const headers = { 'content-type': 'application/json' }
      const signal = AbortSignal.timeout(answerWithinMs)
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
      if (response.ok) return
      throw new Error(`whoever keeps checkpoints answered ${response.status}`)
    } catch (error) {
      if (attempt >= mostAttempts) throw error
      await Bun.sleep(100 * attempt)
    }
  }
}
