import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failureOf } from '../../test/harness/failure.ts'
import { type Postgres, startPostgres } from '../../test/harness/postgres.ts'
import { selfSigned, selfSignedShop } from '../../test/harness/self-signed.ts'
import { runCommand } from '../../test/harness/turnpike.ts'
import { preferTls } from './pool.ts'
import { openPostgres } from './postgres.ts'

test('an address on a network gets sslmode=prefer, and one on this machine or with a mode stays', () => {
  const at = (rest: string): string => preferTls(`postgres://user:p%40ss@${rest}`)
  expect(at('db.example.net/shop')).toBe('postgres://user:p%40ss@db.example.net/shop?sslmode=prefer')
  expect(at('10.0.0.5:5433/shop?a=b')).toBe('postgres://user:p%40ss@10.0.0.5:5433/shop?a=b&sslmode=prefer')
  for (const rest of ['localhost/shop', '127.0.0.1:5432/shop', '[::1]/shop', 'db.example.net/shop?sslmode=disable']) {
    expect(at(rest)).toBe(`postgres://user:p%40ss@${rest}`)
  }
})

describe('a PostgreSQL server with a certificate of its own', () => {
  const folder = mkdtempSync('/tmp/turnpike-tls-')
  const file = (name: string): string => join(folder, name)
  let server: Postgres
  beforeAll(async () => {
    chmodSync(folder, 0o755)
    writeFileSync(file('cert'), selfSigned.cert)
    writeFileSync(file('other'), selfSignedShop.cert)
    writeFileSync(file('key'), selfSigned.key, { mode: 0o600 })
    // The server runs as `nobody` and refuses the key of another user.
    if (process.getuid?.() === 0) chownSync(file('key'), 65_534, 65_534)
    const settings = ['ssl=on', `ssl_cert_file=${file('cert')}`, `ssl_key_file=${file('key')}`]
    server = await startPostgres({ own: true, settings })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function isEncrypted(query: string): Promise<boolean | undefined> {
    const db = openPostgres(`${server.url}?${query}`, 1)
    const sql = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    try {
      return (await db.first<{ ssl: boolean }>(sql))?.ssl
    } finally {
      await db.close()
    }
  }

  test('sslmode disable is plain, prefer and require encrypt, and the verify modes refuse an unknown certificate', async () => {
    expect(await isEncrypted('sslmode=disable')).toBeFalse()
    for (const mode of ['prefer', 'require']) expect(await isEncrypted(`sslmode=${mode}`)).toBeTrue()
    for (const mode of ['verify-ca', 'verify-full']) {
      expect(await isEncrypted(`sslmode=${mode}&sslrootcert=${file('cert')}`)).toBeTrue()
      await failureOf(isEncrypted(`sslmode=${mode}`))
      await failureOf(isEncrypted(`sslmode=${mode}&sslrootcert=${file('other')}`))
    }
  })

  test('a command names TURNPIKE_DATABASE_URL if it refuses the certificate of the server', async () => {
    const env = { TURNPIKE_DATA: folder, TURNPIKE_DATABASE_URL: `${server.url}?sslmode=verify-full` }
    const { exit, err } = await runCommand(['customer', 'list'], env)
    expect([exit, err]).toEqual([2, expect.stringContaining('TURNPIKE_DATABASE_URL cannot be used: self signed')])
  })
})
