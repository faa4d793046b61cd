import { expect, test } from 'bun:test'
import { openTestDatabase } from '../../../test/harness/database.ts'
import { createTool } from '../../../test/harness/tool.ts'
import { wire } from '../../../test/harness/wired.ts'

test('turnpike operator adds, lists and removes operators, roles and tokens, and refuses mistyped arguments', async () => {
  const opened = await openTestDatabase('sqlite')
  const { run, refused } = createTool(wire(opened.db))
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
    await run('operator', 'revoke', (token as { token_id: string }).token_id)
    expect((await run('operator', 'tokens', 'anna')).json).toMatchObject({
      items: [{ name: 'script', revoked_at: expect.any(String) }],
    })
    await run('operator', 'token', 'anna', '--expires', '2030-01-01T00:00:00Z')
    const [heading = '', ...tokens] = (await run('operator', 'tokens', 'anna')).lines
    expect(heading).toContain('EXPIRES')
    expect(tokens.join(' ')).toContain('2030-01-01')
    expect((await run('operator', 'link', 'anna')).lines[0]).toContain('#enter=')
    expect((await run('operator', 'remove', 'anna')).json).toEqual({ name: 'anna', removed: true })
    expect((await run('operator', 'list')).json).toMatchObject({ items: [{ name: 'boris', role: 'owner' }] })
    expect(await refused('operator', 'tokens', 'anna')).toContain('no such operator')
    expect((await run('audit', 'list')).json).toMatchObject({
      items: Array.from({ length: 8 }, () => ({ name: 'tool', role: 'owner' })),
    })
  } finally {
    await opened.close()
  }
})
