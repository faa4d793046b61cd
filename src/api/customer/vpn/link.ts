import { createMoment } from '../../../core/messages/numbers.ts'
import { toIso } from '../../../core/time.ts'
import type { AppIdentity, Configuration, Drawing, Vpn } from '../../../domains/vpn/index.ts'
import { readHardwareId, toDeviceName, type View } from '../../../domains/vpn/rules.ts'
import { createHtmlPages, escapeHtml } from '../../html-page.ts'
import type { PlainRoute } from '../../http.ts'
import { type AnswerLanguage, languageOf } from '../../language.ts'
import { type AppFormat, appFormats, formatOfApp, writeLink } from './link-formats.ts'
import { linkPath } from './shapes.ts'

type Deps = {
  readonly vpn: Vpn
  readonly drawing: Drawing
  readonly linksPerMinute: number
  /** A link or an e-mail address; apps show a link. */
  readonly contact: string | undefined
}
type Opened = NonNullable<Awaited<ReturnType<Vpn['openLink']>>>
type Format = 'conf' | 'html' | 'svg' | 'png' | AppFormat

const texts = {
  notValid: {
    en: 'This link is not valid. It may have been replaced by a new one.',
    ru: 'Ссылка недействительна. Возможно, её заменили новой.',
  },
  noFormat: {
    en: 'There is no such format. Formats: base64, singbox, mihomo, xray, wireguard, page, svg, png.',
    ru: 'Такого формата нет. Форматы: base64, singbox, mihomo, xray, wireguard, page, svg, png.',
  },
  noWireGuard: {
    en: 'No WireGuard node is up. Use the link in an app that reads VLESS or Trojan.',
    ru: 'Ни один узел WireGuard не работает. Откройте ссылку в приложении с VLESS или Trojan.',
  },
  allTaken: {
    en: 'All devices are taken. Remove one or buy more in the shop.',
    ru: 'Все устройства заняты. Удалите одно или докупите место в магазине.',
  },
  noDevice: { en: 'This subscription has no such device.', ru: 'У этой подписки нет такого устройства.' },
  location: { en: 'Location', ru: 'Расположение:' },
  node: { en: 'node', ru: 'узел' },
  scan: {
    en: 'In the WireGuard app choose <b>Add a tunnel</b>, then <b>Scan from QR code</b>.',
    ru: 'В приложении WireGuard нажмите «+» и отсканируйте QR-код.',
  },
  qr: { en: 'QR code of the configuration', ru: 'QR-код конфигурации' },
  ownKey: {
    en: 'This device uses your own key: add your private key to the configuration.',
    ru: 'У этого устройства ваш собственный ключ: впишите закрытый ключ в конфигурацию.',
  },
  download: { en: 'Download the configuration', ru: 'Скачать конфигурацию' },
  devices: { en: 'Devices', ru: 'Устройства' },
  secret: {
    en: 'Anyone with this link can use your VPN. You can replace it on the VPN page of the shop.',
    ru: 'Любой, у кого есть эта ссылка, может пользоваться вашим VPN. Заменить её можно в магазине на странице VPN.',
  },
  expired: { en: 'Expired', ru: 'Срок истёк' },
  until: { en: 'Valid until', ru: 'Действует до' },
  renew: {
    en: 'Renew the subscription to use this configuration again.',
    ru: 'Продлите подписку, чтобы конфигурация снова заработала.',
  },
  disabled: { en: 'Disabled. Ask the seller.', ru: 'Отключена. Обратитесь к продавцу.' },
  usedUp: { en: 'All traffic is used up.', ru: 'Трафик исчерпан.' },
} as const

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
export function vpnLinkRoute({ vpn, drawing, linksPerMinute, contact }: Deps): PlainRoute {
  return {
    path: `${linkPath}:secret`,
    perMinute: linksPerMinute,
    async answer(request, params) {
      const query = new URL(request.url).searchParams
      const language = languageOf(request.headers)
      const device = query.get('device') ?? undefined
      const isPage = formatOf(query.get('format'), request.headers, true) === 'html'
      // A page is for people, and messengers preview it: it makes no device.
      const app = isPage ? undefined : identityOf(request.headers)
      const opened = await vpn.openLink(params['secret'] ?? '', { device, app })
      if (!opened) return plain(texts.notValid[language], 404)
      const format = formatOf(query.get('format'), request.headers, opened.gateways.length > 0)
      if (!format) return plain(texts.noFormat[language], 400)
      if (isAppFormat(format)) return renderApp(format, opened, app !== undefined, contact, language)
      const { view, configuration } = opened
      if (!configuration) return plain((opened.device ? texts.noWireGuard : texts.noDevice)[language], 404)
      return render(format, view, configuration, drawing, language)
    },
  }
}

/** What an app that sends a hardware id says of its machine. */
function identityOf(headers: Headers): AppIdentity | undefined {
  const hardwareId = readHardwareId(headers.get('x-hwid'))
  if (hardwareId === undefined) return undefined
  return { hardwareId, name: toDeviceName(headers.get('x-device-model'), headers.get('x-device-os')) }
}

const isAppFormat = (format: Format): format is AppFormat => appFormats.some((each) => each === format)

const formats: readonly Format[] = ['conf', 'html', 'svg', 'png', ...appFormats]
const aliases: Readonly<Record<string, Format>> = { wireguard: 'conf', page: 'html' }

