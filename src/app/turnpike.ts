import { perform } from './perform.ts'

/**
 * Ends when the reader has taken all of it. A pipe holds 64 KiB, and a process that ends takes with it what it has not
 * handed over. A reader that has seen enough, as `head` has, is no trouble of ours.
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
