import { Refusal } from '../core/refusal.ts'
import type { Brands } from '../domains/brand/index.ts'
import { plainHeaders } from './answers.ts'
import type { ConsoleRoute } from './console.ts'

/** An image is only shown by pages. Opened alone, it could run nothing. */
const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** Serves the brand's logo and icon. Their paths have a digest of the content. */
export const brandImages = (brands: Brands): ConsoleRoute => ({
  path: '/brand/:name',
  async answer(request) {
    const name = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const image = await brands.image(name)
    if (!image) throw new Refusal('file_not_found')
    return new Response(image.content as Uint8Array<ArrayBuffer>, {
      headers: {
        ...plainHeaders,
        'Content-Type': image.type,
        'Content-Security-Policy': imagePolicy,
        'Cache-Control': 'public, max-age=31536000, immutable',
      },
    })
  },
})
