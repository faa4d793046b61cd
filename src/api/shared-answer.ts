import { apiHeaders } from './answers.ts'

/** Whether an encoding is among the accepted ones, and not with the weight of nothing (RFC 9110, 12.5.3). */
export const isAccepted = (accepted: string, coding: string): boolean =>
  accepted.split(',').some((each) => {
    const [name, weight = ''] = each.split(';')
    return name?.trim() === coding && !/^\s*q=0(?:\.0*)?\s*$/.test(weight)
  })

/**
 * A large JSON answer that is the same for every caller. It is made and compressed once, at the first request; its ETag
 * is weak, because it names both forms. A client that has it gets 304 (RFC 9110, 13.1.2).
 */
export function createSharedAnswer(make: () => string): (request: Request) => Response {
  let made: { readonly plain: Buffer; readonly gzip: Uint8Array; readonly tag: string } | undefined

  return ({ headers: asked }) => {
    made ??= pack(make())
    const { plain, gzip, tag } = made
    const headers = { ...apiHeaders, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: `W/${tag}` }
    const known = (asked.get('if-none-match') ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''))
    if (known.includes(tag) || known.includes('*')) return new Response(null, { status: 304, headers })
    if (!isAccepted(asked.get('accept-encoding') ?? '', 'gzip')) return new Response(plain, { headers })
    return new Response(gzip, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

function pack(text: string) {
  const plain = Buffer.from(text)
  return { plain, gzip: Bun.gzipSync(plain), tag: `"${Bun.hash(plain).toString(36)}"` }
}
