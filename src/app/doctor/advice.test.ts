import { describe, expect, test } from 'bun:test'
import { roomWithin } from '../../dataplane/gateway/access/limits.ts'
import {
  type Advice,
  adviseBackups,
  adviseCertificate,
  adviseClock,
  adviseDisk,
  adviseExits,
  adviseFiles,
  adviseHistory,
  adviseImport,
  adviseLink,
  adviseMode,
  adviseNode,
  adviseOwnCertificate,
  advisePath,
  advisePostgres,
  adviseProxies,
  adviseRanges,
  adviseReplication,
  adviseShopClock,
  adviseUnproven,
} from './advice.ts'
import { terminalLanguageOf, toSummary, translate } from './messages.ts'
import { subject } from './subjects.ts'

const nowMs = Date.UTC(2026, 5, 1)
const hourMs = 3_600_000
const server = {
  version: 150_004,
  encoding: 'UTF8',
  fsync: true,
  fullPages: true,
  waitsForDisk: true,
  connections: 100,
  isReadable: false,
}
const node = {
  name: 'gw',
  kind: 'gateway' as const,
  state: 'open' as const,
  joinedAt: 1,
  lastSeenAt: nowMs - 1000,
  version: '1.0.0',
  health: { lagMs: 0, isStopping: false },
}

const lasting = (days: number) => ({
  names: ['shop.example.net'],
  beginsAt: nowMs - 90 * 24 * hourMs,
  endsAt: nowMs + days * 24 * hourMs,
})

const reasons = (advice: readonly Advice[]) => advice.map(({ state, reason }) => [state, reason])

