import { apiHeaders } from './answers.ts'
import { isAccepted, isKnown, tagOf } from './respond.ts'

/** A large JSON answer that is the same for every caller. It is compressed once, until its text is another one. */
export function createSharedAnswer(read: () => Promise<string>): (request: Request) => Promise<Response> {
  let made: ReturnType<typeof pack> | undefined

  return async ({ headers: asked }) => {
    const text = await read()
    if (made?.text !== text) made = pack(text)
    const { plain, gzip, tag } = made
    const headers = { ...apiHeaders, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: `W/${tag}` }
    if (isKnown(asked, tag)) return new Response(null, { status: 304, headers })
    if (!isAccepted(asked.get('accept-encoding') ?? '', 'gzip')) return new Response(plain, { headers })
    return new Response(gzip, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

function pack(text: string) {
  const plain = Buffer.from(text)
  return { text, plain, gzip: Bun.gzipSync(plain), tag: tagOf(plain) }
}
