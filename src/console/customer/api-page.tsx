import { Text } from '@mantine/core'
import { useSession } from '../client/session.ts'
import { Listing } from '../shared/copy.tsx'
import { useWords, type Words } from '../shared/language.tsx'
import { Page, Panel } from '../shared/parts.tsx'

const en = {
  title: 'API',
  about: 'Everything in this console can be done by programs.',
  docs: 'Every operation, to be tried in the browser',
  balance: 'Read the balance',
  quote: 'Ask for a price',
  buy: 'Buy two proxies',
  buyAbout: 'The key makes a repeat safe: whatever happens on the way, they are bought once.',
  python: 'The same in Python',
}
const ru: typeof en = {
  title: 'API',
  about: 'Всё, что есть в этой консоли, доступно и программам.',
  docs: 'Все операции, с пробой прямо в браузере',
  balance: 'Узнать баланс',
  quote: 'Спросить цену',
  buy: 'Купить два прокси',
  buyAbout: 'С ключом повтор безопасен: что бы ни случилось в пути, они купятся один раз.',
  python: 'То же на Python',
}
const apiWords: Words<typeof en> = { en, ru }

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function toExamples(base: string, token: string) {
  const header = `-H ${quoted(`Authorization: Bearer ${token}`)}`
  const wish = { country_code: 'DE', period: 30, count: 2, ipv: 4 }
  return {
    balance: `curl ${header} \\\n  ${base}/balance`,
    quote: `curl ${header} \\\n  ${quoted(`${base}/dedicated/quote?${new URLSearchParams(toTexts(wish))}`)}`,
    buy:
      `curl ${header} \\\n  -H 'Content-Type: application/json' -H 'Idempotency-Key: first-order' \\\n` +
      `  -d ${quoted(JSON.stringify(wish))} \\\n  ${base}/dedicated/buy`,
    python: [
      'import requests',
      '',
      `shop = '${base}'`,
      `headers = {'Authorization': 'Bearer ${token}', 'Idempotency-Key': 'first-order'}`,
      `wish = ${JSON.stringify(wish)}`,
      "answer = requests.post(shop + '/dedicated/buy', json=wish, headers=headers, timeout=30).json()",
      "print(answer['data']['proxies'] if answer['ok'] else answer['error']['message'])",
    ].join('\n'),
  }
}

const toTexts = (record: object): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value)]))

export function ApiPage() {
  const words = useWords(apiWords)
  const token = useSession()?.token ?? ''
  const { balance, quote, buy, python } = toExamples(`${location.origin}/api/v1`, token)
  return (
    <Page title={words.title} about={words.about}>
      <Panel>
        <a href="/docs">{words.docs}</a>
      </Panel>
      <Panel title={words.balance}>
        <Listing text={balance} label={words.balance} />
      </Panel>
      <Panel title={words.quote}>
        <Listing text={quote} label={words.quote} />
      </Panel>
      <Panel title={words.buy} className="stack">
        <Text c="dimmed">{words.buyAbout}</Text>
        <Listing text={buy} label={words.buy} />
      </Panel>
      <Panel title={words.python}>
        <Listing text={python} label={words.python} />
      </Panel>
    </Page>
  )
}
