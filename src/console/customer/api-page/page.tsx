import { Text } from '@mantine/core'
import { useState } from 'react'
import { useSession } from '../../client/session.ts'
import { Listing } from '../../shared/copy.tsx'
import { useWords } from '../../shared/language.tsx'
import { Page, Panel } from '../../shared/parts.tsx'
import { Tokens } from './tokens.tsx'
import { apiWords } from './words.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const toTexts = (record: object): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value)]))

/** Commands that work as they stand, once pasted. */
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

export function ApiPage() {
  const words = useWords(apiWords)
  const session = useSession()
  const [made, setMade] = useState<string>()
  const token = made ?? session?.token
  const examples = toExamples(`${location.origin}/api/v1`, token ?? 'tp_…')
  return (
    <Page title={words.title} about={words.about} actions={<a href="/docs">{words.docs}</a>}>
      {session?.token === undefined ? (
        <Tokens onMade={setMade} />
      ) : (
        <Panel title={words.tokens}>
          <Text c="dimmed">{words.bySession}</Text>
        </Panel>
      )}
      <Panel title={words.examples} className="stack">
        <Text c="dimmed">{token === undefined ? words.examplesWithout : words.examplesAbout}</Text>
        {(['balance', 'quote', 'buy', 'python'] as const).map((name) => (
          <div key={name}>
            <Text size="sm" mb={4}>
              {words[name]}
            </Text>
            <Listing text={examples[name]} label={words[name]} />
          </div>
        ))}
      </Panel>
    </Page>
  )
}
