import { bytesInGigabyte } from '../../../core/bytes.ts'
import { createMoment, createPlural } from '../../../core/messages/numbers.ts'
import { toIso } from '../../../core/time.ts'
import type { Brand } from '../../../domains/brand/rules.ts'
import type { Configuration } from '../../../domains/vpn/index.ts'
import { type Peer, usedBy, type View } from '../../../domains/vpn/rules.ts'
import { createHtmlPages, escapeHtml } from '../../html-page.ts'
import type { AnswerLanguage } from '../../language.ts'

/** What a press of a button shows: a QR code of the link, or the WireGuard configuration. */
export const shownParts = ['qr', 'wireguard'] as const
type ShownPart = (typeof shownParts)[number]

export type PageContent = {
  readonly view: View
  readonly device: Peer | undefined
  readonly configuration: Configuration | undefined
  /** Whether apps other than WireGuard connect. */
  readonly isForApps: boolean
  /** The whole link, as an app imports it. */
  readonly url: string
  /** The shop's page on which the subscription is renewed. */
  readonly renewUrl: string
  readonly brand: Brand
  readonly show: ShownPart | undefined
  readonly drawSvg: (text: string) => string
  readonly nowMs: number
}

const texts = {
  location: { en: 'Location', ru: 'Расположение:' },
  online: { en: 'node online', ru: 'узел на связи' },
  offline: { en: 'node offline', ru: 'узел не на связи' },
  setUp: { en: 'Set up this device', ru: 'Настроить это устройство' },
  choose: {
    en: '1. Install one of these apps. 2. Press its button here: the app takes the settings. 3. Connect in the app.',
    ru: '1. Установите одно из приложений. 2. Нажмите здесь его кнопку: приложение возьмёт настройки. 3. Подключитесь.',
  },
  others: { en: 'Another device', ru: 'Другое устройство' },
  showQr: { en: 'Show a QR code', ru: 'Показать QR-код' },
  scanLink: {
    en: 'Scan the code with the other device, or in its app.',
    ru: 'Отсканируйте код другим устройством или в его приложении.',
  },
  qrOfLink: { en: 'QR code of the link', ru: 'QR-код ссылки' },
  wireguard: { en: 'WireGuard or Amnezia', ru: 'WireGuard или Amnezia' },
  showKeys: { en: 'Show the WireGuard code', ru: 'Показать код WireGuard' },
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
  daysLeft: { en: 'Left:', ru: 'Осталось:' },
  trafficLeft: { en: 'Traffic left:', ru: 'Осталось трафика:' },
  partLeft: { en: 'of it for locations', ru: 'из него для локаций' },
  renewNow: { en: 'Renew or pay', ru: 'Продлить или оплатить' },
  trouble: { en: 'It does not connect?', ru: 'Не подключается?' },
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
  support: { en: 'Ask the seller', ru: 'Спросить продавца' },
} as const

const advice = {
  en: [
    'Refresh the subscription in the app: addresses and settings may have changed.',
    'Choose another entry in the app, first VLESS, then Trojan.',
    'Try another network, such as mobile data instead of Wi-Fi.',
    'Check that date and time of the device are set automatically.',
    'Switch other VPN apps off: only one connects at a time.',
  ],
  ru: [
    'Обновите подписку в приложении: адреса и настройки могли измениться.',
    'Выберите в приложении другую строку, сначала VLESS, потом Trojan.',
    'Попробуйте другую сеть, например мобильный интернет вместо Wi-Fi.',
    'Проверьте, что дата и время на устройстве установлены автоматически.',
    'Выключите другие приложения VPN: подключено может быть только одно.',
  ],
} as const

/** Apps that import a subscription by one press. `name` is what an app calls it. */
const apps: readonly {
  readonly app: string
  readonly runsOn: string
  readonly toLink: (url: string, name: string) => string
}[] = [
  { app: 'Happ', runsOn: 'iPhone, Android, Windows, macOS', toLink: (url) => `happ://add/${url}` },
  {
    app: 'v2rayNG',
    runsOn: 'Android',
    toLink: (url, name) => `v2rayng://install-config?name=${name}&url=${encodeURIComponent(url)}`,
  },
  {
    app: 'Hiddify',
    runsOn: 'Android, iPhone, Windows, macOS, Linux',
    toLink: (url, name) => `hiddify://import/${url}#${name}`,
  },
  { app: 'Streisand', runsOn: 'iPhone, macOS', toLink: (url) => `streisand://import/${url}` },
  {
    app: 'sing-box',
    runsOn: 'iPhone, Android, macOS',
    toLink: (url, name) => `sing-box://import-remote-profile?url=${encodeURIComponent(url)}#${name}`,
  },
]

const pages = createHtmlPages(
  `svg { display: block; width: 100%; max-width: 24rem; margin: 1rem auto; border-radius: var(--radius-m);
background: #fff }
h2 { font-size: var(--text-l); margin: var(--space-6) 0 var(--space-1) }
ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: var(--space-2) }
ol { padding-left: var(--space-5) }
main a { display: inline-block; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: var(--radius-m);
color: inherit; text-decoration: none; transition: border-color var(--fast) var(--ease) }
main a:hover { border-color: var(--accent) }
main a[aria-current] { font-weight: 600; background: var(--sunken) }
main .button { color: #fff; border-color: var(--fill) }
`,
  'none',
)

/** It allows this page's own style and the logo, and no script or request. */
export const pagePolicyOf = pages.policyOf

