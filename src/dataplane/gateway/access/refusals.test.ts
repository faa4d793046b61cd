import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RefusalCode, refusalOf } from './refusals.ts'

const page = readFileSync(join(import.meta.dir, '../../../../docs/gateway.md'), 'utf8')

/** The rows of the page's table: a status, its codes, and the replies of SOCKS5 for all of them or one for each. */
const rows = [...page.matchAll(/^\| (\d{3}) \| (`[^|]+`) \| ([^|]+) \|/gm)].map(([, status, codes, replies]) => ({
  status: Number(status),
  codes: [...(codes ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code as RefusalCode),
  replies: (replies ?? '').split(', ').map(Number),
}))

test('every refusal of the gateway is documented', () => {
  expect(rows.flatMap(({ codes }) => codes).length).toBeGreaterThan(25)
  for (const { status, codes, replies } of rows) {
    for (const [index, code] of codes.entries()) {
      expect([code, refusalOf(code)?.status]).toEqual([code, status])
      // A wrong login is refused in the login's own way, before there is a request to reply to.
      const reply = replies[index] ?? replies[0]
      if (status !== 407) expect([code, refusalOf(code)?.socks]).toEqual([code, reply as 1])
    }
  }
})
