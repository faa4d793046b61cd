import { expect, test } from 'bun:test'
import { isEmail, mayHaveLogin, problemOfPassword, toLogin, toMailbox } from './rules.ts'

test('mayHaveLogin accepts a valid name and the present login or e-mail address, and toLogin trims and lowers', () => {
  expect(toLogin('  ANNA@Example.COM ')).toBe('anna@example.com')
  for (const login of ['anna', 'a.b-c_d']) expect(mayHaveLogin('customer', login, undefined)).toBe(true)
  for (const login of ['', 'ab', 'a b', 'anna@', '@example.com', 'анна', 'a'.repeat(65), 'a@b', 'anna@example.com']) {
    expect(mayHaveLogin('customer', login, undefined)).toBe(false)
    expect(mayHaveLogin('customer', login, { login: 'anna', email: null })).toBe(false)
  }
  for (const login of ['a', 'jo']) expect(mayHaveLogin('operator', login, undefined)).toBe(true)
  for (const login of ['', 'a b', 'jo@example.com']) expect(mayHaveLogin('operator', login, undefined)).toBe(false)
  const own = { login: 'анна@example.com', email: 'anna@example.com' }
  for (const login of [own.login, own.email]) expect(mayHaveLogin('customer', login, own)).toBe(true)
})

test('isEmail refuses a line break, a second address, brackets, a space, an invisible character and an empty label', () => {
  for (const text of [
    'a@b.example\nBcc: c@d.example',
    'a@b.example,c@d.example',
    '<a@b.example>',
    'a b@c.example',
    'a\u200bb@c.example',
    'a@b..example',
  ]) {
    expect(isEmail(text)).toBe(false)
  }
  expect(isEmail('first.last+tag@sub.example.com')).toBe(true)
})

test('toMailbox drops the tag of an address, and the dots that Gmail ignores', () => {
  for (const text of ['Jo.Doe@gmail.com', 'j.o.doe+shop@googlemail.com'])
    expect(toMailbox(text)).toBe('jodoe@gmail.com')
  expect(toMailbox('jo.doe+shop@mail.gmail.com.example')).toBe('jo.doe@mail.gmail.com.example')
})

test('problemOfPassword requires 10 to 200 characters, at least 4 different ones, and not the login', () => {
  expect(problemOfPassword('correct horse battery', 'anna')).toBeUndefined()
  expect(problemOfPassword('пароль из слов', 'anna')).toBeUndefined()
  for (const bad of ['', 'short', 'aaaaaaaaaaaa', 'ababababab', 'Anna@Example.com', 'x1y2'.repeat(60)]) {
    expect(problemOfPassword(bad, 'anna@example.com')?.field).toBe('password')
  }
})
