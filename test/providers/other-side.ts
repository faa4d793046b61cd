import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * What the other sides of payment providers have in common. They are written from what the providers publish and know
 * nothing of the shop: neither its code nor its names.
 */

/** What may happen to the next requests, in turn. */
export type Trouble =
  /** It is done, and the connection is cut before the answer. */
  | 'done, then cut off'
  /** It is not done, and the connection is cut. */
  | 'cut off'
  /** It is done, and the answer is an error of the server. */
  | 'done, then 500'
  | '500'
  | '400'
  | '429'
  | 'nonsense'

/** One notification as it is sent: what arrives at the shop's address. */
export type Post = { readonly headers: Record<string, string>; readonly body: string }

/** Something that somebody is to pay, as the other side has it. */
export type Bill = {
  readonly id: string
  /** What the shop has sent along to know it again. */
  readonly mark: string
  readonly hundredths: number
  /** Where the payer goes afterwards. */
  readonly returnUrl: string
  status: 'waiting' | 'paid' | 'over'
  backHundredths: number
}

export type OtherSide = {
  readonly url: string
  /** What happens to the next requests. */
  readonly troubles: Trouble[]
  readonly bills: ReadonlyMap<string, Bill>
  pay(id: string): void
  /** Its time is over, or the payer has given up. */
  end(id: string): void
  giveBack(id: string, hundredths: number): void
  /** A day has gone by, and a key that comes again is a new request; where keys are known. */
  forgetKeys?(): void
  /** What it would send about a bill now. */
  tell(id: string): Post
  /** Whether the next requests are of no use, all of them. */
  isDown: boolean
  /** Where it sends what it has to tell, once a payer was at its page. */
  listener: string | undefined
  stop(): Promise<void>
}

/**
 * Serves `act` with what trouble there is. `act` has done its work when it returns. Payers meet no trouble: what is
 * `shown` to them is answered first.
 */
export async function serve(
  act: (request: Request, url: URL) => Promise<Response>,
  shown: (request: Request, url: URL, listener: string | undefined) => Promise<Response | undefined>,
) {
  const troubles: Trouble[] = []
  const state = { isDown: false, listener: undefined as string | undefined }

  /** Undefined where the connection is cut. */
  async function answer(request: Request): Promise<Response | undefined> {
    const page = await shown(request, new URL(request.url), state.listener)
    if (page) return page
    if (state.isDown) return new Response('down', { status: 503 })
    const trouble = troubles.shift()
    if (trouble === undefined) return act(request, new URL(request.url))
    if (trouble.startsWith('done')) await act(request, new URL(request.url))
    if (trouble === '400') return Response.json({ type: 'error', code: 'invalid_request' }, { status: 400 })
    if (trouble === '429') return Response.json({ type: 'error', retry_after: 100 }, { status: 429 })
    if (trouble === 'nonsense') return new Response('<html>')
    return trouble.endsWith('500') ? new Response('oops', { status: 500 }) : undefined
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
  return { troubles, state, url: `http://127.0.0.1:${port}`, stop }
}

export const decimal = (hundredths: number): string => (hundredths / 100).toFixed(2)

export function mustFind(bills: ReadonlyMap<string, Bill>, id: string): Bill {
  const bill = bills.get(id)
  if (!bill) throw new Error(`nobody owes ${id}`)
  return bill
}