/** What the state of a subscription means for its customer. */
export function meaningOf(view: View, language: AnswerLanguage): string {
  const say = (text: keyof typeof texts): string => texts[text][language]
  const until = createMoment(language)(toIso(view.subscription.expiresAt))
  if (view.status === 'EXPIRED' || view.status === 'GRACE') return `${say('expired')} ${until}. ${say('renew')}`
  if (view.status === 'DISABLED') return say('disabled')
  if (view.limits.includes('traffic')) return `${say('usedUp')} ${say('renew')}`
  return `${say('until')} ${until}.`
}

/** A page for a person. Keys and QR codes are on it only after a press of a button: previews show none. */
export function writePage(content: PageContent, language: AnswerLanguage): string {
  const { view, device, brand } = content
  const { contact } = brand
  const say = (text: keyof typeof texts): string => texts[text][language]
  const heading = device?.name ?? 'VPN'
  const markup = `<p>${meaningOf(view, language)}<br>
<small>${factsOf(content, language)}</small></p>
${canRenew(view) ? `<p><a class="button" href="${escapeHtml(content.renewUrl)}">${say('renewNow')}</a></p>` : ''}
${content.isForApps ? appsOf(content, language) : ''}
${wireguardOf(content, language)}
${devicesOf(content, language)}
<h2>${say('trouble')}</h2>
<ol>${advice[language].map((each) => `<li>${each}</li>`).join('\n')}</ol>
${contact === undefined ? '' : `<p><a href="${escapeHtml(contact.url)}">${say('support')}</a></p>`}
<p><small>${say('secret')}</small></p>`
  return pages.write(brand, language, `VPN: ${heading}`, heading, markup)
}

/** Also a running one: months add up. */
const canRenew = ({ status }: View): boolean => status !== 'DISABLED'

const dayMs = 86_400_000
const gigabytes = (bytes: bigint): string => (Number(bytes) / Number(bytesInGigabyte)).toFixed(1)

/** Days and traffic that are left, and where the device connects. */
function factsOf({ view, configuration, nowMs }: PageContent, language: AnswerLanguage): string {
  const say = (text: keyof typeof texts): string => texts[text][language]
  const { subscription } = view
  // Rounded up, as in the console.
  const days = Math.max(0, Math.ceil((subscription.expiresAt - nowMs) / dayMs))
  const forms =
    language === 'ru' ? { one: 'день', few: 'дня', many: 'дней', other: 'дня' } : { one: 'day', other: 'days' }
  const limit = subscription.trafficLimit
  const left = limit === null ? 0n : limit - usedBy(subscription)
  const unit = language === 'ru' ? 'ГБ' : 'GB'
  const traffic = `${say('trafficLeft')} ${gigabytes(left > 0n ? left : 0n)} / ${gigabytes(limit ?? 0n)} ${unit}`
  return [
    `${say('daysLeft')} ${createPlural(language)(days, forms)}`,
    ...(limit === null ? [] : [traffic]),
    ...(view.parts ?? []).map((part) => {
      const rest = part.limit > part.used ? part.limit - part.used : 0n
      const what = `${say('trafficLeft')} ${gigabytes(rest)} / ${gigabytes(part.limit)} ${unit}`
      return `${what}, ${say('partLeft')} ${escapeHtml(part.name)}`
    }),
    ...(configuration ? [`${say('location')} ${escapeHtml(configuration.location)}, ${say(view.node)}`] : []),
  ].join('<br>')
}

function appsOf({ view, url, show, drawSvg }: PageContent, language: AnswerLanguage): string {
  const say = (text: keyof typeof texts): string => texts[text][language]
  const name = encodeURIComponent(view.subscription.name ?? 'VPN')
  const buttons = apps.map(
    ({ app, runsOn, toLink }) =>
      `<li><a href="${escapeHtml(toLink(url, name))}">${app}<br><small>${runsOn}</small></a></li>`,
  )
  const qr = `<p>${say('scanLink')}</p><div role="img" aria-label="${say('qrOfLink')}">${drawSvg(url)}</div>`
  return `<h2>${say('setUp')}</h2>
<p>${say('choose')}</p>
<ul>${buttons.join('')}</ul>
<h2>${say('others')}</h2>
${show === 'qr' ? qr : `<p><a href="${hrefOf(url, 'qr')}">${say('showQr')}</a></p>`}`
}

function wireguardOf({ configuration, device, url, show, drawSvg }: PageContent, language: AnswerLanguage): string {
  const say = (text: keyof typeof texts): string => texts[text][language]
  if (!configuration || !device) return ''
  const key = device.ownKey ? `<p>${say('ownKey')}</p>` : ''
  const shown = `<p>${say('scan')}</p>
<div role="img" aria-label="${say('qr')}">${drawSvg(configuration.text)}</div>
${key}<p><a href="?device=${device.id}&amp;format=conf">${say('download')}</a></p>`
  const button = `<p><a href="${hrefOf(url, 'wireguard')}">${say('showKeys')}</a></p>`
  return `<h2>${say('wireguard')}</h2>\n${show === 'wireguard' ? shown : button}`
}

/** The same page with a part shown, as a relative link. */
function hrefOf(url: string, show: ShownPart): string {
  const query = new URL(url).searchParams
  query.set('show', show)
  return escapeHtml(`?${query.toString()}`)
}

function devicesOf({ view, device }: PageContent, language: AnswerLanguage): string {
  if (view.devices.length <= 1) return ''
  const items = view.devices.map((each) => {
    const current = each.id === device?.id ? ' aria-current="page"' : ''
    return `<li><a href="?device=${each.id}"${current}>${escapeHtml(each.name)}</a></li>`
  })
  return `<nav aria-label="${texts.devices[language]}"><ul>${items.join('')}</ul></nav>`
}
