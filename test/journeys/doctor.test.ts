import { afterAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Advice } from '../../src/app/doctor/advice.ts'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import { HandClock } from '../harness/clock.ts'
import { openTestDatabase, prepareFolder } from '../harness/database.ts'
import { freePort } from '../harness/gateway.ts'
import { longTest } from '../harness/long-test.ts'
import { runWithOwnNames } from '../harness/own-names.ts'
import { endStarted, runCommand, runTurnpike, startTurnpike, untilTrue } from '../harness/turnpike.ts'
import { wire } from '../harness/wired.ts'

afterAll(endStarted)

type Report = { exit: number; ok: boolean; roles: readonly string[]; advice: readonly Advice[] }

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
  let well = await runDoctor(env, runTurnpike)
  const wrongButDisk = () => wrongIn(well).filter((of) => !of.startsWith('disk'))
  // On a busy machine the gateway may have reported more than 10 s ago.
  await untilTrue(async () => {
    if (wrongButDisk().length > 0) well = await runDoctor(env, runTurnpike)
    return wrongButDisk().length === 0
  })
  expect(wrongButDisk()).toEqual([])
  expect(well.advice.map((each) => each.reason)).toContain('link_answers')
  if (!well.roles.includes('vpn-node')) expect(JSON.stringify(well)).not.toMatch(/WireGuard|VPN node/)
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
  await endStarted()
  chmodSync(env.TURNPIKE_DATA, 0o700)
  const stopped = await runDoctor(env)
  expect(stopped).toMatchObject({ exit: 1, ok: false, roles: ['shop', 'gateway'] })
  expect(wrongIn(stopped)).toContain(`port ${env.TURNPIKE_PORT} of the shop`)
  expect(wrongIn(stopped)).toContain(`port ${env.TURNPIKE_GATEWAY_PORT} of the gateway`)
  expect(stopped.advice.find((each) => each.reason === 'ranges_unserved')?.todo).toContain('turnpike stock ranges')
  writeFileSync(join(env.TURNPIKE_DATA, 'secret.key'), 'nonsense')
  expect((await runDoctor(env)).exit).toBe(1)
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
  const { fleet } = wire(db, new HandClock(Date.now() - 50_000))
  const { id } = await db.transact((tx) => fleet.add(tx, { kind: 'vpn', name: 'quiet', location: 'local' }))
  await fleet.join((await fleet.issueKey('quiet')).text, `tpn_${'0'.repeat(64)}`, 'test')
  await fleet.seen(id, { version: 'test' })
  expect(wrongIn(await runDoctor(env))).toContain('vpn quiet')
  const { items } = JSON.parse((await runCommand(['node', 'list', '--json'], env)).out)
  expect(items).toMatchObject([{ name: 'quiet', state: 'offline' }])
  const name = new URL(testDatabase.address).pathname.slice(1)
  await db.transact((tx) => tx.run(`ALTER DATABASE ${name} SET synchronous_commit = off`))
  const advice = (await runDoctor(env)).advice.find((each) => each.of === 'database settings')
  expect(advice).toMatchObject({ state: 'wrong', todo: expect.stringContaining('synchronous_commit') })
  await opened.close()
  const away = await runDoctor({ ...env, TURNPIKE_DATABASE_URL: `postgres://nobody:word@127.0.0.1:${freePort()}/x` })
  expect(wrongIn(away)).toContain('database')
  expect(JSON.stringify(away)).not.toContain('word@')
})

test('doctor knows a backup by command in any folder, and calls a production shop without prices wrong', async () => {
  const { db, testDatabase } = await openTestDatabase('sqlite')
  const services = wire(db)
  await db.transact((tx) => services.customers.decideMode(tx, 'production'))
  await db.close()
  const env = {
    TURNPIKE_DATA: testDatabase.folder,
    TURNPIKE_SECRET_KEY: '00'.repeat(32),
    TURNPIKE_PORT: String(freePort()),
    TURNPIKE_METRICS_LISTEN: '',
  }
  const scheduled = { ...env, TURNPIKE_BACKUP_FOLDER: join(testDatabase.folder, 'backups') }
  const adviceOf = (report: Report, of: string) => report.advice.find((each) => each.of === of)
  const before = await runDoctor(scheduled)
  expect(adviceOf(before, 'backups')).toMatchObject({ state: 'wrong', reason: 'backups_none' })
  expect(adviceOf(before, 'prices')).toMatchObject({
    state: 'wrong',
    says: expect.stringContaining('nothing can be bought'),
    todo: expect.stringContaining('turnpike catalog apply'),
  })
  const made = join(testDatabase.folder, 'elsewhere')
  expect((await runCommand(['backup', made], env)).exit).toBe(0)
  const says = expect.stringContaining(`0 hours ago by command into ${made}`)
  expect(adviceOf(await runDoctor(env), 'backups')).toMatchObject({ state: 'ok', says })
  expect(adviceOf(await runDoctor(scheduled), 'backups')).toMatchObject({ state: 'note', says })
  await testDatabase.remove()
})

