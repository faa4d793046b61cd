import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Common parts of the fake payment providers. They are written from the providers' documentation and import nothing of
 * the shop.
 */

/** Faults of the next requests, in order. */
export type ProviderFault =
  /** The request is processed, and the connection is cut before the answer. */
  | 'done, then cut off'
  /** The request is not processed, and the connection is cut. */
  | 'cut off'
  /** The request is processed, and the answer is a server error. */
  | 'done, then 500'
  | '500'
  | '400'
  | '429'
  | 'nonsense'

/** One notification as sent to the shop. */
export type Post = { readonly headers: Record<string, string>; readonly body: string }

/** A bill as the provider stores it. */
export type Bill = {
  readonly id: string
  /** The shop's reference. */
  readonly mark: string
  readonly hundredths: number
  /** Where the payer is redirected afterwards. */
  readonly returnUrl: string
  status: 'waiting' | 'paid' | 'over'
  backHundredths: number
}

export type OtherSide = {
  readonly url: string
  /** Faults of the next requests. */
  readonly faults: ProviderFault[]
  readonly bills: ReadonlyMap<string, Bill>
  pay(id: string): void
  /** The bill expired, or the payer cancelled. */
  end(id: string): void
  refund(id: string, hundredths: number): void
  /** A day has passed, and a repeated key is a new request; for providers with idempotency keys. */
  forgetKeys?(): void
  /** The notification about a bill in its current state. */
  notificationOf(id: string): Post
  /** Whether all requests fail. */
  isDown: boolean
  /** Where notifications are sent after a payer used the page. */
  listener: string | undefined
  stop(): Promise<void>
}

/**
 * Serves `act` with the current faults. `act` has done its work when it returns. Pages for payers have no faults:
 * `shown` answers first.
 */
export async function serve(
  act: (request: Request, url: URL) => Promise<Response>,
  shown: (request: Request, url: URL, listener: string | undefined) => Promise<Response | undefined>,
) {
  const faults: ProviderFault[] = []
  const state = { isDown: false, listener: undefined as string | undefined }

  /** Undefined if the connection is cut. */
  async function answer(request: Request): Promise<Response | undefined> {
    const page = await shown(request, new URL(request.url), state.listener)
    if (page) return page
    if (state.isDown) return new Response('down', { status: 503 })
    const fault = faults.shift()
    if (fault === undefined) return act(request, new URL(request.url))
    if (fault.startsWith('done')) await act(request, new URL(request.url))
    if (fault === '400') return Response.json({ type: 'error', code: 'invalid_request' }, { status: 400 })
    if (fault === '429') return Response.json({ type: 'error', retry_after: 100 }, { status: 429 })
    if (fault === 'nonsense') return new Response('<html>')
    return fault.endsWith('500') ? new Response('oops', { status: 500 }) : undefined
  }

  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const chunks: Uint8Array[] = []
      for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
      const { method = 'GET', headers } = incoming
      const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
      const body = method === 'GET' ? undefined : Buffer.concat(chunks)
      const request = new Request(`http://127.0.0.1${incoming.url}`, { method, headers: sent, ...(body && { body }) })
      const answered = await answer(request)
      if (!answered) incoming.socket.destroy()
      else {
        outgoing.writeHead(answered.status, { 'content-type': 'text/plain', ...Object.fromEntries(answered.headers) })
        outgoing.end(await answered.text())
      }
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { faults, state, url: `http://127.0.0.1:${port}`, stop }
}

export const decimal = (hundredths: number): string => (hundredths / 100).toFixed(2)

export function mustFind(bills: ReadonlyMap<string, Bill>, id: string): Bill {
  const bill = bills.get(id)
  if (!bill) throw new Error(`there is no bill ${id}`)
  return bill
}