describe('the doctor', () => {
  const byCommand = (hours: number) => ({ folder: '/elsewhere', at: nowMs - hours * hourMs })

  test('the doctor reports every check of a healthy machine as ok, without advice', () => {
    for (const advice of [
      adviseDisk(subject.dataDisk, { free: 5e10, size: 1e11 }),
      adviseFiles(100_000, 20_000, false),
      adviseFiles(Number.POSITIVE_INFINITY, 20_000, true),
      adviseClock(300, true),
      adviseMode('/data', 0o40700, true),
      ...advisePostgres(server),
      adviseNode({ ...node, lastSeenAt: nowMs - 10_000 }, nowMs, '1.0.0'),
      adviseNode({ ...node, kind: 'vpn', lastSeenAt: nowMs - 30_000 }, nowMs, '1.0.0'),
      adviseBackups('/backups', nowMs - hourMs, 24 * hourMs, nowMs),
      adviseBackups(undefined, undefined, 24 * hourMs, nowMs, byCommand(47)),
      adviseCertificate('shop.example.net', nowMs + 60 * 24 * hourMs, '', nowMs),
      adviseCertificate('shop.example.net', nowMs + 3 * 24 * hourMs, '', nowMs, 6 * 24 * hourMs),
      adviseOwnCertificate('tls.crt', lasting(60), 0, nowMs),
    ]) {
      expect(advice).toMatchObject({ state: 'ok', todo: '' })
    }
  })

  test('the doctor notes a readable connection to a PostgreSQL whose settings are wrong too', () => {
    const advice = advisePostgres({ ...server, fsync: false, isReadable: true })
    expect(reasons(advice)).toEqual([
      ['wrong', 'postgres_wrong'],
      ['note', 'postgres_readable'],
    ])
  })

  test('the doctor reports each problem as wrong, with advice', () => {
    for (const advice of [
      adviseDisk(subject.dataDisk, { free: 5e8, size: 1e9 }),
      adviseDisk(subject.dataDisk, { free: 5e9, size: 1e11 }),
      adviseClock(-5000, true),
      adviseMode('/data', 0o40755, true),
      adviseMode('/data', 0o40700, false),
      ...advisePostgres({ ...server, version: 120_000 }),
      ...advisePostgres({ ...server, encoding: 'SQL_ASCII' }),
      ...advisePostgres({ ...server, fsync: false }),
      ...advisePostgres({ ...server, fullPages: false }),
      ...advisePostgres({ ...server, waitsForDisk: false }),
      ...advisePostgres({ ...server, connections: 10 }),
      adviseNode({ ...node, lastSeenAt: nowMs - 10_001 }, nowMs, '1.0.0'),
      adviseNode({ ...node, kind: 'vpn', lastSeenAt: nowMs - 30_001 }, nowMs, '1.0.0'),
      adviseNode({ ...node, health: { lagMs: 0, isStopping: true } }, nowMs, '1.0.0'),
      adviseNode({ ...node, health: { lagMs: 20_000, isStopping: false } }, nowMs, '1.0.0'),
      adviseBackups('/backups', undefined, 24 * hourMs, nowMs),
      adviseBackups('/backups', nowMs - 49 * hourMs, 24 * hourMs, nowMs),
      adviseBackups('/backups', undefined, 24 * hourMs, nowMs, byCommand(49)),
      adviseCertificate('shop.example.net', nowMs + 24 * hourMs, '', nowMs),
      adviseOwnCertificate('tls.crt', lasting(-1), 0, nowMs),
      adviseOwnCertificate('tls.crt', lasting(3), 2, nowMs),
      adviseOwnCertificate('tls.crt', 'there is no certificate in PEM form', 0, nowMs),
      adviseCertificate('shop.example.net', nowMs + 60 * 24 * hourMs, 'self-signed', nowMs),
      adviseCertificate('shop.example.net', undefined, 'connect ECONNREFUSED 203.0.113.9:443', nowMs),
      adviseBackups('/backups', undefined, 24 * hourMs, nowMs, undefined, nowMs - 121_000),
    ]) {
      expect(advice.state).toBe('wrong')
      expect(advice.todo.length).toBeGreaterThan(10)
    }
  })

  test('the doctor reports settings that an operator may have chosen as notes', () => {
    for (const advice of [
      ...advisePostgres({ ...server, isReadable: true }),
      adviseFiles(1024, 20_000, false),
      adviseFiles(60_000, 20_000, true),
      adviseFiles(undefined, 20_000, false),
      adviseClock(undefined, false),
      adviseNode({ ...node, state: 'closed' }, nowMs, '1.0.0'),
      adviseNode({ ...node, joinedAt: null }, nowMs, '1.0.0'),
      adviseNode({ ...node, version: '0.9.0' }, nowMs, '1.0.0'),
      adviseBackups(undefined, undefined, 24 * hourMs, nowMs),
      adviseBackups(undefined, undefined, 24 * hourMs, nowMs, byCommand(49)),
      adviseBackups('/backups', undefined, 24 * hourMs, nowMs, byCommand(1)),
      adviseBackups('/backups', undefined, 24 * hourMs, nowMs, undefined, nowMs - 60_000),
      adviseCertificate('shop.example.net', undefined, 'no answer in time', nowMs),
      adviseOwnCertificate('tls.crt', lasting(60), 2, nowMs),
    ]) {
      expect(advice.state).toBe('note')
    }
  })

  test('the doctor reports an untrusted proxy that the shop has seen, and notes a likely one', () => {
    const states = (isForwarded: boolean, isBehindTls: boolean, trusted: number) =>
      adviseProxies({ isForwarded, isBehindTls, trusted }).map((each) => each.state)
    expect(states(true, false, 0)).toEqual(['wrong'])
    expect(states(true, true, 1)).toEqual(['wrong'])
    expect(states(false, true, 0)).toEqual(['note'])
    expect(states(false, true, 1)).toEqual(['ok'])
    expect(states(false, false, 0)).toEqual([])
  })

  test('the doctor computes connections by the gateway’s formula, with TLS and without', () => {
    for (const isTls of [false, true]) {
      for (const connections of [8, 100, 20_000, 1_000_000]) {
        const { todo } = adviseFiles(64, connections, isTls)
        const wanted = Number(/LimitNOFILE=(\d+)/.exec(todo)?.[1] ?? 64)
        expect(adviseFiles(wanted, connections, isTls).state).toBe('ok')
        const room = roomWithin(connections, wanted - 1, isTls).connections
        if (wanted > 64)
          expect(adviseFiles(wanted - 1, connections, isTls).says).toContain(`enough for ${room} connections`)
      }
    }
  })
})

