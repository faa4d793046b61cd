import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCheckpointKeeper } from './checkpoint-keeper.ts'

const checkpoint = (number: number) => ({ number, hash: 'ab'.repeat(32), madeAt: '2026-01-15T12:00:00.000Z' })

test('the checkpoint keeper appends each checkpoint to the file as a JSON line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-'))
  const file = join(folder, 'checkpoints.log')
  const keep = createCheckpointKeeper({ file, url: undefined })
  await keep(checkpoint(1))
  await keep(checkpoint(2))
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(
    [1, 2].map((number) => ({ number, hash: 'ab'.repeat(32), made_at: '2026-01-15T12:00:00.000Z' })),
  )
  rmSync(folder, { recursive: true })
})

test('the checkpoint keeper repeats a POST that is answered 503, and fails after 3 attempts', async () => {
  const received: unknown[] = []
  let refusals = 1
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push([request.method, request.headers.get('content-type'), await request.json()])
      refusals -= 1
      return new Response('', { status: refusals >= 0 ? 503 : 204 })
    },
  })
  const keep = createCheckpointKeeper({ file: undefined, url: server.url.href })
  await keep(checkpoint(7))
  const sent = { number: 7, hash: 'ab'.repeat(32), made_at: '2026-01-15T12:00:00.000Z' }
  expect(received).toEqual([
    ['POST', 'application/json', sent],
    ['POST', 'application/json', sent],
  ])
  refusals = 3
  const failure = await keep(checkpoint(8)).catch((error: unknown) => error)
  expect(String(failure)).toContain('answered 503')
  expect(received).toHaveLength(5)
  await server.stop(true)
})

test('the checkpoint keeper fails if the file cannot be written, and sends the POST all the same', async () => {
  let calls = 0
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      calls += 1
      return new Response('')
    },
  })
  const keep = createCheckpointKeeper({ file: join(tmpdir(), 'no such folder', 'file'), url: server.url.href })
  expect(await keep(checkpoint(1)).catch((error: unknown) => error)).toBeInstanceOf(Error)
  expect(calls).toBe(1)
  await server.stop(true)
})
