import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readBasic, readCredentials } from './basic-auth.ts'

const isPlain = (text: string): boolean => !/\p{Cc}/u.test(text)
const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter(isPlain)

test('readBasic returns every name without a colon and every password, also beyond ASCII', () => {
  fc.assert(
    fc.property(
      text.filter((name) => !name.includes(':')),
      text,
      (username, password) => {
        const encoded = Buffer.from(`${username}:${password}`).toString('base64')
        expect(readBasic(`Basic ${encoded}`)).toEqual({ username, password })
        expect(readBasic(`bASIC   ${encoded}`)).toEqual({ username, password })
      },
    ),
    { numRuns: 1000 },
  )
})

test('readBasic accepts only the canonical base64 of a name and a password', () => {
  fc.assert(
    fc.property(fc.base64String({ maxLength: 60 }), (encoded) => {
      const read = readBasic(`Basic ${encoded}`)
      if (read) expect(Buffer.from(`${read.username}:${read.password}`).toString('base64')).toBe(encoded)
    }),
    { numRuns: 3000 },
  )
})

test('readCredentials accepts names of at most 512 bytes and passwords of at most 256 bytes', () => {
  const bytes = (length: number) => new Uint8Array(length).fill(97)
  const longest = Buffer.from(`${'a'.repeat(512)}:${'a'.repeat(256)}`).toString('base64')
  expect(readBasic(`Basic ${longest}`)?.username).toHaveLength(512)
  expect(readCredentials(bytes(512), bytes(256))?.password).toHaveLength(256)
  expect(readCredentials(bytes(513), bytes(1))).toBeUndefined()
  expect(readCredentials(bytes(1), bytes(257))).toBeUndefined()
})

test('readCredentials keeps a byte order mark as part of the name', () => {
  const bom = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)
  expect(readCredentials(bom, new Uint8Array(0))?.username).toBe('\ufeffa')
})