test('the doctor reports an interrupted import with its time, its prefix and the command to repeat', () => {
  const advice = adviseImport({ begunAt: nowMs, slots: 4000, prefix: '203.0.96.0/19' })
  expect(advice.state).toBe('wrong')
  expect(advice.says).toContain('2026-06-01T00:00:00')
  expect(advice.says).toContain('203.0.96.0/19')
  expect(advice.todo).toContain('turnpike stock add')
})

test('the doctor reports more than 100,000 versions of rows that no checkpoint covers', () => {
  expect(adviseHistory(100_000)).toEqual([])
  expect(adviseHistory(200_000)).toMatchObject([{ state: 'wrong', params: { versions: 200_000 } }])
})

test('the doctor warns above 80 % of a node’s bandwidth, and names the bytes beyond it that were not billed', () => {
  const gate = { kind: 'gateway', name: 'gate-1' } as const
  expect(adviseLink(gate, 10_000, 8000, 0n)).toEqual([])
  expect(adviseLink(gate, 10_000, undefined, 0n)).toEqual([])
  expect(reasons(adviseLink(gate, 10_000, 8001, 0n))).toEqual([['wrong', 'node_link_full']])
  expect(reasons(adviseLink(gate, 10_000, undefined, 40_000_000_000n))).toEqual([['wrong', 'node_unbilled']])
})

test('the doctor reports unproven ranges with the command that assigns them without a proof', () => {
  const advice = adviseUnproven('gate-1', 2)
  expect(advice.state).toBe('wrong')
  expect(advice.says).toContain('gate-1 claims 2 ranges')
  expect(advice.todo).toContain('turnpike stock assign PREFIX --node GATEWAY')
})

test('the doctor fails a range without a served address, notes unserved addresses, and says nothing without stock', () => {
  const range = (prefix: string, slots: number, served: number, state = 'in', isBlock = false) => ({
    range: { prefix, state },
    isBlock,
    slots,
    served,
    problems: served < slots ? [`gate-1: addresses of ${prefix} are not on this machine`] : [],
  })
  const [first] = adviseRanges([range('192.0.2.0/24', 256, 0), range('203.0.113.0/24', 256, 256)])
  expect(first).toMatchObject({ state: 'wrong', params: { ranges: 1, prefix: '192.0.2.0/24' } })
  expect(first?.todo).toStartWith('gate-1: addresses of 192.0.2.0/24 are not on this machine; "turnpike stock ranges"')
  expect(adviseRanges([range('2001:db8::/64', 0, 0, 'in', true)])[0]?.state).toBe('wrong')
  expect(adviseRanges([range('203.0.113.0/24', 256, 5)])[0]?.state).toBe('note')
  expect(adviseRanges([range('203.0.113.0/24', 256, 256), range('2001:db8::/64', 0, 1, 'in', true)])[0]?.state).toBe(
    'ok',
  )
  expect(adviseRanges([])).toEqual([])
  expect(adviseRanges([range('192.0.2.0/24', 256, 0, 'gone')])).toEqual([])
})

test('the doctor fails an exit that is down, notes one without a report, and says nothing about drained ones', () => {
  const exit = (status: string) => ({ host: '198.51.100.7', status })
  expect(adviseExits([exit('serving'), exit('down')])[0]).toMatchObject({
    state: 'wrong',
    params: { exits: ['198.51.100.7'] },
  })
  expect(adviseExits([exit('serving'), exit('untried')])[0]?.state).toBe('note')
  expect(adviseExits([exit('serving'), exit('drained')])[0]?.state).toBe('ok')
  expect(adviseExits([exit('drained')])).toEqual([])
  expect(adviseExits(Array.from({ length: 9 }, () => exit('down')))[0]?.says).toContain('198.51.100.7, …')
})

