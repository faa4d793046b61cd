import { afterAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Advice } from '../../src/app/doctor/advice.ts'
import { openTestDatabase, prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { endStarted, runCommand, runTurnpike, startTurnpike } from '../harness/turnpike.ts'
import { wire } from '../harness/wired.ts'

afterAll(endStarted)

type Told = { exit: number; ok: boolean; advice: readonly Advice[] }

async function ask(env: Record<string, string>, run = runCommand): Promise<Told> {
  const { exit, out, err } = await run(['doctor', '--json'], env)
  if (out === '') throw new Error(err)
  return { exit, ...(JSON.parse(out) as Omit<Told, 'exit'>) }
}

const wrongs = (told: Told): string[] => told.advice.filter((each) => each.state === 'wrong').map((each) => each.of)

test('a doctor finds a running sandbox well, names what is wrong with it, and changes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
  const env = {
    TURNPIKE_DATA: prepareFolder(join(folder, 'data'), 'stocked'),
    TURNPIKE_PORT: String(freePort()),
    TURNPIKE_GATEWAY_PORT: String(freePort()),
    TURNPIKE_METRICS_LISTEN: `127.0.0.1:${freePort()}`,
  }
  const up = startTurnpike(['up'], env)
  await up.until(/Turnpike is open at/)
  const well = await ask(env, runTurnpike)
  expect(wrongs(well).filter((of) => !of.startsWith('disk'))).toEqual([])
  const states = new Map(well.advice.map((each) => [each.of, each.state]))
  for (const of of [
    `port ${env.TURNPIKE_PORT} of the shop`,
    `port ${env.TURNPIKE_GATEWAY_PORT} of the gateway`,
    'gateway local-gateway',
    'secret key',
    'schema',
  ]) {
    expect([of, states.get(of)]).toEqual([of, 'ok'])
  }
  const through = { headers: { 'X-Forwarded-For': '203.0.113.7' } }
  await fetch(`http://127.0.0.1:${env.TURNPIKE_PORT}/healthz`, through)
  expect(wrongs(await ask(env))).toContain('trusted proxies')
  chmodSync(env.TURNPIKE_DATA, 0o755)
  const other = await ask({
    ...env,
    TURNPIKE_SECRET_KEY: 'ab'.repeat(32),
    TURNPIKE_GATEWAY_HOST: 'no-such-name.invalid',
    TURNPIKE_BACKUP_FOLDER: join(folder, 'data'),
  })
  expect(other).toMatchObject({ exit: 1, ok: false })
  expect(wrongs(other)).toContain(`rights of ${env.TURNPIKE_DATA}`)
  expect(wrongs(other)).toContain('secret key')
  expect(wrongs(other)).toContain('name no-such-name.invalid')
  expect(JSON.stringify(other)).not.toContain('abab')
  const stranger = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('hello') })
  expect(wrongs(await ask({ ...env, TURNPIKE_PORT: String(stranger.port) }))).toContain(
    `port ${stranger.port} of the shop`,
  )
  await stranger.stop(true)
  writeFileSync(join(env.TURNPIKE_DATA, 'secret.key'), 'nonsense')
  expect((await ask(env)).exit).toBe(1)
  await endStarted()
  rmSync(folder, { recursive: true, force: true })
})

test('a doctor looks at PostgreSQL’s settings, at the nodes that it knows and at a server that is away', async () => {
  const opened = await openTestDatabase('postgres')
  const { db, place } = opened
  const services = wire(db)
  await db.transact((tx) => services.customers.decideMode(tx, 'production'))
  const env = {
    TURNPIKE_DATA: place.folder,
    TURNPIKE_DATABASE_URL: place.address,
    TURNPIKE_SECRET_KEY: '00'.repeat(32),
    TURNPIKE_PORT: String(freePort()),
    TURNPIKE_METRICS_LISTEN: '',
  }
  const lacking = await ask(env)
  expect(lacking.exit).toBe(1)
  expect(wrongs(lacking)).toContain('nodes')
  expect(wrongs(lacking)).toContain('reach')
  const name = new URL(place.address).pathname.slice(1)
  await db.transact((tx) => tx.run(`ALTER DATABASE ${name} SET synchronous_commit = off`))
  const careless = (await ask(env)).advice.find((each) => each.of === 'database settings')
  expect(careless).toMatchObject({ state: 'wrong', todo: expect.stringContaining('synchronous_commit') })
  await opened.close()
  const away = await ask({ ...env, TURNPIKE_DATABASE_URL: `postgres://nobody:word@127.0.0.1:${freePort()}/x` })
  expect(wrongs(away)).toContain('database')
  expect(JSON.stringify(away)).not.toContain('word@')
})
