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

type Report = { exit: number; ok: boolean; advice: readonly Advice[] }

async function runDoctor(env: Record<string, string>, run = runCommand): Promise<Report> {
  const { exit, out, err } = await run(['doctor', '--json'], env)
  if (out === '') throw new Error(err)
  return { exit, ...(JSON.parse(out) as Omit<Report, 'exit'>) }
}

const wrongIn = (report: Report): string[] =>
  report.advice.filter((each) => each.state === 'wrong').map((each) => each.of)

test('doctor finds a running sandbox healthy, names each fault planted in it, and changes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
  const env = {
    TURNPIKE_DATA: prepareFolder(join(folder, 'data'), 'stocked'),
    TURNPIKE_PORT: String(freePort()),
    TURNPIKE_GATEWAY_PORT: String(freePort()),
    TURNPIKE_METRICS_LISTEN: `127.0.0.1:${freePort()}`,
  }
  const up = startTurnpike(['up'], env)
  await up.until(/Turnpike is open at/)
  const well = await runDoctor(env, runTurnpike)
  expect(wrongIn(well).filter((of) => !of.startsWith('disk'))).toEqual([])
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
  const forwarded = { headers: { 'X-Forwarded-For': '203.0.113.7' } }
  await fetch(`http://127.0.0.1:${env.TURNPIKE_PORT}/healthz`, forwarded)
  expect(wrongIn(await runDoctor(env))).toContain('trusted proxies')
  chmodSync(env.TURNPIKE_DATA, 0o755)
  const other = await runDoctor({
    ...env,
    TURNPIKE_SECRET_KEY: 'ab'.repeat(32),
    TURNPIKE_GATEWAY_HOST: 'no-such-name.invalid',
    TURNPIKE_BACKUP_FOLDER: join(folder, 'data'),
  })
  expect(other).toMatchObject({ exit: 1, ok: false })
  expect(wrongIn(other)).toContain(`rights of ${env.TURNPIKE_DATA}`)
  expect(wrongIn(other)).toContain('secret key')
  expect(wrongIn(other)).toContain('name no-such-name.invalid')
  expect(JSON.stringify(other)).not.toContain('abab')
  const otherServer = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('hello') })
  expect(wrongIn(await runDoctor({ ...env, TURNPIKE_PORT: String(otherServer.port) }))).toContain(
    `port ${otherServer.port} of the shop`,
  )
  await otherServer.stop(true)
  writeFileSync(join(env.TURNPIKE_DATA, 'secret.key'), 'nonsense')
  expect((await runDoctor(env)).exit).toBe(1)
  await endStarted()
  rmSync(folder, { recursive: true, force: true })
})

test('doctor checks PostgreSQL’s settings and the nodes, and reports a database that does not answer', async () => {
  const opened = await openTestDatabase('postgres')
  const { db, testDatabase } = opened
  const services = wire(db)
  await db.transact((tx) => services.customers.decideMode(tx, 'production'))
  const env = {
    TURNPIKE_DATA: testDatabase.folder,
    TURNPIKE_DATABASE_URL: testDatabase.address,
    TURNPIKE_SECRET_KEY: '00'.repeat(32),
    TURNPIKE_PORT: String(freePort()),
    TURNPIKE_METRICS_LISTEN: '',
  }
  const withoutNodes = await runDoctor(env)
  expect(withoutNodes.exit).toBe(1)
  expect(wrongIn(withoutNodes)).toContain('nodes')
  expect(wrongIn(withoutNodes)).toContain('reach')
  const name = new URL(testDatabase.address).pathname.slice(1)
  await db.transact((tx) => tx.run(`ALTER DATABASE ${name} SET synchronous_commit = off`))
  const advice = (await runDoctor(env)).advice.find((each) => each.of === 'database settings')
  expect(advice).toMatchObject({ state: 'wrong', todo: expect.stringContaining('synchronous_commit') })
  await opened.close()
  const away = await runDoctor({ ...env, TURNPIKE_DATABASE_URL: `postgres://nobody:word@127.0.0.1:${freePort()}/x` })
  expect(wrongIn(away)).toContain('database')
  expect(JSON.stringify(away)).not.toContain('word@')
})
