import { readId } from '../../../core/ids.ts'
import { toIso } from '../../../core/time.ts'
import type { Configuration, Drawing, Vpn } from '../../../domains/vpn/index.ts'
import type { View } from '../../../domains/vpn/rules.ts'
import { createHtmlPages, escapeHtml } from '../../html-page.ts'
import type { PlainRoute } from '../../http.ts'
import { linkPath } from './shapes.ts'

type Deps = { readonly vpn: Vpn; readonly drawing: Drawing; readonly linksPerMinute: number }
type Format = 'conf' | 'html' | 'svg' | 'png'

const pages = createHtmlPages(
  `svg { display: block; width: 100%; max-width: 24rem; margin: 1rem auto; border-radius: .5rem; background: #fff }
ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .5rem }
a { display: inline-block; padding: .5rem .9rem; border: 1px solid currentColor; border-radius: .5rem }
a { color: inherit; text-decoration: none }
a[aria-current] { font-weight: 600; background: color-mix(in srgb, currentColor 12%, transparent) }
`,
  'none',
)

/** Serves a secret link as text or as a page with a QR code. An unknown and an expired link get the same 404. */
export function vpnLinkRoute({ vpn, drawing, linksPerMinute }: Deps): PlainRoute {
  return {
    path: `${linkPath}:secret`,
    perMinute: linksPerMinute,
    async answer(request, params) {
      const query = new URL(request.url).searchParams
      const named = query.get('device')
      const device = named === null ? undefined : readId('peer', named)
      const opened = named !== null && !device ? undefined : await vpn.openLink(params['secret'] ?? '', { device })
      const format = formatOf(query.get('format'), request.headers.get('accept') ?? '')
      if (!opened || !format) return plain('This link is not valid. It may have been replaced by a new one.\n', 404)
      const { view, configuration } = opened
      if (!configuration) return plain('This subscription has no such device.\n', 404)
      return render(format, view, configuration, drawing)
    },
  }
}

/** The requested format; else a page for a client that accepts HTML, and text for any other. */
function formatOf(requested: string | null, accept: string): Format | undefined {
  if (requested !== null) return (['conf', 'html', 'svg', 'png'] as const).find((each) => each === requested)
  return /(^|,)\s*text\/html\b/i.test(accept) ? 'html' : 'conf'
}

function render(format: Format, view: View, configuration: Configuration, drawing: Drawing): Response {
  const { text } = configuration
  if (format === 'svg') return new Response(drawing.svg(text), { headers: headersOf('image/svg+xml') })
  if (format === 'png') {
    return new Response(drawing.png(text) as Uint8Array<ArrayBuffer>, { headers: headersOf('image/png') })
  }
  if (format === 'html') {
    return new Response(page(view, configuration, drawing.svg(text)), { headers: headersOf('text/html') })
  }
  const file = { 'Content-Disposition': 'attachment; filename="turnpike.conf"' }
  return new Response(text, { headers: { ...headersOf('text/plain'), ...file } })
}

const headersOf = (type: string): Record<string, string> => ({
  'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
  'Content-Security-Policy': pages.policy,
  Vary: 'Accept',
  'X-Robots-Tag': 'noindex, nofollow',
})

const plain = (text: string, status: number): Response =>
  new Response(text, { status, headers: headersOf('text/plain') })

function page(view: View, { device, location }: Configuration, svg: string): string {
  const devices = view.devices.map((each) => {
    const current = each.id === device.id ? ' aria-current="page"' : ''
    return `<li><a href="?device=${each.id}"${current}>${escapeHtml(each.name)}</a></li>`
  })
  const key = device.ownKey ? '<p>This device uses your own key: add your private key to the configuration.</p>' : ''
  const content = `<p>${meaningOf(view)}<br><small>Location ${escapeHtml(location)}, node ${view.node}</small></p>
<p>In the WireGuard app choose <b>Add a tunnel</b>, then <b>Scan from QR code</b>.</p>
<div role="img" aria-label="QR code of the configuration">${svg}</div>
${key}<p><a href="?device=${device.id}&amp;format=conf">Download the configuration</a></p>
${devices.length > 1 ? `<nav aria-label="Devices"><ul>${devices.join('')}</ul></nav>` : ''}
<p><small>Anyone with this link can use your VPN. Replace it at any time with POST /api/v1/vpn/link/reset.</small></p>`
  return pages.write('en', `VPN: ${device.name}`, device.name, content)
}

function meaningOf(view: View): string {
  const until = toIso(view.subscription.expiresAt).slice(0, 16).replace('T', ' ')
  if (view.status === 'EXPIRED') return `Expired ${until} UTC. Renew the subscription to use this configuration again.`
  if (view.status === 'DISABLED') return 'Disabled. Contact the seller.'
  if (view.limits.includes('traffic'))
    return 'All traffic is used up. Renew the subscription to use this configuration again.'
  return `Valid until ${until} UTC.`
}
