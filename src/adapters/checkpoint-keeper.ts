import { open } from 'node:fs/promises'

/** A checkpoint as it is kept outside of the database. */
export type KeptCheckpoint = { readonly number: number; readonly hash: string; readonly madeAt: string }

const answerWithinMs = 10_000
const maxAttempts = 3

/** Appends checkpoints to a file, synced to disk, and POSTs them to a URL, up to 3 times. Fails if either fails. */
export function createCheckpointKeeper(to: { readonly file: string | undefined; readonly url: string | undefined }) {
  return async function keep(checkpoint: KeptCheckpoint): Promise<void> {
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
      throw new Error(`the checkpoint URL answered ${response.status}`)
    } catch (error) {
      if (attempt >= maxAttempts) throw error
      await Bun.sleep(100 * attempt)
    }
  }
}
