import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { refusalOf } from '../../../test/harness/failure.ts'
import { wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { Database } from '../../db/transaction.ts'
import type { Owner } from './rules.ts'

const visitor = { source: null, clientPrefix: 'h', agent: null, shown: [] }
const [oldPassword, newPassword] = ['correct horse battery', 'wrong horse battery']

/**
 * The same database for a request that reads an identity, compares the password, and is then held: its transactions
 * wait until `release`. `hasRead` resolves when the identity was read.
 */
function holdAfterIdentity(db: Database) {
  const read = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isRead = false
  const noteRead = (sql: string): void => {
    if (!sql.includes('FROM identities')) return
    isRead = true
    read.resolve()
  }
  const held: Database = {
    ...db,
    async first(sql, values) {
      const row = await db.first<never>(sql, values)
      noteRead(sql)
      return row
    },
    async transact(work) {
      if (isRead) await released.promise
      return db.transact(work)
    },
  }
  return { held, hasRead: read.promise, release: () => released.resolve() }
}

describe.each([...engines])('a password change on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  let count = 0
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
  })
  afterAll(() => opened.close())

  const change = (owner: Owner, login: string, current: string | undefined, password: string, by = services) =>
    by.identities.setPassword(owner, { login, current, password, clientPrefix: 'h' }, null)

  async function addOwner(kind: Owner['kind']): Promise<{ owner: Owner; login: string }> {
    count += 1
    const login = `${kind}-${count}`
    const owner: Owner =
      kind === 'customer'
        ? { kind, id: (await services.customers.create(login)).id }
        : { kind, id: (await opened.db.transact((tx) => services.operators.add(tx, login, 'support'))).id }
    await change(owner, login, undefined, oldPassword)
    return { owner, login }
  }

  /** Holds the work of a second shop when it has read the old password, changes the password, and releases the work. */
  async function changeMeanwhile(owner: Owner, login: string, work: (there: Services) => Promise<unknown>) {
    const { held, hasRead, release } = holdAfterIdentity(opened.db)
    const underWay = refusalOf(work(wire(held, clock)))
    await hasRead
    await change(owner, login, oldPassword, newPassword)
    release()
    expect((await underWay).reason).toBe('sign_in_failed')
    const { session } = await services.signIn.byPassword(owner.kind, { login, password: newPassword }, visitor)
    expect((await services.signIn.list(owner)).map((each) => each.id)).toEqual([session.id])
  }

  test.each(['customer', 'operator'] as const)(
    'a sign-in of the %s with the old password that is under way during the change opens no session',
    async (kind) => {
      const { owner, login } = await addOwner(kind)
      await changeMeanwhile(owner, login, (there) =>
        there.signIn.byPassword(kind, { login, password: oldPassword }, visitor),
      )
    },
  )

  test('a second change that has compared the old password does not replace the new password', async () => {
    const { owner, login } = await addOwner('customer')
    await changeMeanwhile(owner, login, (there) => change(owner, login, oldPassword, 'third horse battery', there))
  })

  test('a second factor is neither begun nor removed, and no recovery code made, with the old password', async () => {
    for (const action of ['beginFactor', 'removeFactor', 'renewRecovery'] as const) {
      const { owner, login } = await addOwner('customer')
      await changeMeanwhile(owner, login, (there) => there.identities[action](owner, oldPassword, 'h'))
      expect(await services.identities.profile(owner)).toMatchObject({ hasFactor: false, recoveryCodes: null })
    }
  })

  test('an erasure that has compared the old password erases nothing', async () => {
    const { owner, login } = await addOwner('customer')
    if (owner.kind !== 'customer') throw new Error('a customer erases')
    const request = { password: oldPassword, giveUpBalance: true, clientPrefix: 'h' }
    await changeMeanwhile(owner, login, (there) => there.registration.eraseCustomer(owner.id, request))
  })
})