test('doctor exits with 1 on a machine where no role has run, and answers in Russian for LC_ALL=ru_RU.UTF-8', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
  const empty = await runDoctor({ TURNPIKE_DATA: folder })
  expect(empty).toMatchObject({ exit: 1, ok: false, roles: [] })
  expect(empty.advice.find((each) => each.reason === 'role_none')?.todo).toContain('turnpike up')
  const { exit, out } = await runTurnpike(['doctor'], { TURNPIKE_DATA: folder, LC_ALL: 'ru_RU.UTF-8' })
  expect(exit).toBe(1)
  expect(out).toContain(
    `WRONG  роль: ни магазин, ни шлюз, ни узел VPN здесь не запускались: в ${folder} нет их данных.`,
  )
  expect(out).toMatch(/Требуют внимания: \d+\.\n$/)
  rmSync(folder, { recursive: true, force: true })
})

test('doctor --role gateway reports a shop that is away, that refuses the node, and whose clock differs by an hour', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
  const shop = createServer((_, response) => {
    response.sendDate = false
    response.writeHead(401, { date: new Date(Date.now() - 3_600_000).toUTCString() }).end('{}')
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  const address = shop.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const doctor = async (): Promise<Report> => {
    const env = { TURNPIKE_DATA: folder, TURNPIKE_SHOP_URL: `http://127.0.0.1:${port}`, TURNPIKE_METRICS_LISTEN: '' }
    const { exit, out } = await runCommand(['doctor', '--role', 'gateway', '--json'], env)
    return { exit, ...(JSON.parse(out) as Omit<Report, 'exit'>) }
  }
  const reasonsOf = (report: Report) =>
    report.advice.filter((each) => each.state === 'wrong').map((each) => each.reason as string)
  const unjoined = await doctor()
  expect(unjoined).toMatchObject({ exit: 1, roles: ['gateway'] })
  expect(reasonsOf(unjoined)).toEqual(
    expect.arrayContaining(['role_unstarted', 'node_unjoined', 'clock_differs_from_shop', 'port_free']),
  )
  const clock = unjoined.advice.find((each) => each.reason === 'clock_differs_from_shop')
  expect(clock?.says).toMatch(/^it is 3(?:599|600|601) s ahead of the clock of the shop$/)
  mkdirSync(join(folder, 'gateway'))
  const secret = `tpn_${'ab'.repeat(32)}`
  const identity = { node: 'nod_01k73sf8000000000000000000', name: 'gate-1', kind: 'gateway', secret }
  writeFileSync(join(folder, 'gateway/node.json'), JSON.stringify(identity))
  const refused = await doctor()
  expect(reasonsOf(refused)).toContain('link_refused')
  await new Promise((resolve) => shop.close(resolve))
  const away = await doctor()
  expect(reasonsOf(away)).toContain('link_broken')
  expect(JSON.stringify([refused, away])).not.toContain('abab')
  expect((await runCommand(['doctor', '--role', 'till'], {})).exit).toBe(2)
  rmSync(folder, { recursive: true, force: true })
})

longTest('doctor of a gateway passes a name server that answers, and fails one that refuses or is silent', async () => {
  const failed = (server: string, error: string) => ['wrong', 'dns_fails', { servers: [server], error }]
  expect(await runWithOwnNames('doctor-dns-worker.ts')).toEqual([
    ['ok', 'dns_answers', { servers: ['127.0.0.1'] }],
    failed('127.0.0.3', 'ESERVFAIL'),
    failed('127.0.0.4', expect.stringMatching(/^ETIMEOUT$|^no answer in time$/)),
  ])
})

test('doctor knows the TLS port of a gateway with a site by its certificate, and notes a host that it lacks', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'))
  const [own, other] = await Promise.all([makeCertificate('own'), makeCertificate('other')])
  const files = putCertificate(own)
  const port = freePort()
  const env = { ...files.env, TURNPIKE_DATA: folder, TURNPIKE_GATEWAY_TLS_PORT: String(port) }
  const adviceWith = async (host: string) => {
    const { out } = await runCommand(['doctor', '--role', 'gateway', '--json'], { ...env, TURNPIKE_GATEWAY_HOST: host })
    return (JSON.parse(out) as Report).advice
  }
  const reasonOfPort = async () => {
    const found = (await adviceWith('shop.test')).find((each) => each.of === `port ${port} of the gateway over TLS`)
    if (found?.reason !== 'port_ours') expect(found?.says).toContain(`at 127.0.0.1:${port}`)
    return found?.reason
  }
  const reasonWith = async (certificate: Made) => {
    const server = Bun.serve({ hostname: '127.0.0.1', port, tls: certificate, fetch: () => new Response('a site') })
    const reason = await reasonOfPort()
    await server.stop(true)
    return reason
  }
  expect(await reasonOfPort()).toBe('port_free')
  expect(await reasonWith(own)).toBe('port_ours')
  expect(await reasonWith(other)).toBe('port_taken')
  const lacking = async (host: string) =>
    (await adviceWith(host)).filter((each) => each.reason === 'file_lacks_host').map((each) => each.state)
  expect([await lacking('shop.test'), await lacking('gw.test')]).toEqual([[], ['note']])
  files.remove()
  rmSync(folder, { recursive: true })
})
