import { Button, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Copyable, Listing } from '../shared/copy.tsx'
import { Select } from '../shared/form.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { Facts, Hint } from '../shared/parts.tsx'
import { QrCode } from '../shared/qr.tsx'
import {
  type Program,
  type ProxyEndpoint,
  programs,
  type Scheme,
  toPhoneUrl,
  toSnippet,
  toTelegram,
} from './endpoint.ts'

const howToMessages = messages({
  which: pair(
    'Take https if your network filters proxies or reads your traffic, socks5 for programs that need SOCKS5 or UDP, ' +
      'and http otherwise.',
    'Берите https, если ваша сеть отсеивает прокси или читает трафик, socks5 — для программ, которым нужен SOCKS5 ' +
      'или UDP, а в остальных случаях http.',
  ),
  proxyUrl: pair('Proxy URL', 'Адрес прокси'),
  copyFor: pair('Copy for', 'Скопировать для'),
  chromeSteps: pair(
    [
      'Close Chrome and start it with this command.',
      'Open any page. Chrome asks for the login and password once; enter these.',
    ],
    [
      'Закройте Chrome и запустите его этой командой.',
      'Откройте любую страницу. Chrome один раз спросит логин и пароль: введите эти.',
    ],
  ),
  chromeSystem: pair(
    'Without a command: enter the address and port in the proxy settings of your system, which Chrome uses. They are ' +
      'in Windows Settings → Network & internet → Proxy, in macOS System Settings → Network → Details → Proxies.',
    'Без команды: укажите адрес и порт в системных настройках прокси, их использует и Chrome. В Windows это ' +
      '«Параметры → Сеть и Интернет → Прокси-сервер», в macOS «Системные настройки → Сеть → Подробнее → Прокси».',
  ),
  firefoxSteps: pair(
    [
      'Open Settings, find Network Settings at the end of the page, and press Settings….',
      'Choose Automatic proxy configuration URL, paste this line, and press OK.',
      'Open any page. Firefox asks for the login and password; enter these.',
    ],
    [
      'Откройте «Настройки», в конце страницы найдите «Параметры сети» и нажмите «Настроить…».',
      'Выберите «URL автоматической настройки прокси», вставьте эту строку и нажмите OK.',
      'Откройте любую страницу. Firefox спросит логин и пароль: введите эти.',
    ],
  ),
  needsBrowserHost: phrase(
    '{browser} cannot use this proxy over https, because the proxy has no host name for browsers: take http, or ask ' +
      'the seller for such a name.',
    '{browser} не может работать с этим прокси по https: у прокси нет имени хоста для браузеров. Возьмите http или ' +
      'попросите у продавца такое имя.',
  ),
  needsHttp: phrase(
    '{browser} cannot send a password over SOCKS5. Set the protocol to HTTP, or whitelist your address.',
    '{browser} не умеет передавать пароль по SOCKS5. Выберите протокол HTTP или добавьте свой адрес в белый список.',
  ),
  singBox: pair('Add this to “outbounds” of the configuration.', 'Добавьте это в «outbounds» конфигурации.'),
  mihomo: pair('Add this to the configuration.', 'Добавьте это в конфигурацию.'),
  telegramHttp: pair(
    'Telegram needs SOCKS5. Set the protocol to SOCKS5, or to both.',
    'Telegram нужен SOCKS5. Выберите протокол SOCKS5 или оба.',
  ),
  telegram: pair(
    'Press the button. Telegram asks whether to use the proxy.',
    'Нажмите кнопку. Telegram спросит, использовать ли прокси.',
  ),
  telegramOpen: pair('Open in Telegram', 'Открыть в Telegram'),
  phone: pair('Phone app', 'Приложение на телефоне'),
  phoneScan: pair(
    'Scan the code in an app that takes proxy URLs. Without such an app, enter host, port, login and password in the ' +
      'Wi-Fi settings of the phone (Proxy: Manual); they take HTTP only.',
    'Отсканируйте код в приложении, которое принимает адреса прокси. Без приложения укажите хост, порт, логин и ' +
      'пароль в настройках сети Wi-Fi на телефоне («Прокси: вручную»); там работает только HTTP.',
  ),
  phoneCode: pair('QR code of the proxy URL', 'QR-код адреса прокси'),
})

