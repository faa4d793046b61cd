import { perform } from './perform.ts'

/** Resolves when the reader has taken all: a pipe holds 64 KiB, and an early exit loses the rest. Ignores EPIPE. */
function write(text: string): Promise<void> {
  if (text === '') return Promise.resolve()
  return new Promise((resolve, reject) => {
    process.stdout.once('error', () => {})
    process.stdout.write(text, (error) => {
      if (error && !('code' in error && error.code === 'EPIPE')) reject(error)
      else resolve()
    })
  })
}

const err = (text: string): void => void process.stderr.write(text)
process.exit(await perform(process.argv.slice(2), { out: write, err }))
