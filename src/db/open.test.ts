import { expect, test } from 'bun:test'
import { engines, makeTestDatabase } from '../../test/harness/database.ts'
import { isReachable, openDatabase } from './open.ts'

test.each([...engines])('openDatabase opens the engine of the address: %s', async (engine) => {
  const testDatabase = await makeTestDatabase(engine)
  const db = openDatabase(testDatabase.address)
  expect(db.engine).toBe(engine)
  expect(await isReachable(db)).toBe(true)
  await db.close()
  await testDatabase.remove()
})

test.each([...engines])('isReachable returns false for a closed database and does not throw: %s', async (engine) => {
  const testDatabase = await makeTestDatabase(engine)
  const db = openDatabase(testDatabase.address)
  expect(await isReachable(db)).toBe(true)
  await db.close()
  expect(await isReachable(db)).toBe(false)
  await testDatabase.remove()
})
