import { Button, Tabs, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Listing } from '../shared/copy.tsx'
import { useWords, type Words } from '../shared/language.tsx'
import { type Entrance, toTelegram, toUrl } from './entrance.ts'

const en = {
  host: 'host',
  port: 'port',
  chromeSteps: [
    'Open the proxy settings of your system, which Chrome uses: in Windows Settings → Network → Proxy, ' +
      'in macOS System Settings → Network → Details → Proxies.',
    'Switch the proxy on, with this address and port.',
    'Open any page. Chrome asks for the login and password once; give these.',
  ],
  chromeSocks: 'Chrome cannot send a password over SOCKS5. Set the protocol to HTTP, or whitelist your address.',
  firefoxSteps: [
    'Open Settings, find Network Settings at the end of the page, and press Settings….',
    'Choose Manual proxy configuration and fill in address and port; tick “Also use this proxy for HTTPS”.',
    'Press OK and open any page. Firefox asks for the login and password; give these.',
  ],
  firefoxSocks: 'Firefox cannot send a password over SOCKS5. Set the protocol to HTTP, or whitelist your address.',
  telegramHttp: 'Telegram needs SOCKS5. Set the protocol to SOCKS5, or to both.',
  telegram: 'One press sets it up: Telegram asks whether to use the proxy.',
  telegramOpen: 'Open in Telegram',
  address: 'Address',
  login: 'Login',
  password: 'Password',
}
const ru: typeof en = {
  host: 'хост',
  port: 'порт',
  chromeSteps: [
    'Откройте настройки прокси системы, которые берёт и Chrome: в Windows «Параметры → Сеть → Прокси», ' +
      'в macOS «Системные настройки → Сеть → Подробнее → Прокси».',
    'Включите прокси с этим адресом и портом.',
    'Откройте любую страницу. Chrome один раз спросит логин и пароль: введите эти.',
  ],
  chromeSocks:
    'Chrome не умеет передавать пароль по SOCKS5. Выберите протокол HTTP или добавьте свой адрес в белый список.',
  firefoxSteps: [
    'Откройте «Настройки», в конце страницы найдите «Параметры сети» и нажмите «Настроить…».',
    'Выберите «Ручная настройка прокси», впишите адрес и порт; отметьте «Использовать этот прокси и для HTTPS».',
    'Нажмите OK и откройте любую страницу. Firefox спросит логин и пароль: введите эти.',
  ],
  firefoxSocks:
    'Firefox не умеет передавать пароль по SOCKS5. Выберите протокол HTTP или добавьте свой адрес в белый список.',
  telegramHttp: 'Telegram нужен SOCKS5. Выберите протокол SOCKS5 или оба.',
  telegram: 'Одно нажатие: Telegram спросит, использовать ли прокси.',
  telegramOpen: 'Открыть в Telegram',
  address: 'Адрес',
  login: 'Логин',
  password: 'Пароль',
}
const howToWords: Words<typeof en> = { en, ru }

const target = 'https://example.com'

/** How a proxy is used where there is no program to use it, with the customer's own data filled in. */
export function HowTo({ of }: { readonly of: Entrance }) {
  const words = useWords(howToWords)
  const url = toUrl(of)
  const isSocks = of.protocol === 'socks'
  const values = [
    `${words.address}: ${of.host}:${of.port}`,
    `${words.login}: ${of.login}`,
    `${words.password}: ${of.password}`,
  ].join('\n')
  const browser = (name: string, steps: readonly string[], problem: string): ReactNode =>
    isSocks ? (
      <Text>{problem}</Text>
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
    ['Chrome', () => browser('Chrome', words.chromeSteps, words.chromeSocks)],
    ['Firefox', () => browser('Firefox', words.firefoxSteps, words.firefoxSocks)],
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

function Telegram({ of }: { readonly of: Entrance }) {
  const words = useWords(howToWords)
  if (of.protocol === 'http') return <Text>{words.telegramHttp}</Text>
  return (
    <div className="stack">
      <Text>{words.telegram}</Text>
      <div>
        <Button component="a" href={toTelegram(of)}>
          {words.telegramOpen}
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
