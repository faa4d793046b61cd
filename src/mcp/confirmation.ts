import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ToolArguments } from './shop-call.ts'

/** How long the code of a first call can be confirmed. Keys are kept for 7 days, so a code never buys twice. */
const confirmableMs = 3_600_000

const agreedMark = 'agreed'

type Confirmed = { readonly key: string; readonly price: number | undefined }
type Confirmation =
  | 'wrong'
  // `isAgreed`: the user agreed to it in an earlier call, whose outcome is not known.
  | ((Confirmed | { readonly expired: string }) & { readonly isAgreed: boolean })

/**
 * Codes that tie a second call to the first: operation, arguments, price and time, and a random part that becomes the
 * idempotency key. A code is signed with the caller's own token, so any shop of the operator reads it and none stores
 * it. A caller could sign codes too; such a code does nothing that the token may not do through the API.
 */
export function createConfirmations(token: string, now: () => number, random: (bytes: number) => Uint8Array) {
  const sign = (operation: string, given: ToolArguments, signed: string): Buffer =>
    createHmac('sha256', `turnpike mcp ${token}`)
      .update(JSON.stringify([operation, sorted(given), signed]))
      .digest()
      .subarray(0, 16)

  return {
    issue(operation: string, given: ToolArguments, price: number | undefined): string {
      const signed = [now() + confirmableMs, random(10).toHex(), price ?? ''].join('_')
      return `${signed}_${sign(operation, given, signed).toString('hex')}`
    },
    read(operation: string, given: ToolArguments, code: string): Confirmation {
      const [until = '', nonce = '', price = '', mac = '', agreed] = code.split('_')
      const isAgreed = agreed === agreedMark
      const signed = [until, nonce, price, ...(isAgreed ? [agreedMark] : [])].join('_')
      const right = sign(operation, given, signed)
      const shown = Buffer.from(mac, 'hex')
      if (shown.length !== right.length || !timingSafeEqual(shown, right)) return 'wrong'
      const key = `mcp-${nonce}`
      if (Number(until) < now()) return { expired: key, isAgreed }
      return { key, price: price === '' ? undefined : Number(price), isAgreed }
    },
    /** The code of a call that the user agreed to, for a repeat without another question. It has the same key. */
    agree(operation: string, given: ToolArguments, code: string): string {
      const [until, nonce, price] = code.split('_')
      const mac = sign(operation, given, [until, nonce, price, agreedMark].join('_')).toString('hex')
      return [until, nonce, price, mac, agreedMark].join('_')
    },
  }
}

export type Confirmations = ReturnType<typeof createConfirmations>

/** The same arguments in any order are the same call. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, each]) => [name, sorted(each)] as const)
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1))
}
