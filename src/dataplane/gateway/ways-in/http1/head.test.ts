import { expect, test } from 'bun:test'
import { toText } from '../../../../../test/harness/protocol.ts'
import { type FieldPair, toAnswer, toText as toResponse } from './head.ts'

const answer = (
  status: number,
  code: string | undefined,
  message: string,
  extra: readonly FieldPair[] = [],
  ...form: readonly [close?: boolean, isHead?: boolean]
): Uint8Array => toResponse(toAnswer(status, code, message, extra), ...form)

test('answer(200) is a status line and the given fields, without a body', () => {
  expect(toText(answer(200, undefined, ''))).toBe('HTTP/1.1 200 Connection established\r\n\r\n')
  expect(toText(answer(200, undefined, '', [['X-Turnpike-Exit', '::1']]))).toBe(
    'HTTP/1.1 200 Connection established\r\nX-Turnpike-Exit: ::1\r\n\r\n',
  )
})

test('answer(407) has Proxy-Authenticate: Basic and X-Turnpike-Error', () => {
  expect(toText(answer(407, 'credentials_required', 'Who are you?', [], false))).toBe(
    [
      'HTTP/1.1 407 Proxy Authentication Required',
      'Proxy-Authenticate: Basic realm="Turnpike"',
      'X-Turnpike-Error: credentials_required',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Length: 13',
      'Connection: keep-alive',
      '',
      'Who are you?\n',
    ].join('\r\n'),
  )
})

test('Content-Length of an answer counts bytes, and an answer to HEAD has the length without the body', () => {
  const text = toText(answer(429, 'too_many_tunnels', 'é', [['Retry-After', '1']]))
  expect(text).toContain('\r\nRetry-After: 1\r\n')
  expect(text).toContain('\r\nContent-Length: 3\r\n')
  expect(text).toEndWith('Connection: close\r\n\r\n\xc3\xa9\n')
  expect(toText(answer(502, 'x', 'message', [], false, true))).toEndWith(
    'Content-Length: 8\r\nConnection: keep-alive\r\n\r\n',
  )
})

test('a line break in a code or a value adds no field to an answer', () => {
  const text = toText(answer(403, 'a\r\nX-B: 1', 'no', [['X-C', '1\r\nX-D: 2']]))
  expect(text.split('\r\n').filter((line) => /^X-[BD]/.test(line))).toEqual([])
})
