import { perform } from './perform.ts'

/**
 * Resolves when the reader has taken the text: a pipe holds 64 KiB, and exiting earlier loses the rest. EPIPE is
 * ignored.
 */
function write(text: string): Promise<void> {
  if (text === '') return Promise.resolve()
  return new Promise((resolve, reject) => {
    process.stdout.once('error', () => {})
    process.stdout.write(text, (error) => {
      if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') reject(error)
      else resolve()
    })
  })
}

const err = (text: string): void => void process.stderr.write(text)
process.exit(await perform(process.argv.slice(2), { out: write, err }))
