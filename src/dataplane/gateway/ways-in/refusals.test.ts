import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RefusalCode, refusalOf } from './refusals.ts'

const page = readFileSync(join(import.meta.dir, '../../../../docs/gateway.md'), 'utf8')

/** Rows of the table: a status, its codes, and one SOCKS5 reply for all codes or one for each. */
const rows = [...page.matchAll(/^\| (\d{3}) \| (`[^|]+`) \| ([^|]+) \|/gm)].map(([, status, codes, replies]) => ({
  status: Number(status),
  codes: [...(codes ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code as RefusalCode),
  replies: (replies ?? '').split(', ').map(Number),
}))

test('every refusal in the table of docs/gateway.md has the status and the SOCKS5 reply of the code', () => {
  expect(rows.flatMap(({ codes }) => codes).length).toBeGreaterThan(25)
  for (const { status, codes, replies } of rows) {
    for (const [index, code] of codes.entries()) {
      expect([code, refusalOf(code)?.status]).toEqual([code, status])
      // SOCKS5 refuses a wrong login in the authentication step, before a request.
      const reply = replies[index] ?? replies[0]
      if (status !== 407) expect([code, refusalOf(code)?.socks]).toEqual([code, reply as 1])
    }
  }
})
