import { apiHeaders } from './answers.ts'
import { isAccepted, isKnown, tagOf } from './respond.ts'

/** A large JSON answer that is the same for every caller. It is made and compressed once, at the first request. */
export function createSharedAnswer(make: () => string): (request: Request) => Response {
  let made: { readonly plain: Buffer; readonly gzip: Uint8Array; readonly tag: string } | undefined

  return ({ headers: asked }) => {
    made ??= pack(make())
    const { plain, gzip, tag } = made
    const headers = { ...apiHeaders, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: `W/${tag}` }
    if (isKnown(asked, tag)) return new Response(null, { status: 304, headers })
    if (!isAccepted(asked.get('accept-encoding') ?? '', 'gzip')) return new Response(plain, { headers })
    return new Response(gzip, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

function pack(text: string) {
  const plain = Buffer.from(text)
  return { plain, gzip: Bun.gzipSync(plain), tag: tagOf(plain) }
}
