import { expect, test } from 'bun:test'
import { createPasswords } from './passwords.ts'

test('isRight accepts the password, refuses another one and an unknown login, and the digest contains no password', async () => {
  const passwords = createPasswords()
  const kept = (await passwords.hash('correct horse battery')) ?? ''
  expect(kept).toStartWith('$argon2id$v=19$m=19456,t=2,p=1$')
  expect(kept).not.toContain('horse')
  expect(await passwords.isRight('correct horse battery', kept)).toBe(true)
  expect(await passwords.isRight('correct horse batterz', kept)).toBe(false)
  expect(await passwords.isRight('correct horse battery', undefined)).toBe(false)
})

test('isRight returns undefined for a call beyond 1 running and 2 waiting calls', async () => {
  const passwords = createPasswords(undefined, { atOnce: 1, waiting: 2 })
  const kept = await passwords.hash('correct horse battery')
  const tried = await Promise.all(Array.from({ length: 5 }, () => passwords.isRight('correct horse battery', kept)))
  expect(tried).toEqual([true, true, true, undefined, undefined])
  expect(await passwords.isRight('correct horse battery', kept)).toBe(true)
})