/**
 * The requested format; else a page for a client that accepts HTML, and what an app reads by its User-Agent. Any other
 * client gets share links if a gateway serves VPN devices, else a WireGuard configuration.
 */
function formatOf(requested: string | null, headers: Headers, hasGateways: boolean): Format | undefined {
  if (requested !== null) return aliases[requested] ?? formats.find((each) => each === requested)
  if (/(^|,)\s*text\/html\b/i.test(headers.get('accept') ?? '')) return 'html'
  if (!hasGateways) return 'conf'
  return formatOfApp(headers.get('user-agent') ?? '') ?? 'base64'
}

/** A text as apps read it in a header. */
const inBase64 = (text: string): string => `base64:${Buffer.from(text).toString('base64')}`

/** Hours between two refreshes. */
const updateHours = 12

/** Of an entry that only shows a text. */
const noKeys = { uuid: '00000000-0000-4000-8000-000000000000', password: 'none' }

/** The configuration of an app. Of a subscription that does not run, its state is the announcement. */
function renderApp(
  format: AppFormat,
  opened: Opened,
  hasHardwareId: boolean,
  contact: string | undefined,
  language: AnswerLanguage,
): Response {
  const { view, device, keys, gateways, refused } = opened
  const notice = refused && (refused === 'devices' ? texts.allTaken[language] : meaningOf(view, language))
  if (notice === undefined && !(device && keys)) return plain(texts.noDevice[language], 404)
  const content = { device: device?.id ?? '', keys: keys ?? noKeys, gateways, notice }
  const { type, text } = writeLink(format, content)
  const { received, sent, trafficLimit, expiresAt, name } = view.subscription
  const userInfo = {
    upload: sent,
    download: received,
    total: trafficLimit ?? 0n,
    expire: Math.floor(expiresAt / 1000),
  }
  const headers = new Headers({
    ...headersOf(type),
    Vary: 'Accept, Accept-Language, User-Agent, X-Hwid',
    'Profile-Title': inBase64(name ?? (device ? `VPN: ${device.name}` : 'VPN')),
    'Profile-Update-Interval': String(updateHours),
    'Subscription-Userinfo': Object.entries(userInfo)
      .map(([key, value]) => `${key}=${value}`)
      .join('; '),
  })
  if (contact?.startsWith('https:')) headers.set('Support-Url', contact)
  if (hasHardwareId) headers.set('X-Hwid-Active', 'true')
  if (refused === 'devices') {
    headers.set('X-Hwid-Max-Devices-Reached', 'true')
    headers.set('X-Hwid-Limit', 'true')
  }
  if (notice !== undefined) headers.set('Announce', inBase64(notice))
  else if (view.status !== 'ACTIVE') headers.set('Announce', inBase64(meaningOf(view, language)))
  return new Response(text, { headers })
}

function render(
  format: Format,
  view: View,
  configuration: Configuration,
  drawing: Drawing,
  language: AnswerLanguage,
): Response {
  const { text } = configuration
  if (format === 'svg') return new Response(drawing.svg(text), { headers: headersOf('image/svg+xml') })
  if (format === 'png') {
    return new Response(drawing.png(text) as Uint8Array<ArrayBuffer>, { headers: headersOf('image/png') })
  }
  if (format === 'html') {
    return new Response(page(view, configuration, drawing.svg(text), language), { headers: headersOf('text/html') })
  }
  const file = { 'Content-Disposition': 'attachment; filename="turnpike.conf"' }
  return new Response(text, { headers: { ...headersOf('text/plain'), ...file } })
}

const headersOf = (type: string): Record<string, string> => ({
  'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
  'Content-Security-Policy': pages.policy,
  Vary: 'Accept, Accept-Language',
  'X-Robots-Tag': 'noindex, nofollow',
})

const plain = (text: string, status: number): Response =>
  new Response(`${text}\n`, { status, headers: headersOf('text/plain') })

function page(view: View, { device, location }: Configuration, svg: string, language: AnswerLanguage): string {
  const say = (text: keyof typeof texts): string => texts[text][language]
  const devices = view.devices.map((each) => {
    const current = each.id === device.id ? ' aria-current="page"' : ''
    return `<li><a href="?device=${each.id}"${current}>${escapeHtml(each.name)}</a></li>`
  })
  const key = device.ownKey ? `<p>${say('ownKey')}</p>` : ''
  const content = `<p>${meaningOf(view, language)}<br>
<small>${say('location')} ${escapeHtml(location)}, ${say('node')} ${view.node}</small></p>
<p>${say('scan')}</p>
<div role="img" aria-label="${say('qr')}">${svg}</div>
${key}<p><a href="?device=${device.id}&amp;format=conf">${say('download')}</a></p>
${devices.length > 1 ? `<nav aria-label="${say('devices')}"><ul>${devices.join('')}</ul></nav>` : ''}
<p><small>${say('secret')}</small></p>`
  return pages.write(language, `VPN: ${device.name}`, device.name, content)
}

function meaningOf(view: View, language: AnswerLanguage): string {
  const say = (text: keyof typeof texts): string => texts[text][language]
  const until = createMoment(language)(toIso(view.subscription.expiresAt))
  if (view.status === 'EXPIRED' || view.status === 'GRACE') return `${say('expired')} ${until}. ${say('renew')}`
  if (view.status === 'DISABLED') return say('disabled')
  if (view.limits.includes('traffic')) return `${say('usedUp')} ${say('renew')}`
  return `${say('until')} ${until}.`
}
