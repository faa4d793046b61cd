import { apiHeaders } from './answers.ts'
import { isAccepted, isKnown, tagOf } from './respond.ts'

type SharedText = { readonly body: string; readonly headers?: Record<string, string> }

/** A large text that is the same for every caller, JSON unless its headers name another type. Compressed once. */
export function createSharedAnswer(read: () => Promise<SharedText>): (request: Request) => Promise<Response> {
  let made: ReturnType<typeof pack> | undefined

  return async ({ headers: asked }) => {
    const { body, headers: own } = await read()
    if (made?.text !== body) made = pack(body)
    const { plain, gzip, tag } = made
    const headers = { ...apiHeaders, ...own, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: `W/${tag}` }
    if (isKnown(asked, tag)) return new Response(null, { status: 304, headers })
    if (!isAccepted(asked.get('accept-encoding') ?? '', 'gzip')) return new Response(plain, { headers })
    return new Response(gzip, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

function pack(text: string) {
  const plain = Buffer.from(text)
  return { text, plain, gzip: Bun.gzipSync(plain), tag: tagOf(plain) }
}
