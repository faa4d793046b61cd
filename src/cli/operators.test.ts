import { expect, test } from 'bun:test'
import { openTestDatabase } from '../../test/harness/database.ts'
import { failureOf } from '../../test/harness/failure.ts'
import { wire } from '../../test/harness/wired.ts'
import { createActions } from '../main/shop/actions.ts'
import { type Outcome, readGiven } from './command.ts'
import { operatorCommands } from './operators.ts'

test('operators are added, listed, given roles and tokens, and taken out; what is mistyped changes nothing', async () => {
  const opened = await openTestDatabase('sqlite')
  const deps = { ...createActions(wire(opened.db)), shopUrl: 'https://shop.example' }
  const run = async (...typed: string[]): Promise<Outcome> => {
    const { command, given } = readGiven(
      operatorCommands((_given, work) => work(deps)),
      typed,
      [],
    )
    return command.run(given)
  }
  const refused = async (...typed: string[]): Promise<string> =>
    (await failureOf(Promise.resolve().then(() => run(...typed)))).message
  try {
    const { lines } = await run('operator', 'add', 'anna', '--role', 'owner')
    expect(lines[0]).toMatch(/^https:\/\/shop\.example\/operator#enter=tpl_\w{39}$/)
    expect(await refused('operator', 'add', 'boris')).toContain('--role')
    expect(await refused('operator', 'add', 'boris', '--role', 'boss')).toContain('--role')
    expect(await refused('operator', 'add', 'bo ris', '--role', 'reader')).toContain('letters')
    expect(await refused('operator', 'add', 'anna', '--role', 'reader')).toContain('already')
    expect(await refused('operator', 'role', 'anna', 'boss')).toContain('ROLE')
    expect(await refused('operator', 'role', 'anna', 'reader')).toContain('last owner')
    expect(await refused('operator', 'remove', 'anna')).toContain('last owner')
    await run('operator', 'add', 'boris', '--role', 'owner')
    expect((await run('operator', 'role', 'anna', 'reader')).json).toMatchObject({ name: 'anna', role: 'reader' })
    const { json: token } = await run('operator', 'token', 'anna', '--name', 'script')
    expect(token).toMatchObject({ token: expect.stringMatching(/^tpo_/) })
    expect(await refused('operator', 'token', 'anna', '--expires', 'soon')).toContain('--expires')
    await run('operator', 'revoke', (token as { id: string }).id)
    expect((await run('operator', 'tokens', 'anna')).json).toMatchObject([{ name: 'script', state: 'revoked' }])
    expect((await run('operator', 'link', 'anna')).lines[0]).toContain('#enter=')
    expect((await run('operator', 'remove', 'anna')).json).toEqual({ name: 'anna', removed: true })
    expect((await run('operator', 'list')).json).toMatchObject([{ name: 'boris', role: 'owner' }])
    expect(await refused('operator', 'tokens', 'anna')).toContain('no such operator')
    expect((await run('audit', 'list')).json).toEqual([])
  } finally {
    await opened.close()
  }
})
