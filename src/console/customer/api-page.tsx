import { Button, NumberInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Token } from '../client/customer.ts'
import { useSession } from '../client/session.ts'
import { useNow } from '../shared/browser.ts'
import { Listing } from '../shared/copy.tsx'
import { Dialog } from '../shared/dialog.tsx'
import { Flag, SubmitForm, useTyped } from '../shared/form.tsx'
import { Icon } from '../shared/icons.tsx'
import { messages, names, pair, useMessages } from '../shared/messages.tsx'
import { Cell, Empty, Page, Panel, Reading, RefusalNotice, RowButton, Rows } from '../shared/parts.tsx'
import { useChange, useRead } from './api.ts'
import { Webhooks } from './webhooks.tsx'

const apiMessages = messages({
  title: 'API',
  about: pair(
    'Everything in this console is available through the API.',
    'Всё, что есть в этой консоли, доступно через API.',
  ),
  docs: pair('API reference with requests from the browser', 'Справочник API с запросами из браузера'),
  requests: pair('Your requests', 'Ваши запросы'),
  examples: pair('Examples', 'Примеры'),
  examplesAbout: pair('Your token is filled in.', 'Ваш токен уже подставлен.'),
  examplesWithout: pair('Create a token to see it in these examples.', 'Создайте токен, и он появится в примерах.'),
  balance: pair('Read the balance', 'Узнать баланс'),
  quote: pair('Get a price', 'Узнать цену'),
  buy: pair(
    'Buy two proxies; the idempotency key makes a retry safe',
    'Купить два прокси; ключ идемпотентности делает повтор безопасным',
  ),
  python: pair('The same in Python', 'То же на Python'),
  tokens: pair('Tokens', 'Токены'),
  tokensAbout: pair(
    'Create a separate token for each program, with only the rights it needs.',
    'Создайте для каждой программы отдельный токен, только с нужными правами.',
  ),
  noTokens: pair('No tokens yet', 'Токенов пока нет'),
  noTokensAbout: pair(
    'A token lets a program act for you. It is shown once.',
    'С токеном программа действует от вашего имени. Он показывается один раз.',
  ),
  create: pair('New token', 'Новый токен'),
  nameHint: pair('price-monitor', 'мониторинг-цен'),
  scopeNames: names({
    read: pair('Read', 'Чтение'),
    trade: pair('Purchases', 'Покупки'),
    pay: pair('Top-ups', 'Пополнения'),
    passwords: pair('Passwords', 'Пароли'),
  }),
  trade: pair('Purchases', 'Покупки'),
  tradeAbout: pair('buy and change services', 'покупать и менять услуги'),
  pay: pair('Top-ups', 'Пополнения'),
  payAbout: pair('create payments that top up the balance', 'создавать платежи для пополнения баланса'),
  passwords: pair('Passwords', 'Пароли'),
  passwordsAbout: pair(
    'see passwords, VPN keys and secret links of your services',
    'видеть пароли, ключи VPN и секретные ссылки ваших услуг',
  ),
  cap: pair('Spending cap, ₽', 'Лимит расходов, ₽'),
  capHint: pair('No cap', 'Без лимита'),
  from: pair('Only from these addresses', 'Только с этих адресов'),
  fromHint: pair('Any; separate several with commas', 'Любые; несколько через запятую'),
  endless: pair('Never expires', 'Бессрочно'),
  made: pair('Your new token', 'Ваш новый токен'),
  madeAbout: pair(
    'The token is shown only once. Copy it now.',
    'Токен показывается только один раз. Скопируйте его сейчас.',
  ),
  begins: pair('Token', 'Токен'),
  revoke: pair('Revoke', 'Отозвать'),
  revoked: pair('Revoked', 'Отозван'),
  anywhere: pair('any', 'любые'),
  noCap: pair('no cap', 'без лимита'),
  bySession: pair(
    'To manage tokens, sign in with login and password.',
    'Чтобы управлять токенами, войдите с логином и паролем.',
  ),
})

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Commands that work once pasted. */
function toExamples(base: string, token: string) {
  const header = `-H ${quoted(`Authorization: Bearer ${token}`)}`
  const order = { country_code: 'DE', period: 30, count: 2, ipv: 4 }
  const query = Object.entries(order).map(([name, value]) => `${name}=${value}`)
  return {
    balance: `curl ${header} \\\n  ${base}/balance`,
    quote: `curl ${header} \\\n  ${quoted(`${base}/dedicated/quote?${query.join('&')}`)}`,
    buy:
      `curl ${header} \\\n  -H 'Content-Type: application/json' -H 'Idempotency-Key: first-order' \\\n` +
      `  -d ${quoted(JSON.stringify(order))} \\\n  ${base}/dedicated/buy`,
    python: [
      'import requests',
      '',
      `shop = '${base}'`,
      `headers = {'Authorization': 'Bearer ${token}', 'Idempotency-Key': 'first-order'}`,
      `order = ${JSON.stringify(order)}`,
      "answer = requests.post(shop + '/dedicated/buy', json=order, headers=headers, timeout=30).json()",
      "print(answer['data']['proxies'] if answer['ok'] else answer['error']['message'])",
    ].join('\n'),
  }
}

