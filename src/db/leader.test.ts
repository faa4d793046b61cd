import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makePlace, type Place } from '../../test/harness/database.ts'
import { untilTrue } from '../../test/harness/turnpike.ts'
import { createLeaders, type Leaders } from './leader.ts'
import { openDatabase } from './open.ts'
import type { Database } from './transaction.ts'

describe('of several shops on one PostgreSQL', () => {
  let place: Place
  let db: Database
  let shops: Leaders[]
  beforeAll(async () => {
    place = await makePlace('postgres')
    db = openDatabase(place.address)
    shops = Array.from({ length: 3 }, () => createLeaders(place.address))
  })
  afterAll(async () => {
    await Promise.all(shops.map((each) => each.stop()))
    await db.close()
    await place.remove()
  })

  const whoLeads = async (name: string): Promise<number[]> => {
    const leads = await Promise.all(shops.map((each) => each.leads(name)))
    return leads.flatMap((yes, index) => (yes ? [index] : []))
  }

  test('one leads in each thing, however often it is asked, and each may lead in another', async () => {
    const [first = -1, ...more] = await whoLeads('renew proxies')
    expect(more).toEqual([])
    for (let round = 0; round < 3; round += 1) expect(await whoLeads('renew proxies')).toEqual([first])
    const other = (first + 1) % shops.length
    expect(await shops[other]?.leads('forget events')).toBe(true)
    expect(await whoLeads('forget events')).toEqual([other])
    expect(await whoLeads('renew proxies')).toEqual([first])
  })

  test('whoever loses the connection loses the lead, and whoever asks next has it', async () => {
    const [leader = -1] = await whoLeads('lapse leases')
    await db.all(
      `SELECT CAST(pg_terminate_backend(pid) AS TEXT) AS ended FROM pg_locks
       WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    const next = (leader + 1) % shops.length
    // The connection that was cut is noticed with the first question on it.
    for (const shop of shops) await shop.leads('nothing').catch(() => false)
    expect(await shops[next]?.leads('lapse leases')).toBe(true)
    expect(await shops[leader]?.leads('lapse leases')).toBe(false)
  })

  test('one that ends makes room for another', async () => {
    const [leader = -1] = await whoLeads('expire traffic')
    await shops[leader]?.stop()
    shops = shops.filter((_, index) => index !== leader)
    // The server notices that a connection has ended when it next looks.
    expect(await untilTrue(async () => (await whoLeads('expire traffic')).length === 1)).toBe(true)
  })

  test('one with a file of its own always leads', async () => {
    expect(await createLeaders(undefined).leads('renew proxies')).toBe(true)
  })
})
