import { Button, Tabs, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Listing } from '../shared/copy.tsx'
import { messages, pair, phrase, useMessages } from '../shared/messages.tsx'
import { type ProxyEndpoint, toTelegram, toUrl } from './endpoint.ts'

const howToMessages = messages({
  chromeSteps: pair(
    [
      'Open the proxy settings of your system, which Chrome uses: in Windows Settings → Network & internet → Proxy, ' +
        'in macOS System Settings → Network → Details → Proxies.',
      'Switch the proxy on, with this address and port.',
      'Open any page. Chrome asks for the login and password once; enter these.',
    ],
    [
      'Откройте системные настройки прокси, их использует и Chrome: в Windows ' +
        '«Параметры → Сеть и Интернет → Прокси-сервер», ' +
        'в macOS «Системные настройки → Сеть → Подробнее → Прокси».',
      'Включите прокси с этим адресом и портом.',
      'Откройте любую страницу. Chrome один раз спросит логин и пароль: введите эти.',
    ],
  ),
  firefoxSteps: pair(
    [
      'Open Settings, find Network Settings at the end of the page, and press Settings….',
      'Choose Manual proxy configuration and fill in address and port; tick “Also use this proxy for HTTPS”.',
      'Press OK and open any page. Firefox asks for the login and password; enter these.',
    ],
    [
      'Откройте «Настройки», в конце страницы найдите «Параметры сети» и нажмите «Настроить…».',
      'Выберите «Ручная настройка прокси», укажите адрес и порт; отметьте «Использовать этот прокси и для HTTPS».',
      'Нажмите OK и откройте любую страницу. Firefox спросит логин и пароль: введите эти.',
    ],
  ),
  needsHttp: phrase(
    '{browser} cannot send a password over SOCKS5. Set the protocol to HTTP, or whitelist your address.',
    '{browser} не умеет передавать пароль по SOCKS5. Выберите протокол HTTP или добавьте свой адрес в белый список.',
  ),
  telegramHttp: pair(
    'Telegram needs SOCKS5. Set the protocol to SOCKS5, or to both.',
    'Telegram нужен SOCKS5. Выберите протокол SOCKS5 или оба.',
  ),
  telegram: pair(
    'Press the button. Telegram asks whether to use the proxy.',
    'Нажмите кнопку. Telegram спросит, использовать ли прокси.',
  ),
  telegramOpen: pair('Open in Telegram', 'Открыть в Telegram'),
})

const target = 'https://example.com'

export function HowTo({ of }: { readonly of: ProxyEndpoint }) {
  const { t } = useMessages(howToMessages)
  const url = toUrl(of)
  const isSocks = of.protocol === 'socks'
  const values = [
    `${t.address}: ${of.host}:${of.port}`,
    `${t.login}: ${of.login}`,
    `${t.password}: ${of.password}`,
  ].join('\n')
  const browser = (name: string, steps: readonly string[]): ReactNode =>
    isSocks ? (
      <Text>{t.needsHttp(name)}</Text>
    ) : (
      <div className="stack">
        <ol className="steps">
          {steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        <Listing text={values} label={name} />
      </div>
    )
  const ways: readonly (readonly [name: string, show: () => ReactNode])[] = [
    ['Chrome', () => browser('Chrome', t.chromeSteps)],
    ['Firefox', () => browser('Firefox', t.firefoxSteps)],
    ['Telegram', () => <Telegram of={of} />],
    ['curl', () => <Listing text={`curl -x '${url}' ${target}`} label="curl" />],
    ['Python', () => <Listing text={toPython(url, isSocks)} label="Python" />],
  ]
  return (
    <Tabs defaultValue="Chrome" keepMounted={false}>
      <Tabs.List mb="md">
        {ways.map(([name]) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {ways.map(([name, show]) => (
        <Tabs.Panel key={name} value={name}>
          {show()}
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function Telegram({ of }: { readonly of: ProxyEndpoint }) {
  const { t } = useMessages(howToMessages)
  if (of.protocol === 'http') return <Text>{t.telegramHttp}</Text>
  return (
    <div className="stack">
      <Text>{t.telegram}</Text>
      <div>
        <Button component="a" href={toTelegram(of)}>
          {t.telegramOpen}
        </Button>
      </div>
      <Listing text={toTelegram(of)} label="Telegram" />
    </div>
  )
}

const toPython = (url: string, isSocks: boolean): string =>
  [
    isSocks ? "# pip install 'requests[socks]'" : '# pip install requests',
    'import requests',
    '',
    `proxy = '${url}'`,
    `answer = requests.get('${target}', proxies={'http': proxy, 'https': proxy}, timeout=30)`,
    'print(answer.status_code)',
  ].join('\n')
