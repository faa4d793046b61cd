import { expect, test } from 'bun:test'
import { toMachineUser } from './machine-user.ts'

const users = 'root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\nturnpike:x:107:107::/:/bin/sh'

test('the audit log names the user who logged in, else the one of sudo, else the one of the process', () => {
  const found = (login: string | undefined, sudoUser: string | undefined) =>
    toMachineUser({ login, sudoUser, uid: 107, users })
  expect(found('1000', 'boris')).toBe('anna')
  expect(found('0', undefined)).toBe('root')
  expect(found('4294967295', 'boris')).toBe('boris')
  expect(found('4294967295', undefined)).toBe('turnpike')
  expect(found(undefined, undefined)).toBe('turnpike')
  expect(found('1001', undefined)).toBe('uid 1001')
})