export function ApiPage() {
  const { t, language } = useMessages(apiMessages)
  const session = useSession()
  const [made, setMade] = useState<string>()
  const token = made ?? session?.token
  const examples = toExamples(`${location.origin}/api/v1`, token ?? 'tp_…')
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <>
          <a href="#/requests">{t.requests}</a>
          <a href={`/docs?lang=${language}`}>{t.docs}</a>
        </>
      }
    >
      {session?.token === undefined ? (
        <Tokens onMade={setMade} />
      ) : (
        <Panel title={t.tokens}>
          <Text c="dimmed">{t.bySession}</Text>
        </Panel>
      )}
      <Webhooks />
      <Panel title={t.examples} className="stack">
        <Text c="dimmed">{token === undefined ? t.examplesWithout : t.examplesAbout}</Text>
        {(['balance', 'quote', 'buy', 'python'] as const).map((name) => (
          <div key={name}>
            <Text size="sm" mb={4}>
              {t[name]}
            </Text>
            <Listing text={examples[name]} label={t[name]} />
          </div>
        ))}
      </Panel>
    </Page>
  )
}

type TokensProps = { readonly onMade: (token: string) => void }

function Tokens({ onMade }: TokensProps) {
  const { t } = useMessages(apiMessages)
  const tokens = useRead('listTokens')
  const [isOpen, setOpen] = useState(false)
  const [made, setMade] = useState<string>()
  const keep = (token: string) => {
    setMade(token)
    onMade(token)
    setOpen(false)
  }
  const create = (
    <Button size="xs" leftSection={<Icon name="plus" size={15} />} onClick={() => setOpen(true)}>
      {t.create}
    </Button>
  )
  return (
    <Panel title={t.tokens} className="stack" aside={create}>
      <Text c="dimmed">{t.tokensAbout}</Text>
      {made !== undefined && (
        <div className="notice good stack" role="status">
          <div>
            <Text fw={600}>{t.made}</Text>
            <Text size="sm">{t.madeAbout}</Text>
          </div>
          <Listing text={made} label={t.made} />
        </div>
      )}
      <Reading of={tokens}>{({ tokens: all }) => <TokenRows rows={all} />}</Reading>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title={t.create}>
        <CreateForm onMade={keep} />
      </Dialog>
    </Panel>
  )
}

function TokenRows({ rows }: { readonly rows: readonly Token[] }) {
  const { t, format } = useMessages(apiMessages)
  const nowAt = useNow()
  const revoke = useChange('revokeToken')
  const limits = (token: Token): string =>
    [
      token.scopes.map((each) => t.scopeNames[each] ?? each).join(', '),
      token.cap_rub === null ? t.noCap : format.money(token.cap_rub),
      token.from.length === 0 ? t.anywhere : token.from.join(', '),
    ].join(' · ')
  return (
    <>
      <Rows
        label={t.tokens}
        rows={rows}
        keyOf={(row) => row.token_id}
        empty={<Empty icon="code" title={t.noTokens} about={t.noTokensAbout} />}
        columns={(column) => [
          column.text(t.name, (row) => <Cell note={limits(row)}>{row.name}</Cell>),
          column(
            t.begins,
            (row) => <span className="mono">{row.begins}…</span>,
            (row) => row.begins,
          ),
          column(t.used, (row) => (
            <Cell note={row.used_from}>{row.used_at === null ? t.never : format.away(row.used_at, nowAt)}</Cell>
          )),
          column.value(t.until, (row) => row.expires_at, format.day, t.endless),
          column.action(t.revoke, ({ name, token_id, revoked_at }) =>
            revoked_at === null ? (
              <RowButton label={t.revoke} of={name} onClick={() => revoke.mutate({ body: { token_id } })} />
            ) : (
              t.revoked
            ),
          ),
        ]}
      />
      <RefusalNotice error={revoke.error} />
    </>
  )
}

function CreateForm({ onMade }: TokensProps) {
  const { t } = useMessages(apiMessages)
  const create = useChange('createToken', ({ token }) => onMade(token))
  const name = useTyped()
  const [isTrader, setTrader] = useState(true)
  const [isPayer, setPayer] = useState(false)
  const [seesPasswords, setSeesPasswords] = useState(false)
  const [cap, setCap] = useState<number | string>('')
  const from = useTyped()
  const expiry = useTyped()
  const addresses = from.value.split(/[\s,]+/).filter((each) => each !== '')
  const body = {
    ...(name.text !== '' && { name: name.text }),
    scopes: [
      'read',
      ...(isTrader ? (['trade'] as const) : []),
      ...(isPayer ? (['pay'] as const) : []),
      ...(seesPasswords ? (['passwords'] as const) : []),
    ] as const,
    ...(cap !== '' && { cap_rub: Number(cap) }),
    ...(addresses.length > 0 && { from: addresses }),
    ...(expiry.value !== '' && { expires_at: new Date(expiry.value).toISOString() }),
  }
  return (
    <SubmitForm label={t.create} change={create} onSubmit={() => create.mutate({ body })}>
      <TextInput label={t.name} placeholder={t.nameHint} data-autofocus {...name.props} />
      <Flag label={t.trade} description={t.tradeAbout} checked={isTrader} onChange={setTrader} />
      <Flag label={t.pay} description={t.payAbout} checked={isPayer} onChange={setPayer} />
      <Flag label={t.passwords} description={t.passwordsAbout} checked={seesPasswords} onChange={setSeesPasswords} />
      <NumberInput
        label={t.cap}
        placeholder={t.capHint}
        value={cap}
        min={0}
        decimalScale={2}
        allowNegative={false}
        onChange={setCap}
      />
      <TextInput label={t.from} placeholder={t.fromHint} {...from.props} />
      <TextInput type="date" label={t.until} {...expiry.props} />
    </SubmitForm>
  )
}
