import { expect, test } from 'bun:test'

test('loading the commands makes no list format and no country names of Intl, which take 5 to 30 ms each', async () => {
  const worker = new Worker(new URL('../../test/harness/formats-worker.ts', import.meta.url).href)
  const made = await new Promise((resolve, reject) => {
    worker.addEventListener('message', ({ data }) => resolve(data))
    worker.addEventListener('error', ({ message }) => reject(new Error(message)))
  })
  worker.terminate()
  expect(made).toEqual([])
})
