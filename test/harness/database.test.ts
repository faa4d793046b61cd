import { expect, test } from 'bun:test'
import { openTestDatabase } from './database.ts'
import { addCustomer, allFindingsOf, wire } from './wired.ts'

test('openTestDatabase reuses a closed PostgreSQL database without the rows of the test before', async () => {
  const first = await openTestDatabase('postgres')
  const services = wire(first.db)
  await addCustomer(services, 100n)
  await services.ledgerAudit.makeCheckpoint()
  await first.close()
  const second = await openTestDatabase('postgres')
  expect(second.testDatabase.address).toBe(first.testDatabase.address)
  expect(second.testDatabase.folder).not.toBe(first.testDatabase.folder)
  expect(await second.db.all('SELECT id FROM customers')).toEqual([])
  expect(await allFindingsOf(wire(second.db))).toEqual([])
  await second.close()
})

test('openTestDatabase does not reuse a PostgreSQL database whose schema a test changed', async () => {
  const changed = await openTestDatabase('postgres')
  await changed.db.transact((tx) => tx.run('DROP INDEX vpn_peers_key'))
  await changed.close()
  const next = await openTestDatabase('postgres')
  expect(next.testDatabase.address).not.toBe(changed.testDatabase.address)
  await next.close()
})