const telegram = 'Telegram'
const phone = 'phone'
type Chosen = { readonly scheme: Scheme; readonly program: Program | typeof telegram | typeof phone }
const offeredPrograms: readonly Chosen['program'][] = [...programs, telegram, phone]
type HowToProps = { readonly schemes: readonly Scheme[]; readonly children: (chosen: Chosen) => ReactNode }

/** Chooses a program and the kind of proxy URL for it. */
export function HowTo({ schemes, children }: HowToProps) {
  const { t } = useMessages(howToMessages)
  const [wanted, setScheme] = useState<Scheme>('http')
  const [program, setProgram] = useState<Chosen['program']>('curl')
  const offered = program === telegram ? schemes.filter((each) => each === 'socks5') : schemes
  const scheme = offered.find((each) => each === wanted) ?? offered[0] ?? 'http'
  return (
    <div className="stack">
      {schemes.length > 1 && <Text c="dimmed">{t.which}</Text>}
      <div className="line fields">
        <Select
          label={t.copyFor}
          value={program}
          options={offeredPrograms.map((each) => [each, each === phone ? t.phone : each] as const)}
          onChange={setProgram}
        />
        {offered.length > 1 && (
          <Select
            label={t.proxyUrl}
            value={scheme}
            options={offered.map((each) => [each, `${each}://`] as const)}
            onChange={setScheme}
          />
        )}
      </div>
      {children({ scheme, program })}
    </div>
  )
}

export function Steps({ of, scheme, program }: Chosen & { readonly of: ProxyEndpoint }) {
  const { t } = useMessages(howToMessages)
  if (program === telegram) return <Telegram of={of} />
  if (program === phone) return <Phone of={of} scheme={scheme} />
  const text = toSnippet(of, scheme, program)
  if (text === undefined) return <Text>{(scheme === 'https' ? t.needsBrowserHost : t.needsHttp)(program)}</Text>
  const isBrowser = program === 'Chrome' || program === 'Firefox'
  return (
    <>
      {isBrowser && (
        <ol className="steps">
          {(program === 'Chrome' ? t.chromeSteps : t.firefoxSteps).map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      )}
      {program === 'sing-box' && <Text>{t.singBox}</Text>}
      {program === 'mihomo' && <Text>{t.mihomo}</Text>}
      <Listing text={text} label={program} />
      {isBrowser && (
        <Facts
          of={[
            [t.login, <Copyable text={of.login} label={t.login} />],
            [t.password, <Copyable text={of.password} label={t.password} />],
          ]}
        />
      )}
      {program === 'Chrome' && scheme === 'http' && <Hint>{t.chromeSystem}</Hint>}
    </>
  )
}

function Telegram({ of }: { readonly of: ProxyEndpoint }) {
  const { t } = useMessages(howToMessages)
  if (of.protocol === 'http') return <Text>{t.telegramHttp}</Text>
  return (
    <>
      <Text>{t.telegram}</Text>
      <div>
        <Button component="a" href={toTelegram(of)}>
          {t.telegramOpen}
        </Button>
      </div>
      <Listing text={toTelegram(of)} label={telegram} />
    </>
  )
}

/** A code for the app of a phone, and the fields to type where there is none. */
function Phone({ of, scheme }: { readonly of: ProxyEndpoint; readonly scheme: Scheme }) {
  const { t } = useMessages(howToMessages)
  const url = toPhoneUrl(of, scheme)
  return (
    <>
      <Text>{t.phoneScan}</Text>
      <QrCode text={url} label={t.phoneCode} />
      <Listing text={url} label={t.phone} />
    </>
  )
}