test('the doctor fails a clock that differs by more than 5 s from the clock of the shop', () => {
  expect(adviseShopClock(5000)).toEqual([])
  expect(adviseShopClock(-6000)[0]).toMatchObject({ state: 'wrong', says: 'it is 6 s behind the clock of the shop' })
})

test('the doctor notes a path that is up and whose exit VPN links do not name, for lack of a name in its certificate', () => {
  const host = 'fra-1.example.net'
  const report = { id: 'nod_1', isUp: true, sinceAt: nowMs, reason: '' }
  const adviceFor = (tls: { host: string; port: number; browserHost: null } | null, isForVpn = true) => {
    const exit = { name: 'fra-1', endpoint: { host, port: 10_800 }, health: { tls } }
    return advisePath({ entry: { name: 'msk-1', health: { tls: null, isForVpn } }, exit, over: 'tls', report })
  }
  expect(adviceFor(null)).toMatchObject({ state: 'note', reason: 'path_unnamed', params: { host } })
  expect(adviceFor(null).todo).toContain(`its host (${host}) as subject alternative name`)
  expect(adviceFor({ host, port: 10_443, browserHost: null }).reason).toBe('path_up')
  expect(adviceFor(null, false).reason).toBe('path_up')
})

test('the doctor answers in Russian if the first of LC_ALL, LC_MESSAGES and LANG that is set is Russian', () => {
  expect(terminalLanguageOf({ LANG: 'ru_RU.UTF-8' })).toBe('ru')
  expect(terminalLanguageOf({ LC_ALL: 'C', LANG: 'ru_RU.UTF-8' })).toBe('en')
  expect(terminalLanguageOf({})).toBe('en')
  const russian = translate(adviseMode('/data', 0o40755, true), 'ru')
  expect(russian).toMatchObject({ of: 'права на /data', state: 'wrong', reason: 'path_open', params: { mode: '755' } })
  expect(russian.says).toBe('доступ есть у других пользователей (755)')
  expect(toSummary(0, 0, 'en')).toBe('Nothing to do.')
  expect(toSummary(0, 1, 'en')).toBe('Nothing to do. 1 note.')
  expect(toSummary(2, 1, 'en')).toBe('2 checks failed.')
})

test('the doctor reports standbys that confirm commits, that do not, that are away or hidden, and slots that fill the disk', () => {
  const standby = { name: 'db-2', state: 'sync' as const, lagBytes: 3e6 }
  const alone = { isSynchronous: false, standbys: [], slots: [], waitingCommits: 0 }
  expect(adviseReplication(alone)).toEqual([])
  const inSync = adviseReplication({ ...alone, isSynchronous: true, standbys: [standby] })
  expect(reasons(inSync)).toEqual([['ok', 'replication_synchronous']])
  expect(inSync[0]?.says).toBe('1 of 1 standbys confirm each commit; the largest lag is 3 MB')
  expect(reasons(adviseReplication({ ...alone, standbys: [{ ...standby, state: 'async' }] }))).toEqual([
    ['note', 'replication_asynchronous'],
  ])
  expect(reasons(adviseReplication({ ...alone, isSynchronous: true, waitingCommits: 2 }))).toEqual([
    ['wrong', 'replication_blocked'],
    ['note', 'commits_waiting'],
  ])
  const hidden = { ...standby, state: null, lagBytes: null }
  expect(reasons(adviseReplication({ ...alone, isSynchronous: true, standbys: [hidden] }))).toEqual([
    ['note', 'replication_hidden'],
  ])
  const slots = [
    { name: 'db_3', isRead: false, keptBytes: 2e9 },
    { name: 'db_2', isRead: true, keptBytes: 2e9 },
    { name: 'new', isRead: false, keptBytes: 0 },
  ]
  expect(reasons(adviseReplication({ ...alone, slots }))).toEqual([['wrong', 'slot_unread']])
})
