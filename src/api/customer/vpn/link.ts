import type { Clock } from '../../../core/time.ts'
import type { Brands } from '../../../domains/brand/index.ts'
import { announcedIn, type Brand } from '../../../domains/brand/rules.ts'
import type { AppIdentity, Configuration, Drawing, Vpn } from '../../../domains/vpn/index.ts'
import { readHardwareId, toDeviceName } from '../../../domains/vpn/rules.ts'
import { type AnswerLanguage, languageOf } from '../../language.ts'
import type { PlainRoute } from '../../plain-route.ts'
import { type AppFormat, appFormats, formatOfApp, writeLink } from './link-formats.ts'
import { meaningOf, type PageContent, pagePolicyOf, shownParts, writePage } from './link-page.ts'
import { linkPath, toLink } from './shapes.ts'

type Deps = {
  readonly vpn: Vpn
  readonly sha256: (text: string) => Uint8Array
  readonly drawing: Drawing
  readonly clock: Clock
  readonly publicUrl: () => string
  readonly linksPerMinute: number
  readonly brands: Pick<Brands, 'current'>
}
type Opened = Exclude<Awaited<ReturnType<Vpn['openLink']>>, string | undefined>
type Format = 'conf' | 'html' | 'svg' | 'png' | AppFormat

const texts = {
  notValid: {
    en: 'This link is not valid. It may have been replaced by a new one.',
    ru: 'Ссылка недействительна. Возможно, её заменили новой.',
  },
  blocked: {
    en: 'This subscription is blocked or has ended. Ask the seller.',
    ru: 'Подписка заблокирована или закончилась. Обратитесь к продавцу.',
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
  noApps: {
    en: 'This shop has no gateway for apps. Use ?format=wireguard.',
    ru: 'В этом магазине нет шлюзов для приложений. Используйте ?format=wireguard.',
  },
  allDown: {
    en: 'No gateway is up. Keep the configuration that you have, and try again in a minute.',
    ru: 'Ни один шлюз сейчас не работает. Оставьте прежнюю конфигурацию и повторите через минуту.',
  },
  notForApp: {
    en: 'This app cannot connect to this shop. Choose another one on the page of the link.',
    ru: 'Это приложение не подходит для этого магазина. Выберите другое на странице ссылки.',
  },
  noSuchDevice: { en: 'This subscription has no such device.', ru: 'У этой подписки нет такого устройства.' },
  noDevice: {
    en: 'This subscription has no device. Add one in the shop.',
    ru: 'У этой подписки нет устройств. Добавьте устройство в магазине.',
  },
} as const

/**
 * Serves a secret link as text or as a page with a QR code. An unknown, a replaced and a deleted link get the same 404.
 * Each link has a limit of its own: all clients of a VPN gateway or a mobile network share an address, so made-up links
 * must not use up a limit of it. Only those of earlier versions count for the address.
 */
export function vpnLinkRoute(deps: Deps): PlainRoute {
  const { vpn, drawing, linksPerMinute } = deps
  return {
    path: `${linkPath}:secret`,
    perMinute: linksPerMinute,
    countedFor({ secret = '' }) {
      const form = vpn.linkFormOf(secret)
      if (form === 'ours') return `link ${deps.sha256(secret).toHex()}`
      return form === 'early' ? undefined : null
    },
    async answer(request, params) {
      const query = new URL(request.url).searchParams
      const language = languageOf(request.headers)
      const device = query.get('device') ?? undefined
      const isPage = formatOf(query.get('format'), request.headers, true) === 'html'
      // A page is for people, and messengers preview it: it makes no device.
      const app = isPage ? undefined : identityOf(request.headers)
      const opened = await vpn.openLink(params['secret'] ?? '', { device, app })
      if (!opened) return plain(texts.notValid[language], 404)
      if (opened === 'blocked') return plain(texts.blocked[language], 404)
      if (opened === 'no_device') return plain(texts.noSuchDevice[language], 404)
      const format = formatOf(query.get('format'), request.headers, opened.hasGateways)
      if (!format) return plain(texts.noFormat[language], 400)
      const brand = await deps.brands.current()
      if (isAppFormat(format)) return renderApp(format, opened, app !== undefined, { ...deps, brand }, language)
      if (format === 'html') return renderPage({ ...deps, brand }, opened, query, language)
      const { configuration } = opened
      if (!configuration) return plain((opened.device ? texts.noWireGuard : texts.noDevice)[language], 404)
      return render(format, configuration, drawing)
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
const aliases: ReadonlyMap<string, Format> = new Map([
  ['wireguard', 'conf'],
  ['page', 'html'],
])

/**
 * The requested format; else a page for a client that accepts HTML, and what an app reads by its User-Agent. Any other
 * client gets share links if a gateway serves VPN devices, else a WireGuard configuration.
 */
function formatOf(requested: string | null, headers: Headers, hasGateways: boolean): Format | undefined {
  if (requested !== null) return aliases.get(requested) ?? formats.find((each) => each === requested)
  if (/(^|,)\s*text\/html\b/i.test(headers.get('accept') ?? '')) return 'html'
  if (!hasGateways) return 'conf'
  return formatOfApp(headers.get('user-agent') ?? '') ?? 'base64'
}

/** A text as apps read it in a header. */
const inBase64 = (text: string): string => `base64:${Buffer.from(text).toString('base64')}`

/** Hours between two refreshes. */
const updateHours = 12

/** A gateway that restarts is up again within a minute. */
const downSeconds = 60

/** Of an entry that only shows a text. */
const noKeys = { uuid: '00000000-0000-4000-8000-000000000000', password: 'none' }

/** The configuration of an app. Of a subscription that does not run, its state is the announcement. */
function renderApp(
  format: AppFormat,
  opened: Opened,
  hasHardwareId: boolean,
  { publicUrl, brand }: Deps & { readonly brand: Brand },
  language: AnswerLanguage,
): Response {
  const { view, device, keys, path, gateways, refused } = opened
  if (!opened.hasGateways) return plain(texts.noApps[language], 404)
  // An app that gets no new configuration keeps the one that it has.
  if (gateways.length === 0 && refused === undefined)
    return plain(texts.allDown[language], 503, { 'Retry-After': String(downSeconds) })
  const notice = refused && (refused === 'devices' ? texts.allTaken[language] : meaningOf(view, language))
  if (notice === undefined && !(device && keys)) return plain(texts.noDevice[language], 404)
  const notForApp = texts.notForApp[language]
  const content = { device: device?.id ?? '', keys: keys ?? noKeys, path, gateways, notice, notForApp }
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
  headers.set('Profile-Web-Page-Url', toLink(publicUrl(), view.secret))
  headers.set('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name ?? 'VPN')}`)
  const { contact } = brand
  if (contact?.url.startsWith('https:')) headers.set('Support-Url', contact.url)
  if (hasHardwareId) headers.set('X-Hwid-Active', 'true')
  if (refused === 'devices') {
    headers.set('X-Hwid-Max-Devices-Reached', 'true')
    headers.set('X-Hwid-Limit', 'true')
  }
  const state = view.status === 'ACTIVE' ? undefined : meaningOf(view, language)
  const announced = notice ?? state
  const ofShop = announcedIn(brand, language)?.text
  if (announced !== undefined) headers.set('Announce', inBase64(`${announced} ${publicUrl()}/account#/vpn`))
  else if (ofShop !== undefined) headers.set('Announce', inBase64(ofShop))
  return new Response(text, { headers })
}

function renderPage(
  { drawing, clock, publicUrl, brand }: Deps & { readonly brand: Brand },
  { view, device, configuration, hasGateways }: Opened,
  query: URLSearchParams,
  language: AnswerLanguage,
): Response {
  const named = query.get('device')
  const ofDevice = named === null ? '' : `?device=${encodeURIComponent(named)}`
  const url = toLink(publicUrl(), view.secret) + ofDevice
  const content: PageContent = {
    view,
    device,
    configuration,
    isForApps: hasGateways,
    url,
    renewUrl: `${publicUrl()}/account#/vpn`,
    brand,
    show: shownParts.find((each) => each === query.get('show')),
    drawSvg: (text) => drawing.svg(text),
    nowMs: clock(),
  }
  return new Response(writePage(content, language), {
    headers: { ...headersOf('text/html'), 'Content-Security-Policy': pagePolicyOf(brand) },
  })
}

function render(format: Format, { text }: Configuration, drawing: Drawing): Response {
  if (format === 'svg') return new Response(drawing.svg(text), { headers: headersOf('image/svg+xml') })
  if (format === 'png') {
    return new Response(drawing.png(text) as Uint8Array<ArrayBuffer>, { headers: headersOf('image/png') })
  }
  const file = { 'Content-Disposition': 'attachment; filename="turnpike.conf"' }
  return new Response(text, { headers: { ...headersOf('text/plain'), ...file } })
}

const headersOf = (type: string): Record<string, string> => ({
  'Content-Type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  Vary: 'Accept, Accept-Language',
  'X-Robots-Tag': 'noindex, nofollow',
})

const plain = (text: string, status: number, headers = {}): Response =>
  new Response(`${text}\n`, { status, headers: { ...headersOf('text/plain'), ...headers } })
